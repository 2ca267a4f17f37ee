// What norm_rope_write() does before attention, by the warps of a PackedWorker's block side by side: some
// prepare the heads of a query; where the block has the newest key and value, these encode the value then,
// and the others the key, for the page and for who reads them in the same kernel.
#pragma once

#include "kernels/cuda/attention/codes.cuh"
#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/packed_layout.cuh"
#include "kernels/cuda/kept_head.cuh"
#include "kernels/cuda/kv_encode.cuh"
#include "kernels/cuda/kv_transform.cuh"

namespace parlance::cuda::attention {

// Whether there is code for a Preparation: of few heads of a token, in formats whose blocks warps encode side
// by side.
template <int kHeadDim, int kRows, class Formats>
constexpr bool has_preparation() {
  if constexpr (Formats::kIsAny) {
    return false;
  } else {
    return kHeadDim == kPreparedDim && kRows == 4 && has_blocks_of_32(Formats::kK) &&
           has_blocks_of_32(Formats::kV);
  }
}

inline constexpr int kQueryWarpsOfPreparation = kPackedWarps / 2;  // the others have the key

// The newest key and value as they are stored, in shared memory.
template <bool kExist>
struct NewestRows {
  static constexpr int kMostRowBytes = kExist ? kPreparedDim / 32 * 34 : 1;  // of q8_0
  alignas(16) std::byte side[2][kMostRowBytes];
};

// A warp has a head of the query or the newest key: what its elements are multiplied with, and keys' shift,
// which no kernel writes.
template <int kHeadDim, bool kExist>
struct HeadNorms {
  KeptNorm norm;
  float scale[2 * kKeptPairs], shift[2 * kKeptPairs];

  __device__ HeadNorms(const Params& p, int head_kv) : norm(kExist ? norm_of(p) : nullptr, threadIdx.x % 32) {
    if constexpr (kExist) {
      const Preparation& of = p.preparation;
      const float* const scales = has_query() ? of.q_scale : of.k_scale;
#pragma unroll
      for (int i = 0; i < 2 * kKeptPairs; ++i) {
        const int at = head_kv * kHeadDim + threadIdx.x % 32 + 32 * i;
        scale[i] = scales ? scales[at] : 1.0f;
        shift[i] = of.k_shift && !has_query() ? of.k_shift[at] : 0.0f;
      }
    }
  }

 private:
  __device__ static bool has_query() {
    return threadIdx.x / 32 < kQueryWarpsOfPreparation;
  }
  __device__ static const float* norm_of(const Params& p) {
    return has_query() ? p.preparation.q_norm : p.preparation.k_norm;
  }
};

template <int kHeadDim, class Formats>
struct PreparedHeads {
  static constexpr int kQueryWarps = kQueryWarpsOfPreparation;
  // Elements of the blocks of 32 lie in banks of their own.
  static constexpr int kQueryStride = kHeadDim + 4;
  static constexpr int kQueryBytes = kQueryStride * static_cast<int>(sizeof(float));
  // What is needed to encode a key and a value: of each warp, elements and levels.
  struct Room {
    float elements[32];
    LevelRoom levels;
  };
  static constexpr int kRoomBytes = kPackedWarps * static_cast<int>(sizeof(Room));
  using Norms = HeadNorms<kHeadDim, true>;
  using Newest = NewestRows<true>;

  const Params& p;
  uint32_t queries;  // address of the queries in shared memory, a stride apart
  int n_keys, segment_keys;
  std::byte* newest_row;  // in its page: of the value, for the warps that have queries, or of the key

  __device__ static std::byte* find_newest_row(const Params& p, int head_kv) {
    const Walk walk(p, p.seq[0], head_kv);
    return const_cast<std::byte*>(warp() < kQueryWarps ? walk.v_row(p, p.pos[0]) : walk.k_row(p, p.pos[0]));
  }

  // By the whole block, all of whose warps may have filled tables before. room: kRoomBytes, at a multiple
  // of 16.
  __device__ void prepare(const Norms& norms, const BlockRows& rows, int head_kv, bool has_last_keys,
                          std::byte* room, Newest& newest) const {
    const bool is_of_value = warp() < kQueryWarps;
    const int block = warp() % kQueryWarps;  // of the newest key or value
    const float value = has_last_keys ? p.preparation.v[head_kv * kHeadDim + 32 * block + lane()] : 0;
    const float key = prepare_head(norms, rows, head_kv, has_last_keys, block);
    if (has_last_keys)
      encode(is_of_value, is_of_value ? value : key, block, reinterpret_cast<Room*>(room)[warp()], newest);
    __syncthreads();
  }

