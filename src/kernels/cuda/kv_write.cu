// kv_write on CUDA.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_encode.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/runtime/sketches.h"

namespace parlance::cuda {

namespace {

constexpr int kWarps = 8;     // of a block
constexpr int kRowWarps = 4;  // where these encode head vectors

// Chunks of all keys, then of all values.
__global__ void write_chunks(Side k, Side v, Places places, int64_t n_k, int64_t n) {
  let_next_start();
  wait_for_previous();
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (index >= n) return;
  if (index < n_k) {
    encode_chunk(k, places, index, lane);
  } else {
    encode_chunk(v, places, index - n_k, lane);
  }
}

// Head vectors of all keys, then of all values.
__global__ void write_rows(const __grid_constant__ Side k, const __grid_constant__ Side v, Places places,
                           int64_t n_rows, int room) {
  extern __shared__ __align__(16) std::byte rooms[];
  let_next_start();
  wait_for_previous();
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / 32;
  if (index >= 2 * n_rows) return;
  const bool is_key = index < n_rows;
  encode_row(is_key ? k : v, places, is_key ? index : index - n_rows, rooms + threadIdx.x / 32 * room,
             threadIdx.x % 32);
}

Side side_of(Stream& stream, const KvCoding& coding, int64_t head_dim, const float* x, std::byte* pages,
             size_t row_bytes) {
  Side side{};
  side.x = x;
  side.pages = pages;
  side.format = coding.format;
  side.is_searched = coding.encoder == KvEncoder::search;
  side.is_rotated = coding.transform() == KvTransform::hadamard;
  if (coding.format == KvFormat::qjl1_256) side.projection = sketch_of(stream, Sketch::projection);
  side.head_dim = static_cast<int>(head_dim);
  side.n_chunks = (side.head_dim + kChunk - 1) / kChunk;
  side.row_bytes = static_cast<int64_t>(row_bytes);
  return side;
}

void run_kv_write(Stream& stream, const KvWriteArgs& args) {
  const KvView& kv = written_view(args.kv);
  const Side k = keys_of(stream, kv, args.k.as<const float>());
  const Side v = values_of(stream, kv, args.v.as<const float>());
  const Places places = places_of(kv, args.batch);
  const int64_t n_rows = kv.n_head_kv * args.k.ne[2];
  if (n_rows == 0) return;
  const auto blocks = [](int64_t n, int of_block) {
    return dim3(static_cast<unsigned>((n + of_block - 1) / of_block));
  };
  if (is_encoded_whole(k) || is_encoded_whole(v)) {
    const int room = std::max(encoding_room(k), encoding_room(v));
    launch(stream, write_rows,
           {.grid = blocks(2 * n_rows, kRowWarps),
            .block = dim3(kRowWarps * 32),
            .shared_bytes = static_cast<size_t>(kRowWarps) * static_cast<size_t>(room)},
           k, v, places, n_rows, room);
    return;
  }
  const int64_t n_k = n_rows * k.n_chunks;
  const int64_t n = n_k + n_rows * v.n_chunks;
  launch(stream, write_chunks, {.grid = blocks(n, kWarps), .block = dim3(kWarps * 32)}, k, v, places, n_k, n);
}

}  // namespace

Side keys_of(Stream& stream, const KvView& kv, const float* x) {
  return side_of(stream, kv.k, kv.head_dim_k, x, kv.pages, kv.k_row_bytes);
}
Side values_of(Stream& stream, const KvView& kv, const float* x) {
  return side_of(stream, kv.v, kv.head_dim_v, x, kv.pages + kv.v_offset(0), kv.v_row_bytes);
}

void fill_kv_write(OpTable& table) {
  for (auto& row : table.kv_write) row.fill({run_kv_write});
}

}  // namespace parlance::cuda
