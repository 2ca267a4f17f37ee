#include "models/transformer.h"

#include "models/layers/output.h"

namespace parlance {

// Whether the device does in one go what lies between the attentions of all of these layers, where nobody
// else has to do with the residual stream.
bool Transformer::joins_layers(const Stream& s, const Batch& batch, const Wants& wants,
                               const LayerRange& layers, const ResidualStream& stream) const {
  if (!wants.taps.empty() || !batch.added.empty()) return false;
  for (int64_t layer = layers.first_layer; layer + 1 < layers.end_layer; ++layer) {
    const TransformerLayer &w = w_.layers[static_cast<size_t>(layer)],
                           &next = w_.layers[static_cast<size_t>(layer + 1)];
    const AttentionWeights& a = next.attention;
    if (!stream.joins(s, w.attention.output, w.ffn_norm, w.mlp, next.attn_norm, {&a.q, &a.k, &a.v}))
      return false;
  }
  return true;
}

// The forward pass. Shapes are (fastest, …).
Outputs Transformer::forward(Stream& s, const Batch& batch, const SequenceMemory& memory, const Wants& wants,
                             const LayerRange& layers) const {
  const auto [part, first_layer, end_layer] = layers;
  const int64_t first_of_part = placement_.parts()[part].first_layer;
  const int64_t last_layer = end_layer - 1;
  const bool is_end = placement_.is_end(layers);
  const Tensor h = first_layer == 0 ? embed(s, w_.token_embd, batch) : batch.h;
  const Tensor angles = angles_of(s, w_.rope[part], batch);

  const TransformerLayer& first = w_.layers[static_cast<size_t>(first_layer)];
  ResidualStream stream(s, h, first.attn_norm, hp_.norm_eps, first.mlp.gate.weight.dtype);
  const bool are_joined = joins_layers(s, batch, wants, layers, stream);
  const auto products_of = [&](const AttentionWeights& a) { return stream.products(s, {&a.q, &a.k, &a.v}); };
  const Products joined = are_joined ? products_of(first.attention) : Products{};
  for (int64_t layer = first_layer; layer < end_layer; ++layer) {
    const TransformerLayer& w = w_.layers[static_cast<size_t>(layer)];
    const KvView& kv = memory.kv.layer(layer - first_of_part);
    const Frame frame(s);

    const AttentionWeights& a = w.attention;
    const Products qkv = are_joined ? joined : products_of(a);
    const bool is_last = layer == last_layer && is_end && !wants_last_layer(wants, layer);
    Tensor attended;
    if (!wants.queries && !is_last && attends_at_once(s, batch.view)) {
      attended = remember_and_attend(s, a, hp_, variant_.rope_style, qkv, angles, kv, batch.view);
    } else {
      const Tensor q = remember(s, a, hp_, variant_.rope_style, qkv, angles, kv, batch.view);
      if (wants.queries) (*wants.queries)(s, layer - first_of_part, q);
      if (is_last) return {};
      attended = attend(s, hp_, q, kv, batch.view);
    }
    if (are_joined && layer < last_layer) {
      const TransformerLayer& next = w_.layers[static_cast<size_t>(layer + 1)];
      const AttentionWeights& of_next = next.attention;
      stream.join(s, a.output, attended, w.ffn_norm, w.mlp, next.attn_norm,
                  {&of_next.q, &of_next.k, &of_next.v}, joined);
      continue;
    }
    stream.add(s, a.output, attended, w.ffn_norm);

    if (layer == last_layer) break;
    stream.add(s, w.mlp.down, stream.gated(s, w.mlp), w_.layers[static_cast<size_t>(layer + 1)].attn_norm);
    visit_between(s, batch, wants, layer, stream);
  }

  const MlpWeights& last_mlp = w_.layers[static_cast<size_t>(last_layer)].mlp;
  if (!is_end) return leave_layers(s, batch, wants, last_layer, last_mlp, stream);
  return leave_model(s, batch, wants, last_layer, last_mlp, {w_.output_norm, w_.output}, stream);
}

}  // namespace parlance