  // In shared memory; a block of 32 elements lies as a whole.
  __device__ uint32_t query_address(int row, int i) const {
    return queries + 4 * (row * kQueryStride + i + i / 32);
  }

  // By the warp that has sixteen keys at `at`: the newest ones, in place of what was in the page.
  __device__ void put_newest(const Newest& newest, uint32_t at, int key, int k_row_bytes,
                             int v_row_bytes) const {
    const auto put = [&](uint32_t to, const std::byte* stored, int n_bytes) {
      for (int i = 4 * lane(); i < n_bytes; i += 4 * 32) {
        const uint32_t word = *reinterpret_cast<const uint32_t*>(stored + i);
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(to + i), "r"(word) : "memory");
      }
    };
    put(at + key * k_row_bytes, newest.side[0], k_row_bytes);
    put(at + kPackedKeys * k_row_bytes + key * v_row_bytes, newest.side[1], v_row_bytes);
    __syncwarp();
  }

 private:
  __device__ static int lane() { return threadIdx.x % 32; }
  __device__ static int warp() { return threadIdx.x / 32; }

  // A head of the query, or the newest key, of which this lane's element of a block is returned.
  __device__ float prepare_head(const Norms& norms, const BlockRows& rows, int head_kv, bool has_last_keys,
                                int block) const {
    const Preparation& of = p.preparation;
    const bool is_query = warp() < kQueryWarps;
    if (is_query ? warp() >= rows.n_heads : !has_last_keys) return 0;
    KeptHead head(is_query ? p.q + (rows.first_head + warp()) * kHeadDim : of.k + head_kv * kHeadDim, lane());
    head.norm_and_rotate(is_query ? of.q_norm : of.k_norm, norms.norm, KeptAngles(of.angles, lane()), of.eps);
    const bool is_scaled = is_query ? of.q_scale : of.k_scale;
    float(&x)[2 * kKeptPairs] = head.x;
    float key = 0;
#pragma unroll
    for (int i = 0; i < 2 * kKeptPairs; ++i) {
      if (is_scaled) x[i] = __fmul_rn(is_query ? x[i] : __fsub_rn(x[i], norms.shift[i]), norms.scale[i]);
      if (i == block) key = x[i];
    }
    if (!is_query) return key;
    if (p.k_transform == KvTransform::signed_hadamard_32) signed_hadamard_32_of_warp(x, lane());
#pragma unroll
    for (int i = 0; i < 2 * kKeptPairs; ++i) {
      const uint32_t at = queries + 4 * (warp() * kQueryStride + 33 * i + lane());
      asm volatile("st.shared.f32 [%0], %1;" ::"r"(at), "f"(x[i]) : "memory");
    }
    return key;
  }

  // A block of 32 elements of the newest key or value, by a warp.
  __device__ void encode(bool is_value, float x, int block, Room& room, Newest& newest) const {
    static_assert(kHeadDim == 32 * kQueryWarps && kPackedWarps == 2 * kQueryWarps);
    const Preparation& of = p.preparation;
    const bool is_searched = is_value ? of.is_v_searched : of.is_k_searched;
    room.elements[lane()] = x;
    __syncwarp();
    const auto encode_as = [&](auto format) {
      constexpr int kBytes = Codes<decltype(format)::value, 16>::kBlockBytes;
      std::byte* const to = newest.side[is_value] + block * kBytes;
      encode_block_of_32<decltype(format)::value>(room.elements, is_searched, room.levels, to, lane());
      __syncwarp();
      auto* const in_page = reinterpret_cast<uint16_t*>(newest_row + block * kBytes);
      if (lane() < kBytes / 2) in_page[lane()] = reinterpret_cast<const uint16_t*>(to)[lane()];
    };
    if constexpr (Formats::kK == Formats::kV) {
      encode_as(std::integral_constant<KvFormat, Formats::kK>());
    } else if (is_value) {
      encode_as(std::integral_constant<KvFormat, Formats::kV>());
    } else {
      encode_as(std::integral_constant<KvFormat, Formats::kK>());
    }
  }
};

}  // namespace parlance::cuda::attention
