#include "models/qwen35.h"

#include "models/layers/input.h"
#include "models/layers/output.h"

namespace parlance {

// The forward pass. Shapes are (fastest, …); h is the residual stream and x what a sub-layer sees of it, both
// (n_embd, n_tokens).
Tensor Qwen35::forward(Stream& s, const Batch& batch, const SequenceMemory& memory, size_t part) const {
  const auto [device, first_layer, end_layer] = placement_.parts()[part];
  const float eps = hp_.norm_eps;
  const Tensor h = part == 0 ? embed(s, w_.token_embd, batch) : batch.h;
  const Tensor angles = rope_angles(s, batch.view.pos, w_.rope_inverse[part], w_.rope_magnitude);

  int64_t attention_layer = 0;
  size_t recurrent_layer = 0;
  const Tensor x = rms_norm(s, h, w_.layers[static_cast<size_t>(first_layer)].attn_norm, eps);
  for (int64_t layer = first_layer; layer < end_layer; ++layer) {
    const Qwen35Layer& w = w_.layers[static_cast<size_t>(layer)];
    const Frame frame(s);

    Tensor mixed;
    if (const auto* attention = std::get_if<GatedAttentionWeights>(&w.mixer)) {
      mixed = gated_attention(s, *attention, hp_, x, angles, memory.kv.layer(attention_layer++), batch.view);
    } else {
      mixed = delta_net(s, std::get<DeltaNetWeights>(w.mixer), hp_, x, memory.recurrent[recurrent_layer++],
                        batch.view);
    }
    add_rms_norm(s, h, mixed, w.ffn_norm, eps, x);

    if (layer + 1 == end_layer) break;
    add_rms_norm(s, h, mlp(s, w.mlp, x), w_.layers[static_cast<size_t>(layer + 1)].attn_norm, eps, x);
  }

  const MlpWeights& last_mlp = w_.layers[static_cast<size_t>(end_layer - 1)].mlp;
  if (!placement_.is_last(part)) return leave_part(s, last_mlp, h, x);
  return output_logits(s, last_mlp, {w_.output_norm, w_.output}, h, x, batch.output_rows, eps);
}

}  // namespace parlance
