// attention for answers and drafts from compressed caches: see tensor_worker.cuh.
#include "kernels/cuda/attention/tensor_worker.cuh"

namespace parlance::cuda::attention {

namespace {

// Blocks (…, 0) take exact pages, which are few, blocks (…, 1) main ones.
template <class Main, class Exact>
__global__ void __launch_bounds__(Main::kThreads)
    decode_joined(const __grid_constant__ Params main, const __grid_constant__ Params exact) {
  extern __shared__ uint4 dynamic[];
  static_assert(Main::kThreads == Exact::kThreads);
  const bool is_exact = blockIdx.z == 0;
  if (static_cast<int>(blockIdx.x) >= blocks_of_tiles(is_exact ? exact : main)) {
    let_next_start();
    wait_for_previous();
  } else if (is_exact) {
    decode_tile<Exact>(exact, *reinterpret_cast<typename Exact::Shared*>(dynamic));
  } else {
    decode_tile<Main>(main, *reinterpret_cast<typename Main::Shared*>(dynamic));
  }
}

template <int kHeadDim>
void launch_joined(Stream& stream, const Params& main, const Params& exact, int64_t n_head_kv,
                   size_t packed_row_bytes) {
  const dim3 grid(static_cast<unsigned>(std::max(blocks_of_tiles(main), blocks_of_tiles(exact))),
                  static_cast<unsigned>(n_head_kv * main.tiling.parts), 2);
  const int n_rows = main.tiling.heads * main.tiling.tokens;
  with_rows(n_rows, [&](auto rows) {
    using Main = TensorWorker<PackedSource, __half, kHeadDim, decltype(rows)::value>;
    using Exact = TensorWorker<FloatSource, __half, kHeadDim, decltype(rows)::value>;
    const size_t of_main = shared_bytes_of_worker<PackedSource, __half, kHeadDim>(n_rows, packed_row_bytes);
    launch(stream, decode_joined<Main, Exact>,
           {.grid = grid,
            .block = dim3(Main::kThreads),
            .shared_bytes = std::max(of_main, sizeof(typename Exact::Shared))},
           main, exact);
  });
}

size_t row_bytes_of(const KvView& kv) {
  return kv.k_row_bytes + kv.v_row_bytes;
}

}  // namespace

bool decode_packed_serves(const AttentionArgs& args, int n_rows, size_t room) {
  if (!has_packed_rows(args.kv)) return false;
  const size_t row_bytes = row_bytes_of(args.kv);
  return (args.kv.head_dim_k == 64
              ? shared_bytes_of_worker<PackedSource, __half, 64>(n_rows, row_bytes)
              : shared_bytes_of_worker<PackedSource, __half, 128>(n_rows, row_bytes)) <= room;
}

void run_decode_packed(Stream& stream, const Params& params, const AttentionArgs& args) {
  const auto launch = args.kv.head_dim_k == 64 ? launch_workers<PackedSource, __half, 64>
                                               : launch_workers<PackedSource, __half, 128>;
  launch(stream, params, args.kv.n_head_kv, row_bytes_of(args.kv));
}

void run_decode_joined(Stream& stream, const Params& main, const Params& exact, const AttentionArgs& args) {
  const auto launch = args.kv.head_dim_k == 64 ? launch_joined<64> : launch_joined<128>;
  launch(stream, main, exact, args.kv.n_head_kv, row_bytes_of(args.kv));
}

}  // namespace parlance::cuda::attention
