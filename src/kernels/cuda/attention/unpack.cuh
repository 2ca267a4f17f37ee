// Blocks of keys and values on their way to tensor cores: as they are stored where these are 16-bit floats,
// otherwise copied as bytes and unpacked when it is their turn. What is unpacked is rounded to 16-bit floats,
// whose error is small beside the format's own.
#pragma once

#include "kernels/cuda/attention/warp_rows.cuh"
#include "kernels/cuda/kv_formats.cuh"

namespace parlance::cuda::attention {

inline constexpr int kRunRows = 16;  // rows in a page that are copied in one go, a multiple of 16 bytes

// Levels of the codes of both sides as bits of 16-bit floats, in shared memory.
struct Levels {
  uint16_t k[kTrellisSize], v[kTrellisSize];

  __device__ static void fill(KvFormat format, uint16_t* levels) {
    const float* of = nullptr;
    int n = 0;
    if (format == KvFormat::tbq3_0) of = kLevels3.of, n = 8;
    if (format == KvFormat::tbq4_0) of = kLevels4.of, n = 16;
    if (format == KvFormat::q4_polar || format == KvFormat::q4_polar_residual) of = kPolarLevels.of, n = 16;
    if (format == KvFormat::tbq3_tcq) of = kTrellisLevels, n = kTrellisSize;
    for (int i = threadIdx.x; i < n; i += blockDim.x) levels[i] = __half_as_ushort(__float2half_rn(of[i]));
  }
  // By the whole block, which then waits for itself.
  __device__ void fill(const Params& p) {
    fill(p.k_format, k);
    fill(p.v_format, v);
    __syncthreads();
  }
};

// Sixteen stored values of a row: two times eight neighbours.
struct Sixteen {
  uint32_t low[4], high[4];
  int at_low, at_high;  // where these begin in the row

  // Of the u-th unit of a row: eight values, and those 16 places behind them.
  __device__ static Sixteen of_halves_of_32(int u) {
    Sixteen x;
    x.at_low = u / 2 * 32 + u % 2 * 8;
    x.at_high = x.at_low + 16;
    return x;
  }
  __device__ static Sixteen of_neighbours(int u) {
    Sixteen x;
    x.at_low = 16 * u;
    x.at_high = x.at_low + 8;
    return x;
  }
};

__device__ inline uint32_t two_bytes(const std::byte* p) {
  return *reinterpret_cast<const uint16_t*>(p);
}
__device__ inline uint32_t pair_of(uint32_t low, uint32_t high) {
  return __byte_perm(low, high, 0x5410);
}
// As registers hold them: through __half2_raw, two instructions more are left.
__device__ inline __half2 as_half2(uint32_t bits) {
  return *reinterpret_cast<const __half2*>(&bits);
}
__device__ inline uint32_t bits_of(__half2 pair) {
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ inline uint32_t scaled(uint32_t pair, __half2 factor) {
  return bits_of(__hmul2(as_half2(pair), factor));
}
// The step of a block, twice.
__device__ inline __half2 step_at(const std::byte* p) {
  return __half2half2(*reinterpret_cast<const __half*>(p));
}
// Two bytes as 16-bit floats, each minus `offset`: 1024 + byte is a 16-bit float whose low byte it is.
__device__ inline __half2 bytes_less(uint32_t two, float offset) {
  return __hsub2(as_half2(__byte_perm(two, 0x64, 0x4140)), __float2half2_rn(1024 + offset));
}

__device__ inline Sixteen unpack_f16(const std::byte* row, int u) {
  Sixteen x = Sixteen::of_neighbours(u);
  const auto* words = reinterpret_cast<const uint32_t*>(row) + 8 * u;
#pragma unroll
  for (int i = 0; i < 4; ++i) x.low[i] = words[i], x.high[i] = words[4 + i];
  return x;
}

__device__ inline Sixteen unpack_q8_0(const std::byte* row, int u) {
  Sixteen x = Sixteen::of_neighbours(u);
  const std::byte* block = row + u / 2 * kQ8Bytes;
  const std::byte* codes = block + 2 + u % 2 * 16;
  const __half2 step = step_at(block);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const __half2 two = bytes_less(two_bytes(codes + 2 * i) ^ 0x8080, 128);
    (i < 4 ? x.low : x.high)[i % 4] = bits_of(__hmul2(two, step));
  }
  return x;
}

__device__ inline Sixteen unpack_q4_0(const std::byte* row, int u) {
  Sixteen x = Sixteen::of_halves_of_32(u);
  const std::byte* block = row + u / 2 * sizeof(BlockQ4_0);
  const std::byte* codes = block + 2 + u % 2 * 8;
  const __half2 step = step_at(block);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t two = two_bytes(codes + 2 * i);
    x.low[i] = bits_of(__hmul2(bytes_less(two & 0x0f0f, 8), step));
    x.high[i] = bits_of(__hmul2(bytes_less(two >> 4 & 0x0f0f, 8), step));
  }
  return x;
}

