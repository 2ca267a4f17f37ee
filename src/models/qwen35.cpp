#include "models/qwen35.h"

#include "models/layers/output.h"

namespace parlance {

// The forward pass. Shapes are (fastest, …); h is the residual stream and x what a sub-layer sees of it, both
// (n_embd, n_tokens).
Outputs Qwen35::forward(Stream& s, const Batch& batch, const SequenceMemory& memory, const Wants& wants,
                        const LayerRange& layers) const {
  const auto [part, first_layer, end_layer] = layers;
  const int64_t first_of_part = placement_.parts()[part].first_layer;
  const int64_t last_layer = end_layer - 1;
  const bool is_end = placement_.is_end(layers);
  const float eps = hp_.norm_eps;
  const Tensor h = first_layer == 0 ? embed(s, w_.token_embd, batch) : batch.h;
  const Tensor angles = angles_of(s, w_.rope[part], batch);

  int64_t attention_layer = hp_.n_layers_of(LayerKind::attention, first_of_part, first_layer);
  auto recurrent_layer =
      static_cast<size_t>(hp_.n_layers_of(LayerKind::delta_net, first_of_part, first_layer));
  ResidualStream stream(s, h, w_.layers[static_cast<size_t>(first_layer)].attn_norm, eps, /*weights=*/{});
  const Tensor& x = stream.x();
  for (int64_t layer = first_layer; layer < end_layer; ++layer) {
    const Qwen35Layer& w = w_.layers[static_cast<size_t>(layer)];
    const bool is_done = layer == last_layer && is_end && !wants_last_layer(wants, layer);
    const Frame frame(s);

    Tensor mixed;
    if (const auto* attention = std::get_if<GatedAttentionWeights>(&w.mixer)) {
      const KvView& kv = memory.kv.layer(attention_layer);
      const QueryAndGate query = remember(s, *attention, hp_, x, angles, kv, batch.view);
      if (wants.queries) (*wants.queries)(s, attention_layer, query.q);
      ++attention_layer;
      if (is_done) return {};
      mixed = attend(s, *attention, hp_, query, kv, batch.view);
    } else {
      mixed = delta_net(s, std::get<DeltaNetWeights>(w.mixer), hp_, x, memory.recurrent[recurrent_layer++],
                        batch.view);
      if (is_done) return {};
    }
    stream.add(s, mixed, w.ffn_norm);

    if (layer == last_layer) break;
    stream.add(s, mlp(s, w.mlp, x), w_.layers[static_cast<size_t>(layer + 1)].attn_norm);
    visit_between(s, batch, wants, layer, stream);
  }

  const MlpWeights& last_mlp = w_.layers[static_cast<size_t>(last_layer)].mlp;
  if (!is_end) return leave_layers(s, batch, wants, last_layer, last_mlp, stream);
  return leave_model(s, batch, wants, last_layer, last_mlp, {w_.output_norm, w_.output}, stream);
}

}  // namespace parlance
