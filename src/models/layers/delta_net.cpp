#include "models/layers/delta_net.h"

namespace parlance {

Tensor delta_net(Stream& s, const DeltaNetWeights& w, const HyperParameters& hp, const Tensor& x,
                 const RecurrentView& state, const BatchView& batch) {
  const auto [qkv, gate, alpha, beta] = matmul(s, {&w.qkv, &w.gate, &w.alpha, &w.beta}, x).out;
  const Tensor heads = short_conv(s, qkv, w.conv, state.conv, batch);
  const Tensor seen =
      gated_delta_net(s, heads, {alpha, beta, w.a, w.dt_bias}, state.delta, batch, hp.norm_eps);
  const Tensor gated = gated_rms_norm(s, seen, w.norm, gate, hp.norm_eps);
  return matmul(s, w.output, gated.reshaped(hp.delta_net.n_inner(), x.ne[1]));
}

}  // namespace parlance
