#include "models/transformer.h"

#include "models/layers/output.h"

namespace parlance {

// The forward pass. Shapes are (fastest, …); h is the residual stream and x what a sub-layer sees of it, both
// (n_embd, n_tokens).
Outputs Transformer::forward(Stream& s, const Batch& batch, const SequenceMemory& memory, const Wants& wants,
                             size_t part) const {
  const auto [device, first_layer, end_layer] = placement_.parts()[part];
  const int64_t last_layer = end_layer - 1;
  const bool is_last_part = placement_.is_last(part);
  const float eps = hp_.norm_eps;
  const Tensor h = part == 0 ? embed(s, w_.token_embd, batch) : batch.h;
  const Tensor angles = angles_of(s, w_.rope[part], batch);

  const Tensor x = rms_norm(s, h, w_.layers[static_cast<size_t>(first_layer)].attn_norm, eps);
  for (int64_t layer = first_layer; layer < end_layer; ++layer) {
    const TransformerLayer& w = w_.layers[static_cast<size_t>(layer)];
    const KvView& kv = memory.kv.layer(layer - first_layer);
    const Frame frame(s);

    const Tensor q = remember(s, w.attention, hp_, variant_.rope_style, x, angles, kv, batch.view);
    if (layer == last_layer && is_last_part && !wants_last_layer(wants, layer)) return {};
    add_rms_norm(s, h, attend(s, w.attention, hp_, q, kv, batch.view), w.ffn_norm, eps, x);

    if (layer == last_layer) break;
    const Tensor& next_norm = w_.layers[static_cast<size_t>(layer + 1)].attn_norm;
    add_rms_norm(s, h, mlp(s, w.mlp, x), next_norm, eps, x);
    visit_between(s, batch, wants, layer, h, x, next_norm, eps);
  }

  const MlpWeights& last_mlp = w_.layers[static_cast<size_t>(last_layer)].mlp;
  if (!is_last_part) return leave_part(s, batch, wants, last_layer, last_mlp, h, x);
  return leave_model(s, batch, wants, last_layer, last_mlp, {w_.output_norm, w_.output, eps}, h, x);
}

}  // namespace parlance
