// The residual stream of a part's rows, and what its sub-layers see of it.
#pragma once

#include <cassert>
#include <optional>

#include "kernels/between_attentions.h"
#include "kernels/fused_ops.h"
#include "models/layers/mlp.h"

namespace parlance {

// h (n_embd, n_tokens) and x, the same under the norm of the sub-layer that comes next. Where the device
// takes so many rows from product to product (fuses_rows()), there is no x: products make it on their way.
class ResidualStream {
 public:
  // `weights`: the type of most that x meets; absent where sub-layers need x.
  ResidualStream(Stream& s, const Tensor& h, const Tensor& norm, float eps, std::optional<DType> weights)
      : h_(h), norm_(norm), eps_(eps), weights_(weights), is_fused_(fuses(s, h.n_rows())) {
    if (!is_fused_) x_ = rms_norm(s, h, norm, eps);
  }

  const Tensor& h() const { return h_; }
  const Tensor& x() const {
    assert(!is_fused_);
    return x_;
  }

  // Rows [first, first + n) of h have changed.
  void renew(Stream& s, int64_t first, int64_t n) const {
    if (is_fused_) return;
    const Frame frame(s);
    copy(s, x_.rows(first, n), rms_norm(s, h_.rows(first, n), norm_, eps_));
  }

  // Those rows alone; under another norm, if it is given. They are in tensors of their own, but for an only
  // row, which goes on in the stream's.
  ResidualStream of_rows(Stream& s, const Tensor& rows, const Tensor& norm = {}) const {
    ResidualStream some = *this;
    const bool is_only_row = h_.n_rows() == 1 && rows.n_elements() == 1;
    if (!is_only_row) some.h_ = get_rows(s, h_, rows);
    some.is_fused_ = is_fused_ && fuses(s, rows.n_elements());
    if (norm) some.norm_ = norm;
    if (!some.is_fused_)
      some.x_ = norm || is_fused_ ? rms_norm(s, some.h_, some.norm_, eps_)
                : is_only_row     ? x_
                                  : get_rows(s, x_, rows);
    return some;
  }

  Tensor normed(Stream& s) const { return is_fused_ ? rms_norm(s, h_, norm_, eps_) : x_; }
  // Of x.
  Products products(Stream& s, std::initializer_list<const Linear*> weights) const {
    return is_fused_ ? matmul(s, weights, Normed{h_, norm_, eps_}) : matmul(s, weights, x_);
  }
  // The same of weights that may be of another type.
  Tensor product(Stream& s, const Linear& w) const {
    if (is_fused_ && fuses_rows(s, h_.n_rows(), w.weight.dtype))
      return matmul(s, {&w}, Normed{h_, norm_, eps_}).out[0];
    return matmul(s, w, normed(s));
  }
  // silu(gate x) * up x.
  Tensor gated(Stream& s, const MlpWeights& w) const {
    if (is_fused_) return matmul_swiglu(s, w.gate, w.up, Normed{h_, norm_, eps_});
    const Products gate_up = matmul(s, {&w.gate, &w.up}, x_);
    return swiglu(s, gate_up.out[0], gate_up.out[1]);
  }

  // What lies between this layer's attention, of which y comes, and the next one's, whose products `next`
  // are: whether the device does that in one go; and that, into products whose values nobody needs any more.
  bool joins(const Stream& s, const Linear& w, const Tensor& mlp_norm, const MlpWeights& mlp,
             const Tensor& next_norm, std::initializer_list<const Linear*> next) const {
    return is_fused_ && joins_layers(s, between(w, {}, mlp_norm, mlp, next_norm), next);
  }
  // With `attention`, the next layer's of these products goes with it.
  void join(Stream& s, const Linear& w, const Tensor& y, const Tensor& mlp_norm, const MlpWeights& mlp,
            const Tensor& next_norm, std::initializer_list<const Linear*> next, const Products& products,
            const std::optional<SegmentAttentionArgs>& attention = {}) {
    BetweenAttentionsArgs args = between(w, y, mlp_norm, mlp, next_norm);
    args.attention = attention;
    between_attentions(s, args, next, products);
    norm_ = next_norm;
  }

  // h += mlp(x). What comes next is under `norm`, if anything does.
  void add_mlp(Stream& s, const MlpWeights& w, const Tensor& norm) {
    if (is_fused_) {
      mlp_add(s, h_, w.gate, w.up, w.down, norm_, eps_);
      norm_ = norm;
    } else if (norm) {
      add(s, w.down, gated(s, w), norm);
    } else {
      add(s, w.down, gated(s, w));
    }
  }

  // h += w y. What comes next is under `norm`.
  void add(Stream& s, const Linear& w, const Tensor& y, const Tensor& norm) {
    if (is_fused_) {
      matmul_add(s, h_, w, y);
    } else {
      add_rms_norm(s, h_, matmul(s, w, y), norm, eps_, x_);
    }
    norm_ = norm;
  }
  // h += y, where there is x.
  void add(Stream& s, const Tensor& y, const Tensor& norm) {
    add_rms_norm(s, h_, y, norm, eps_, x());
    norm_ = norm;
  }
  // h += w y where nothing comes next.
  void add(Stream& s, const Linear& w, const Tensor& y) const {
    if (is_fused_) {
      matmul_add(s, h_, w, y);
    } else {
      parlance::add(s, h_, matmul(s, w, y));
    }
  }

 private:
  bool fuses(const Stream& s, int64_t n_rows) const { return weights_ && fuses_rows(s, n_rows, weights_); }

  BetweenAttentionsArgs between(const Linear& w, const Tensor& y, const Tensor& mlp_norm,
                                const MlpWeights& mlp, const Tensor& next_norm) const {
    return {.h = h_,
            .y = y,
            .o = w,
            .mlp_norm = mlp_norm,
            .gate = mlp.gate,
            .up = mlp.up,
            .down = mlp.down,
            .next_norm = next_norm,
            .norm_eps = eps_,
            .gates = {},
            .next = {}};
  }

  Tensor h_, x_, norm_;
  float eps_;
  std::optional<DType> weights_;
  bool is_fused_;
};

}  // namespace parlance
