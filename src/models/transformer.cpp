#include "models/transformer.h"

namespace parlance {

// The forward pass. Shapes are (fastest, …); h is the residual stream, (n_embd, n_tokens).
Tensor Transformer::forward(Stream& s, const Batch& batch, const KvView& kv, size_t part) const {
  const auto [device, first_layer, end_layer] = placement_.parts()[part];
  const Tensor h = part == 0 ? get_rows(s, w_.token_embd, batch.token) : batch.h;
  const Tensor angles = rope_angles(s, batch.view.pos, w_.rope_inverse[part], w_.rope_magnitude);

  for (int64_t layer = first_layer; layer < end_layer; ++layer) {
    const TransformerLayer& w = w_.layers[static_cast<size_t>(layer)];
    const Frame frame(s);

    Tensor x = rms_norm(s, h, w.attn_norm, hp_.norm_eps);
    add(s, h,
        self_attention(s, w.attention, hp_, variant_.rope_style, x, angles, kv, layer - first_layer,
                       batch.view));

    x = rms_norm(s, h, w.ffn_norm, hp_.norm_eps);
    add(s, h, mlp(s, w.mlp, x));
  }

  if (!placement_.is_last(part)) return h;
  const Tensor last = get_rows(s, h, batch.output_rows);
  return matmul(s, w_.output, rms_norm(s, last, w_.output_norm, hp_.norm_eps));
}

}  // namespace parlance
