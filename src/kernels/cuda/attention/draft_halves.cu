// attention for drafts from caches of 16-bit floats: see drafts.cuh.
#include "kernels/cuda/attention/drafts.cuh"

namespace parlance::cuda::attention {

bool draft_halves_serves(const AttentionArgs& args, size_t room) {
  return prefill_serves(args) && (args.kv.head_dim_k == 64 ? shared_bytes_of_drafts<__half, 64>()
                                                           : shared_bytes_of_drafts<__half, 128>()) <= room;
}

void run_draft_halves(Stream& stream, const Params& params, const AttentionArgs& args) {
  const bool is_f16 = args.kv.k.format == KvFormat::f16, is_64 = args.kv.head_dim_k == 64;
  const auto launch = is_f16 ? (is_64 ? launch_drafts<__half, 64> : launch_drafts<__half, 128>)
                             : (is_64 ? launch_drafts<__nv_bfloat16, 64> : launch_drafts<__nv_bfloat16, 128>);
  launch(stream, params, args.kv.n_head_kv);
}

}  // namespace parlance::cuda::attention
