#include "models/omnivoice_lm.h"

#include <optional>

#include "kernels/sum_rows.h"
#include "models/layers/residual.h"

namespace parlance {

// The residual stream (n_embd, n_columns): embeddings of the text, sums of the embeddings of a column's
// codes.
Tensor OmniVoiceLm::embed(Stream& s, const OmniVoiceInput& input) const {
  const int64_t n_text = input.text.n_elements(), n_audio = input.audio.ne[0], n_target = input.n_target;
  const int64_t n_padding = input.padding ? input.padding.n_elements() : 0;
  const int64_t n_row = n_text + n_audio;
  const Tensor h = s.workspace().allocate(DType::f32, hp_.text.n_embd,
                                          n_row + (input.is_guided ? n_target + n_padding : 0));
  const Frame frame(s);
  const Tensor audio = sum_rows(s, audio_embeddings_, input.audio);
  copy(s, h.rows(0, n_text), get_rows(s, embed_tokens_, input.text));
  copy(s, h.rows(n_text, n_audio), audio);
  if (!input.is_guided) return h;
  copy(s, h.rows(n_row, n_target), audio.rows(n_audio - n_target, n_target));
  if (n_padding > 0) copy(s, h.rows(n_row + n_target, n_padding), get_rows(s, embed_tokens_, input.padding));
  return h;
}

// Products of (n_embd, n_columns). Columns of a row see each other, before and behind.
SegmentAttentionArgs OmniVoiceLm::attention_of(const Products& qkv, const OmniVoiceLayer& w,
                                               const Tensor& angles, const OmniVoiceInput& input) const {
  const HyperParameters& hp = hp_.text;
  const int64_t n = qkv.out[0].ne[1];
  return {.q = qkv.out[0].reshaped(hp.head_dim_k, hp.n_head, n),
          .k = qkv.out[1].reshaped(hp.head_dim_k, hp.n_head_kv, n),
          .v = qkv.out[2].reshaped(hp.head_dim_v, hp.n_head_kv, n),
          .bounds = input.bounds,
          .bias = input.bias,
          .scale = hp.attention_scale,
          .out = {},
          .q_norm = w.q_norm,
          .k_norm = w.k_norm,
          .eps = hp.norm_eps,
          .angles = angles,
          .style = RopeStyle::halves};
}

Tensor OmniVoiceLm::attend_through(Stream& s, ResidualStream& stream, Attend attend,
                                   const AttentionOf* attention_of) const {
  const size_t last = layers_.size() - 1;
  bool joins = true;
  for (size_t i = 0; i < last && joins; ++i) {
    const OmniVoiceLayer &w = layers_[i], &next = layers_[i + 1];
    joins = stream.joins(s, w.o, w.mlp_norm, w.mlp, next.input_norm, {&next.q, &next.k, &next.v});
  }
  const auto products_of = [&](const OmniVoiceLayer& w) { return stream.products(s, {&w.q, &w.k, &w.v}); };
  if (joins) {
    const Products qkv = products_of(layers_.front());
    const auto join = [&](size_t i, const Tensor& y, const std::optional<SegmentAttentionArgs>& attention) {
      const OmniVoiceLayer &w = layers_[i], &next = layers_[i + 1];
      stream.join(s, w.o, y, w.mlp_norm, w.mlp, next.input_norm, {&next.q, &next.k, &next.v}, qkv, attention);
    };
    if (attention_of) {
      const Tensor y = attend(qkv, 0);
      for (size_t i = 0; i < last; ++i) {
        SegmentAttentionArgs next = (*attention_of)(qkv, i + 1);
        next.out = y.reshaped(next.q.ne[0], next.q.ne[1], next.q.ne[2]);
        join(i, y, next);
      }
      return y;
    }
    for (size_t i = 0; i < last; ++i) {
      const Frame frame(s);
      join(i, attend(qkv, i), {});
    }
    return attend(qkv, last);
  }
  for (size_t i = 0; i < last; ++i) {
    const OmniVoiceLayer& w = layers_[i];
    const Frame frame(s);
    stream.add(s, w.o, attend(products_of(w), i), w.mlp_norm);
    stream.add_mlp(s, w.mlp, layers_[i + 1].input_norm);
  }
  return attend(products_of(layers_[last]), last);
}

Tensor OmniVoiceLm::forward(Stream& s, const OmniVoiceInput& input) const {
  const float eps = hp_.text.norm_eps;
  const Tensor h = embed(s, input);
  const Tensor angles = rope_angles(s, input.pos, rope_inverse_, 1);
  const OmniVoiceLayer& first = layers_.front();
  ResidualStream stream(s, h, first.input_norm, eps, first.mlp.gate.weight.dtype);
  {
    const Frame frame(s);
    const OmniVoiceLayer& last = layers_.back();
    const auto args_of = [&](const Products& qkv, size_t i) {
      return attention_of(qkv, layers_[i], angles, input);
    };
    const auto attend = [&](const Products& qkv, size_t i) {
      const SegmentAttentionArgs a = args_of(qkv, i);
      return segment_attention(s, a.q, a.k, a.v, {.q = a.q_norm, .k = a.k_norm, .eps = a.eps}, a.angles,
                               a.style, a.bounds, a.scale, a.bias);
    };
    const AttentionOf attention = args_of;
    const Tensor seen = attend_through(s, stream, attend, &attention);
    stream.add(s, last.o, seen, last.mlp_norm);
    stream.add_mlp(s, last.mlp, {});
  }
  // The target ends the conditional row and begins the unconditional one.
  const int64_t n_row = input.text.n_elements() + input.audio.ne[0];
  const Tensor target = h.rows(n_row - input.n_target, (input.is_guided ? 2 : 1) * input.n_target);
  return matmul(s, audio_heads_, rms_norm(s, target, norm_, eps));
}

}  // namespace parlance
