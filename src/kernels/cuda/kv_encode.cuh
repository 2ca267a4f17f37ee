// How keys and values are written into a cache: a warp encodes 32 elements of a head vector, byte for byte as
// the scalar definitions do.
#pragma once

#include "kernels/cuda/kv_formats.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/op_table.h"

namespace parlance::cuda {

inline constexpr int kChunk = 32;  // elements of one warp: a q8_0 block

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
__device__ inline void encode_q8_0(float x, std::byte* block, int lane) {
  const float d = __fdiv_rn(max_of_warp(fabsf(x)), 127.0f);
  const float inverse = d != 0 ? __fdiv_rn(1.0f, d) : 0.0f;
  const float scaled = __fmul_rn(x, inverse);
  const int code = isfinite(scaled) ? static_cast<int>(roundf(scaled)) : 0;
  reinterpret_cast<int8_t*>(block)[2 + lane] = static_cast<int8_t>(code);
  if (lane == 0) *reinterpret_cast<__half*>(block) = __float2half_rn(d);
}

__device__ inline void encode_chunk(const Side& side, const Places& places, int64_t index, int lane) {
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

// Of args, where keys and values come from and go.
inline Side side_of(const Tensor& x, std::byte* pages, KvFormat format, size_t row_bytes) {
  const auto head_dim = static_cast<int>(x.ne[0]);
  return {x.as<const float>(),
          pages,
          format,
          head_dim,
          (head_dim + kChunk - 1) / kChunk,
          static_cast<int64_t>(row_bytes)};
}

inline Side keys_of(const KvWriteArgs& args) {
  return side_of(args.k, args.kv.pages, args.kv.k.format, args.kv.k_row_bytes);
}
inline Side values_of(const KvWriteArgs& args) {
  return side_of(args.v, args.kv.pages + args.kv.v_offset(0), args.kv.v.format, args.kv.v_row_bytes);
}

inline Places places_of(const KvWriteArgs& args) {
  const KvView& kv = args.kv;
  return {kv.page_table.as<const int32_t>(),   args.batch.seq.as<const int32_t>(),
          args.batch.pos.as<const int32_t>(),  kv.page_table.ne[0],
          static_cast<int64_t>(kv.page_bytes), kv.page_tokens,
          static_cast<int>(kv.n_head_kv)};
}

}  // namespace parlance::cuda
