// attention for answers and drafts from caches of 16-bit floats: see tensor_worker.cuh.
#include "kernels/cuda/attention/tensor_worker.cuh"

namespace parlance::cuda::attention {

namespace {

template <class Half, int kHeadDim>
void launch_decode(Stream& stream, const Params& params, const AttentionArgs& args) {
  launch_workers<Half, kHeadDim>(stream, params, args.kv.n_head_kv);
}

}  // namespace

bool decode_halves_serves(const AttentionArgs& args, int n_rows, size_t room) {
  return prefill_serves(args) &&
         (args.kv.head_dim_k == 64 ? shared_bytes_of_worker<__half, 64>(n_rows)
                                   : shared_bytes_of_worker<__half, 128>(n_rows)) <= room;
}

bool decode_halves_prepares(const AttentionArgs& args, int n_rows, size_t room) {
  return args.kv.page_tokens % kStepKeys == 0 && decode_halves_serves(args, n_rows, room);
}

void run_decode_halves(Stream& stream, const Params& params, const AttentionArgs& args) {
  const bool is_f16 = args.kv.k.format == KvFormat::f16;
  if (args.kv.head_dim_k == 64) {
    (is_f16 ? launch_decode<__half, 64> : launch_decode<__nv_bfloat16, 64>)(stream, params, args);
  } else {
    (is_f16 ? launch_decode<__half, 128> : launch_decode<__nv_bfloat16, 128>)(stream, params, args);
  }
}

}  // namespace parlance::cuda::attention
