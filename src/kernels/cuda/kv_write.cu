// kv_write on CUDA.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_encode.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kWarps = 8;  // of a block

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

void run_kv_write(Stream& stream, const KvWriteArgs& args) {
  const Side k = keys_of(args), v = values_of(args);
  const int64_t n_rows = args.kv.n_head_kv * args.k.ne[2];
  const int64_t n_k = n_rows * k.n_chunks;
  const int64_t n = n_k + n_rows * v.n_chunks;
  if (n == 0) return;
  launch(stream, write_chunks,
         {.grid = dim3(static_cast<unsigned>((n + kWarps - 1) / kWarps)), .block = dim3(kWarps * 32)}, k, v,
         places_of(args), n_k, n);
}

}  // namespace

void fill_kv_write(OpTable& table) {
  fill_plain_formats(table.kv_write, {run_kv_write});
}

}  // namespace parlance::cuda
