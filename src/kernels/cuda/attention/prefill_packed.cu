// attention for many tokens from compressed caches: see prefill.cuh.
#include "kernels/cuda/attention/prefill.cuh"

namespace parlance::cuda::attention {

bool prefill_packed_serves(const AttentionArgs& args) {
  return has_packed_rows(args.kv);
}

void run_prefill_packed(Stream& stream, const Params& params, const AttentionArgs& args) {
  const auto launch = args.kv.head_dim_k == 64 ? launch_prefill<PackedSource, __half, 64>
                                               : launch_prefill<PackedSource, __half, 128>;
  launch(stream, params, args.kv.n_head_kv, args.kv.k_row_bytes + args.kv.v_row_bytes);
}

}  // namespace parlance::cuda::attention
