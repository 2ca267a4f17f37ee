// Operations on rows in one go: products that normalise what they take, and add up or gate what they yield.
// For few rows, kernels wait longer for each other than they compute; many are not written and read between
// operations. Only for devices that offer it, and with the bits of the operations that they stand for.
#pragma once

#include <initializer_list>
#include <optional>

#include "kernels/fused_rows.h"
#include "kernels/ops.h"

namespace parlance {

// Whether the operations below are worth it on the stream's device for so many rows, and weights of this
// type, or of any.
bool fuses_rows(const Stream& s, int64_t n_rows, std::optional<DType> weights = {});

// rms_norm(x, weight).
struct Normed {
  Tensor x, weight;
  float eps;
};
Products matmul(Stream& s, std::initializer_list<const Linear*> weights, const Normed& x);

// h += weight x + bias.
void matmul_add(Stream& s, const Tensor& h, const Linear& w, const Tensor& x);

// swiglu() of both products.
Tensor matmul_swiglu(Stream& s, const Linear& gate, const Linear& up, const Normed& x);

// h += down swiglu(gate x, up x), where x is rms_norm(h, norm).
void mlp_add(Stream& s, const Tensor& h, const Linear& gate, const Linear& up, const Linear& down,
             const Tensor& norm, float eps);

// norm_rope_write() of rows that are no copies' (BatchView::copies), then attention(). What q holds
// afterwards is not said.
Tensor attention(Stream& s, const Tensor& q, const Tensor& k, const Tensor& v, const HeadNorms& norms,
                 const Tensor& angles, RopeStyle style, const KvView& kv, const BatchView& batch,
                 float scale);

}  // namespace parlance
