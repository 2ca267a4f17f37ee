#include "models/transformer.h"

#include "models/layers/output.h"

namespace parlance {

// The forward pass. Shapes are (fastest, …); h is the residual stream and x what a sub-layer sees of it, both
// (n_embd, n_tokens).
Outputs Transformer::forward(Stream& s, const Batch& batch, const SequenceMemory& memory, const Wants& wants,
                             const LayerRange& layers) const {
  const auto [part, first_layer, end_layer] = layers;
  const int64_t first_of_part = placement_.parts()[part].first_layer;
  const int64_t last_layer = end_layer - 1;
  const bool is_end = placement_.is_end(layers);
  const float eps = hp_.norm_eps;
  const Tensor h = first_layer == 0 ? embed(s, w_.token_embd, batch) : batch.h;
  const Tensor angles = angles_of(s, w_.rope[part], batch);

  const Tensor x = rms_norm(s, h, w_.layers[static_cast<size_t>(first_layer)].attn_norm, eps);
  for (int64_t layer = first_layer; layer < end_layer; ++layer) {
    const TransformerLayer& w = w_.layers[static_cast<size_t>(layer)];
    const KvView& kv = memory.kv.layer(layer - first_of_part);
    const Frame frame(s);

    const Tensor q = remember(s, w.attention, hp_, variant_.rope_style, x, angles, kv, batch.view);
    if (wants.queries) (*wants.queries)(s, layer - first_of_part, q);
    if (layer == last_layer && is_end && !wants_last_layer(wants, layer)) return {};
    add_rms_norm(s, h, attend(s, w.attention, hp_, q, kv, batch.view), w.ffn_norm, eps, x);

    if (layer == last_layer) break;
    const Tensor& next_norm = w_.layers[static_cast<size_t>(layer + 1)].attn_norm;
    add_rms_norm(s, h, mlp(s, w.mlp, x), next_norm, eps, x);
    visit_between(s, batch, wants, layer, h, x, next_norm, eps);
  }

  const MlpWeights& last_mlp = w_.layers[static_cast<size_t>(last_layer)].mlp;
  if (!is_end) return leave_layers(s, batch, wants, last_layer, last_mlp, h, x);
  return leave_model(s, batch, wants, last_layer, last_mlp, {w_.output_norm, w_.output, eps}, h, x);
}

}  // namespace parlance
