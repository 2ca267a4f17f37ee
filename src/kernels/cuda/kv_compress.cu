// kv_compress on CUDA: a warp for each head vector.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_encode.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kWarps = 4;

// What is read: rows of f16.
struct Source {
  const std::byte* pages;  // of the layer, at the side's first row
  int64_t page_bytes;
  int64_t row_bytes;
};

// Block (rows of one head, side and head, move).
__global__ void __launch_bounds__(32 * kWarps)
    compress(const __grid_constant__ Side k, const __grid_constant__ Side v, Source from_k, Source from_v,
             const int2* moves, int64_t page_bytes, int page_tokens, int n_head_kv, int room) {
  extern __shared__ __align__(16) std::byte rooms[];
  let_next_start();
  wait_for_previous();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int slot = static_cast<int>(blockIdx.x) * kWarps + warp;
  if (slot >= page_tokens) return;
  const bool is_value = static_cast<int>(blockIdx.y) >= n_head_kv;
  const int head = static_cast<int>(blockIdx.y) % n_head_kv;
  const Side& side = is_value ? v : k;
  const Source& source = is_value ? from_v : from_k;
  const int2 move = moves[blockIdx.z];  // exact page, main page
  const int64_t row = static_cast<int64_t>(head) * page_tokens + slot;
  auto* const x = reinterpret_cast<float*>(rooms + warp * room);
  read_row<KvFormat::f16>(source.pages + move.x * source.page_bytes + row * source.row_bytes, side.head_dim,
                          lane, x);
  __syncwarp();
  encode_whole(side, x, side.pages + move.y * page_bytes + row * side.row_bytes, {0, 1, lane});
}

void run_kv_compress(Stream& stream, const KvCompressArgs& args) {
  const KvView &kv = args.kv, &exact = *args.kv.exact;
  const auto n_moves = static_cast<unsigned>(args.moves.ne[1]);
  if (n_moves == 0) return;
  const Side k = keys_of(stream, kv, nullptr), v = values_of(stream, kv, nullptr);
  const auto page_bytes = static_cast<int64_t>(exact.page_bytes);
  const Source from_k{exact.pages, page_bytes, static_cast<int64_t>(exact.k_row_bytes)};
  const Source from_v{exact.pages + exact.v_offset(0), page_bytes, static_cast<int64_t>(exact.v_row_bytes)};
  const int room = std::max(encoding_room(k), encoding_room(v));
  launch(stream, compress,
         {.grid = dim3(static_cast<unsigned>((kv.page_tokens + kWarps - 1) / kWarps),
                       static_cast<unsigned>(2 * kv.n_head_kv), n_moves),
          .block = dim3(32 * kWarps),
          .shared_bytes = static_cast<size_t>(kWarps) * static_cast<size_t>(room)},
         k, v, from_k, from_v, args.moves.as<const int2>(), static_cast<int64_t>(kv.page_bytes),
         kv.page_tokens, static_cast<int>(kv.n_head_kv), room);
}

}  // namespace

void fill_kv_compress(OpTable& table) {
  for (auto& row : table.kv_compress) row.fill({run_kv_compress});
}

}  // namespace parlance::cuda
