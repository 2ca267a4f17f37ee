// attention for many tokens from caches of 16-bit floats: see prefill.cuh.
#include "kernels/cuda/attention/prefill.cuh"

namespace parlance::cuda::attention {

bool prefill_serves(const AttentionArgs& args) {
  const KvFormat format = args.kv.k.format;
  return format == args.kv.v.format && (format == KvFormat::f16 || format == KvFormat::bf16) &&
         has_wide_rows(args.kv);
}

void run_prefill(Stream& stream, const Params& params, const AttentionArgs& args) {
  const bool is_f16 = args.kv.k.format == KvFormat::f16, is_64 = args.kv.head_dim_k == 64;
  const auto launch =
      is_f16 ? (is_64 ? launch_prefill<FloatSource, __half, 64> : launch_prefill<FloatSource, __half, 128>)
             : (is_64 ? launch_prefill<FloatSource, __nv_bfloat16, 64>
                      : launch_prefill<FloatSource, __nv_bfloat16, 128>);
  launch(stream, params, args.kv.n_head_kv, 0);
}

}  // namespace parlance::cuda::attention