__device__ inline Sixteen unpack_tbq4_0(const std::byte* row, int u, const uint16_t* levels) {
  Sixteen x = Sixteen::of_halves_of_32(u);
  const std::byte* block = row + u / 2 * sizeof(BlockTbq4_0);
  const std::byte* codes = block + 2 + u % 2 * 8;
  const __half2 step = step_at(block);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t two = two_bytes(codes + 2 * i);
    x.low[i] = scaled(pair_of(levels[two & 15], levels[two >> 8 & 15]), step);
    x.high[i] = scaled(pair_of(levels[two >> 4 & 15], levels[two >> 12]), step);
  }
  return x;
}

__device__ inline Sixteen unpack_tbq3_0(const std::byte* row, int u, const uint16_t* levels) {
  Sixteen x = Sixteen::of_neighbours(u);
  const std::byte* block = row + u / 2 * sizeof(BlockTbq3_0);
  const std::byte* codes = block + 2 + u % 2 * 6;
  const __half2 step = step_at(block);
  const uint32_t middle = two_bytes(codes + 2);
  const uint32_t low = two_bytes(codes) | middle << 16, high = middle >> 8 | two_bytes(codes + 4) << 8;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x.low[i] = scaled(pair_of(levels[low >> 6 * i & 7], levels[low >> (6 * i + 3) & 7]), step);
    x.high[i] = scaled(pair_of(levels[high >> 6 * i & 7], levels[high >> (6 * i + 3) & 7]), step);
  }
  return x;
}

__device__ inline Sixteen unpack_tbq3_tcq(const std::byte* row, int u, const uint16_t* levels) {
  Sixteen x = Sixteen::of_neighbours(u);
  const std::byte* block = row + u / 8 * sizeof(BlockTbq3Tcq);
  const std::byte* path = block + 2 + u % 8 * 6;
  const __half2 norm = step_at(block);
  const uint32_t first = two_bytes(path) | two_bytes(path + 2) << 16;
  const uint32_t second = two_bytes(path + 4) | two_bytes(path + 6) << 16;
  const uint32_t from_24 = __funnelshift_r(first, second, 24);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x.low[i] = scaled(pair_of(levels[first >> 6 * i & 511], levels[first >> (6 * i + 3) & 511]), norm);
    x.high[i] = scaled(pair_of(levels[from_24 >> 6 * i & 511], levels[from_24 >> (6 * i + 3) & 511]), norm);
  }
  return x;
}

template <bool has_residual>
__device__ inline Sixteen unpack_polar(const std::byte* row, int u, const uint16_t* levels) {
  Sixteen x = Sixteen::of_neighbours(u);
  const std::byte* block = row + u / 8 * sizeof(BlockQ4Polar);
  const std::byte* codes = block + 2 + u % 8 * 8;
  const __half2 norm = step_at(block);
  const float step = static_cast<int>(block[66]) & 1 ? kPolarResidualStep : -kPolarResidualStep;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const uint32_t code = static_cast<uint32_t>(codes[i]);
    uint32_t pair = pair_of(levels[code & 15], levels[code >> 4]);
    if constexpr (has_residual) {
      const int at = 16 * u % 128 + 2 * i;
      const __half2 more =
          __floats2half2_rn(step * kPolarResidualSigns.of[at], step * kPolarResidualSigns.of[at + 1]);
      pair = bits_of(__hadd2(as_half2(pair), more));
    }
    (i < 4 ? x.low : x.high)[i % 4] = scaled(pair, norm);
  }
  return x;
}

// Whether there is a function above for a format.
inline bool unpacks(KvFormat format) {
  return format == KvFormat::f16 || (format >= KvFormat::q8_0 && format != KvFormat::qjl1_256);
}

// kKeys rows at `raw` become 16-bit floats, by kThreads threads: store(row, first of eight values, these).
template <int kHeadDim, int kKeys, int kThreads, class Unpack, class Store>
__device__ void unpack_rows(const std::byte* raw, int row_bytes, int thread, const Unpack& unpack,
                            const Store& store) {
  constexpr int kUnits = kHeadDim / 16;
  static_assert(kKeys * kUnits % kThreads == 0);
#pragma unroll 2
  for (int i = thread; i < kKeys * kUnits; i += kThreads) {
    const int key = i % kKeys, unit = i / kKeys;  // lanes that store at once have rows in different banks
    const Sixteen x = unpack(raw + key * row_bytes, unit);
    const auto piece = [](const uint32_t(&words)[4]) {
      return make_uint4(words[0], words[1], words[2], words[3]);
    };
    store(key, x.at_low, piece(x.low));
    store(key, x.at_high, piece(x.high));
  }
}

