// kv_write on CUDA: a warp encodes 32 elements of a head vector, byte for byte as the scalar definitions do.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_formats.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kChunk = 32;  // elements of one warp: a q8_0 block
constexpr int kWarps = 8;   // of a block

// Keys or values of all tokens, and where they go.
struct Side {
  const float* x;    // (head_dim, n_head_kv, n_tokens)
  std::byte* pages;  // of the layer, at the side's first row
  KvFormat format;
  int head_dim;
  int n_chunks;  // of a head vector
  int64_t row_bytes;
};

struct Places {
  const int32_t* page_table;  // (max_pages, n_seq)
  const int32_t* seq;
  const int32_t* pos;
  int64_t max_pages;
  int64_t page_bytes;
  int page_tokens;
  int n_head_kv;
};

// Lane i has element i of the block. Products and quotients round as on the CPU: none is fused.
__device__ void encode_q8_0(float x, std::byte* block, int lane) {
  const float d = __fdiv_rn(max_of_warp(fabsf(x)), 127.0f);
  const float inverse = d != 0 ? __fdiv_rn(1.0f, d) : 0.0f;
  const float scaled = __fmul_rn(x, inverse);
  const int code = isfinite(scaled) ? static_cast<int>(roundf(scaled)) : 0;
  reinterpret_cast<int8_t*>(block)[2 + lane] = static_cast<int8_t>(code);
  if (lane == 0) *reinterpret_cast<__half*>(block) = __float2half_rn(d);
}

__device__ void encode_chunk(const Side& side, const Places& places, int64_t index, int lane) {
  const int64_t row = index / side.n_chunks;  // of all heads of all tokens
  const int chunk = static_cast<int>(index % side.n_chunks);
  const int64_t token = row / places.n_head_kv;
  const int64_t head = row % places.n_head_kv;
  const int pos = places.pos[token];
  const int64_t page = places.page_table[places.seq[token] * places.max_pages + pos / places.page_tokens];
  std::byte* out = side.pages + page * places.page_bytes +
                   (head * places.page_tokens + pos % places.page_tokens) * side.row_bytes;
  const int i = chunk * kChunk + lane;
  const bool is_inside = i < side.head_dim;
  const float x = is_inside ? side.x[row * side.head_dim + i] : 0.0f;
  if (side.format == KvFormat::q8_0) {
    encode_q8_0(x, out + chunk * kQ8Bytes, lane);
  } else if (is_inside) {
    if (side.format == KvFormat::f32) reinterpret_cast<float*>(out)[i] = x;
    if (side.format == KvFormat::f16) reinterpret_cast<__half*>(out)[i] = __float2half_rn(x);
    if (side.format == KvFormat::bf16) reinterpret_cast<__nv_bfloat16*>(out)[i] = __float2bfloat16_rn(x);
  }
}

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

Side side_of(const Tensor& x, std::byte* pages, KvFormat format, size_t row_bytes) {
  const auto head_dim = static_cast<int>(x.ne[0]);
  return {x.as<const float>(),
          pages,
          format,
          head_dim,
          (head_dim + kChunk - 1) / kChunk,
          static_cast<int64_t>(row_bytes)};
}

void run_kv_write(Stream& stream, const KvWriteArgs& args) {
  const KvView& kv = args.kv;
  const Side k = side_of(args.k, kv.pages, kv.k.format, kv.k_row_bytes);
  const Side v = side_of(args.v, kv.pages + kv.v_offset(0), kv.v.format, kv.v_row_bytes);
  const Places places{kv.page_table.as<const int32_t>(),   args.batch.seq.as<const int32_t>(),
                      args.batch.pos.as<const int32_t>(),  kv.page_table.ne[0],
                      static_cast<int64_t>(kv.page_bytes), kv.page_tokens,
                      static_cast<int>(kv.n_head_kv)};
  const int64_t n_rows = kv.n_head_kv * args.k.ne[2];
  const int64_t n_k = n_rows * k.n_chunks;
  const int64_t n = n_k + n_rows * v.n_chunks;
  if (n == 0) return;
  launch(stream, write_chunks,
         {.grid = dim3(static_cast<unsigned>((n + kWarps - 1) / kWarps)), .block = dim3(kWarps * 32)}, k, v,
         places, n_k, n);
}

}  // namespace

void fill_kv_write(OpTable& table) {
  fill_plain_formats(table.kv_write, {run_kv_write});
}

}  // namespace parlance::cuda
