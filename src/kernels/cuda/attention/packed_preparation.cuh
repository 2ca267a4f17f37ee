// What norm_rope_write() does before attention, by the warps of a PackedWorker's block side by side: some
// prepare the heads of a query; where the block has the newest key and value, these encode the value then,
// and the others the key, for the page and for who reads them in the same kernel.
#pragma once

#include "kernels/cuda/attention/codes.cuh"
#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/packed_layout.cuh"
#include "kernels/cuda/attention/packed_queries.cuh"
#include "kernels/cuda/kept_head.cuh"
#include "kernels/cuda/kv_encode.cuh"
#include "kernels/cuda/kv_transform.cuh"

namespace parlance::cuda::attention {

// Whether a warp turns a row's query into halves: of heads that meet keys of one known format.
template <int kHeadDim, class Formats>
constexpr bool has_query_rows() {
  if constexpr (Formats::kIsAny) {
    return false;
  } else {
    return kHeadDim == kPreparedDim && Formats::kK != KvFormat::qjl1_256;
  }
}
// The same of few rows, each of which has a warp.
template <int kHeadDim, int kRows, class Formats>
constexpr bool has_query_warps() {
  return has_query_rows<kHeadDim, Formats>() && kRows == 4;
}

// Whether there is code for a Preparation: then, in formats whose blocks warps encode side by side.
template <int kHeadDim, int kRows, class Formats>
constexpr bool has_preparation() {
  if constexpr (has_query_warps<kHeadDim, kRows, Formats>()) {
    return has_blocks_of_32(Formats::kK) && has_blocks_of_32(Formats::kV);
  } else {
    return false;
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
  // Of a query as halves, 16 bytes are four pairs of a unit of Codes; those of its four units follow each
  // other, and rows lie in banks of their own.
  static constexpr int kPieceBytes = 16, kUnits = 4, kUnitPieces = kHeadDim / kUnits * 2 / kPieceBytes;
  static constexpr int kQueryBytes = kUnitPieces * kUnits * kPieceBytes + kUnits * kPieceBytes;
  // Of a search for a step: where both have large tables, fewer leave room for keys on their way.
  static constexpr int kLevelsAtOnce = [] {
    if constexpr (requires { Formats::kK; }) {
      constexpr int kLarge = 48 << 10;
      if (PairTables<Formats::kKeys>::copies_bytes(Formats::kK, Formats::kV) > kLarge) return kAllLevels / 2;
    }
    return kAllLevels;
  }();
  // What is needed to encode a key and a value: of each warp, elements and levels.
  struct Room {
    float elements[32];
    LevelRoom<kLevelsAtOnce> levels;
  };
  static constexpr int kRoomBytes = kPackedWarps * static_cast<int>(sizeof(Room));
  using Norms = HeadNorms<kHeadDim, true>;
  using Newest = NewestRows<true>;

  const Params& p;
  uint32_t queries;  // address of the queries in shared memory
  int n_keys, segment_keys;
  std::byte* newest_row;  // in its page: of the value, for the warps that have queries, or of the key

  __device__ static std::byte* find_newest_row(const Params& p, int token, int head_kv) {
    const Walk walk(p, p.seq[token], head_kv);
    const int pos = p.pos[token];
    return const_cast<std::byte*>(warp() < kQueryWarps ? walk.v_row(p, pos) : walk.k_row(p, pos));
  }

  // By the whole block, all of whose warps may have filled tables before. room: kRoomBytes, at a multiple
  // of 16; factors: what scores of each head are to be multiplied with.
  __device__ void prepare(const Norms& norms, const BlockRows& rows, int head_kv, bool has_last_keys,
                          std::byte* room, Newest& newest, float* factors) const {
    const bool is_of_value = warp() < kQueryWarps;
    const int block = warp() % kQueryWarps;  // of the newest key or value
    const int newest_head = newest_head_of(p, rows.first_token, head_kv);
    const float value = has_last_keys ? p.preparation.v[newest_head * kHeadDim + 32 * block + lane()] : 0;
    const float key = prepare_head(norms, rows, newest_head, has_last_keys, block, factors);
    if (has_last_keys)
      encode(is_of_value, is_of_value ? value : key, block, reinterpret_cast<Room*>(room)[warp()], newest);
    __syncthreads();
  }

  // By the whole block, which has to wait for itself then: queries that are normed and turned already.
  __device__ void take_queries(const BlockRows& rows, float* factors) const {
    if (warp() >= kQueryWarps || !rows.exists(warp())) return;
    const float* const q =
        p.q + (static_cast<int64_t>(rows.token(warp())) * p.n_head + rows.head(warp())) * kHeadDim;
    float x[kUnits];
#pragma unroll
    for (int i = 0; i < kUnits; ++i) x[i] = q[lane() + 32 * i];
    to_stored_of_warp(p.k_transform, x, lane());
    store_query(x, factors);
  }

  // Of four pairs of a unit.
  __device__ uint32_t query_address(int row, int unit, int piece) const {
    return queries + row * kQueryBytes + (piece * kUnits + unit) * kPieceBytes;
  }

  // This lane's halves of a row, two of each sixteen elements, zeros where there is none.
  template <int kSteps>
  __device__ void load_queries(const BlockRows& rows, int row, uint32_t (&q)[kSteps][2]) const {
#pragma unroll
    for (int piece = 0; piece < kUnitPieces; ++piece) {
      uint32_t(&first)[2] = q[2 * piece], (&second)[2] = q[2 * piece + 1];
      first[0] = first[1] = second[0] = second[1] = 0;
      if (row >= kQueryWarps || !rows.exists(row)) continue;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(first[0]), "=r"(first[1]), "=r"(second[0]), "=r"(second[1])
                   : "r"(query_address(row, lane() % kUnits, piece)));
    }
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
  __device__ static int lane() {
    return threadIdx.x % 32;
  }
  __device__ static int warp() {
    return threadIdx.x / 32;
  }

  // A head of the query, or the newest key, of which this lane's element of a block is returned.
  __device__ float prepare_head(const Norms& norms, const BlockRows& rows, int newest_head,
                                bool has_last_keys, int block, float* factors) const {
    const Preparation& of = p.preparation;
    const bool is_query = warp() < kQueryWarps;
    if (is_query ? warp() >= rows.n_heads : !has_last_keys) return 0;
    const int query = rows.first_token * p.n_head + rows.first_head + warp();
    KeptHead head(is_query ? p.q + query * kHeadDim : of.k + newest_head * kHeadDim, lane());
    const KeptAngles angles(of.angles + rows.first_token * kHeadDim, lane());
    head.norm_and_rotate(is_query ? of.q_norm : of.k_norm, norms.norm, angles, of.eps);
    const bool is_scaled = is_query ? of.q_scale : of.k_scale;
    float(&x)[2 * kKeptPairs] = head.x;
    float key = 0;
#pragma unroll
    for (int i = 0; i < 2 * kKeptPairs; ++i) {
      if (is_scaled) x[i] = __fmul_rn(is_query ? x[i] : __fsub_rn(x[i], norms.shift[i]), norms.scale[i]);
      if (i == block) key = x[i];
    }
    if (is_query) {
      if (p.k_transform == KvTransform::signed_hadamard_32) signed_hadamard_32_of_warp(x, lane());
      store_query(x, factors);
    }
    return key;
  }

  // The row of this warp as it meets stored keys, of which a lane has an element of each unit.
  __device__ void store_query(const float (&x)[kUnits], float* factors) const {
    static_assert(kHeadDim == 32 * kUnits && 2 * kKeptPairs == kUnits);
    const auto store_half = [&](int unit, int slot, uint16_t bits) {
      constexpr int kHalfBytes = 2;
      const uint32_t at = query_address(warp(), unit, slot / 8) + slot % 8 * kHalfBytes;
      asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(bits) : "memory");
    };
    const float down = store_halves<Codes<Formats::kK, 16>>(x, lane(), store_half);
    if (lane() == 0) factors[warp()] = down * p.scale;
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