template <int kHeadDim, int kKeys, int kThreads, class Store>
__device__ void unpack_rows(KvFormat format, const std::byte* raw, int row_bytes, const uint16_t* levels,
                            int thread, const Store& store) {
  const auto with = [&](const auto& unpack) {
    unpack_rows<kHeadDim, kKeys, kThreads>(raw, row_bytes, thread, unpack, store);
  };
  switch (format) {
    case KvFormat::f16:
      return with([](const std::byte* row, int u) { return unpack_f16(row, u); });
    case KvFormat::q8_0:
      return with([](const std::byte* row, int u) { return unpack_q8_0(row, u); });
    case KvFormat::q4_0:
      return with([](const std::byte* row, int u) { return unpack_q4_0(row, u); });
    case KvFormat::tbq4_0:
      return with([=](const std::byte* row, int u) { return unpack_tbq4_0(row, u, levels); });
    case KvFormat::tbq3_0:
      return with([=](const std::byte* row, int u) { return unpack_tbq3_0(row, u, levels); });
    case KvFormat::tbq3_tcq:
      return with([=](const std::byte* row, int u) { return unpack_tbq3_tcq(row, u, levels); });
    case KvFormat::q4_polar:
      return with([=](const std::byte* row, int u) { return unpack_polar<false>(row, u, levels); });
    case KvFormat::q4_polar_residual:
      return with([=](const std::byte* row, int u) { return unpack_polar<true>(row, u, levels); });
    default:
      return;
  }
}

// ---- Sources of blocks, for kThreads threads that take them one after the other ----

template <class Half, int kHeadDim, int kKeys, int kThreads, int kStages>
struct FloatSource {
  using Blocks = Block<Half, kHeadDim, kKeys>;
  static constexpr bool kUnpacks = false;
  struct Shared {
    Blocks blocks[kStages];
  };

  Shared& shared;
  __device__ FloatSource(const Params&, Shared& shared, std::byte*) : shared(shared) {}

  __device__ void copy(const Params& p, const Walk& walk, int stage, int first, int end, int thread) {
    shared.blocks[stage].template load<kThreads>(p, walk, first, end, thread);
  }
  __device__ const Blocks& block(int stage) const { return shared.blocks[stage]; }
};

// So many rows as they are stored, by kThreads threads.
template <int kRows, int kThreads>
__device__ void copy_rows(std::byte* to, const std::byte* from, int row_bytes, int thread) {
  constexpr int kPieces = kRows / kPieceBytes;  // for each byte of a row
  for (int i = thread; i < row_bytes * kPieces; i += kThreads)
    copy_piece(to + i * kPieceBytes, from + i * kPieceBytes, kPieceBytes);
}

// Bytes of a stage of a PackedSource.
__host__ __device__ inline int packed_stage_bytes(const Params& p, int n_keys) {
  return n_keys * (p.k_row_bytes + p.v_row_bytes);
}

template <class Half, int kHeadDim, int kKeys, int kThreads, int kStages>
struct PackedSource {
  using Blocks = Block<Half, kHeadDim, kKeys>;
  static constexpr bool kUnpacks = true;
  struct Shared {
    Blocks block;
  };

  Shared& shared;
  std::byte* raw;  // (stage bytes, kStages)
  const int k_bytes, stage_bytes;
  __device__ PackedSource(const Params& p, Shared& shared, std::byte* raw)
      : shared(shared), raw(raw), k_bytes(kKeys * p.k_row_bytes), stage_bytes(packed_stage_bytes(p, kKeys)) {}

  // Rows past the end are copied along, as far as they share a run of kRunRows with one before it.
  __device__ void copy(const Params& p, const Walk& walk, int stage, int first, int end, int thread) {
    std::byte* const to = raw + stage * stage_bytes;
#pragma unroll
    for (int run = 0; run < kKeys / kRunRows; ++run) {
      const int key = first + run * kRunRows;
      if (key >= end) break;
      copy_rows<kRunRows, kThreads>(to + run * kRunRows * p.k_row_bytes, walk.k_row(p, key), p.k_row_bytes,
                                    thread);
      copy_rows<kRunRows, kThreads>(to + k_bytes + run * kRunRows * p.v_row_bytes, walk.v_row(p, key),
                                    p.v_row_bytes, thread);
    }
  }
  // When the copies are there and nobody reads the block before any more.
  __device__ void unpack(const Params& p, const Levels& levels, int stage, int first, int end, int thread) {
    const std::byte* const from = raw + stage * stage_bytes;
    // Rows past the end are zeros.
    const auto into = [n = end - first](auto& rows) {
      return [&rows, n](int row, int at, const uint4& eight) {
        *reinterpret_cast<uint4*>(&rows[row][at]) = row < n ? eight : uint4{};
      };
    };
    unpack_rows<kHeadDim, kKeys, kThreads>(p.k_format, from, p.k_row_bytes, levels.k, thread,
                                           into(shared.block.k));
    unpack_rows<kHeadDim, kKeys, kThreads>(p.v_format, from + k_bytes, p.v_row_bytes, levels.v, thread,
                                           into(shared.block.v));
  }
  __device__ const Blocks& block(int) const {
    return shared.block;
  }
};

// Whether rows lie so that they can be copied and unpacked.
inline bool has_packed_rows(const KvView& kv) {
  return kv.head_dim_k == kv.head_dim_v && (kv.head_dim_k == 64 || kv.head_dim_k == 128) &&
         unpacks(kv.k.format) && unpacks(kv.v.format) && kv.page_tokens % kRunRows == 0 &&
         reinterpret_cast<uintptr_t>(kv.pages) % kPieceBytes == 0;
}

}  // namespace parlance::cuda::attention
