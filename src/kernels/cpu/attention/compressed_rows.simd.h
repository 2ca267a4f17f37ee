// Rows of the compressed formats, included after rows.simd.h: their stored values in f32, looked up by code
// in tables that stay in registers. All are read 32 values at a time.

constexpr int kVectorsOf32 = 32 / kWidth;

// Whole blocks: there is never a rest.
struct WholeBlocks {
  static constexpr int kVectors = kVectorsOf32;
  PARLANCE_SIMD static PARLANCE_INLINE F load_first(const std::byte*, int64_t, int64_t) {
    return Lanes::zero();
  }
};

// The block that holds stored value i of a row.
template <class Block, int64_t kStored>
PARLANCE_INLINE const std::byte* block_at(const std::byte* row, int64_t i) {
  return row + i / kStored * static_cast<int64_t>(sizeof(Block));
}

constexpr std::array<float, 16> kLevelsQ4_0 = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};

// q4_0 and tbq4_0: 32 values in nibbles, the first 16 in the low ones, in steps of d.
template <class Block, size_t kCodesAt, const std::array<float, 16>& kLevels>
struct NibbleRows : WholeBlocks {
  PARLANCE_SIMD static PARLANCE_INLINE void load(const std::byte* row, int64_t i, F (&x)[kVectors]) {
    const std::byte* block = block_at<Block, 32>(row, i);
    const F d = Lanes::broadcast_f16(block);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors / 2; ++v) {
      const auto codes = Lanes::byte_codes(block + kCodesAt + v * kWidth);
      x[v] = Lanes::multiply(d, Lanes::look_up_16(kLevels.data(), codes));
      x[v + kVectors / 2] = Lanes::multiply(d, Lanes::look_up_16(kLevels.data(), Lanes::high_nibbles(codes)));
    }
  }
};
using Q4Rows = NibbleRows<BlockQ4_0, offsetof(BlockQ4_0, q), kLevelsQ4_0>;
using Tbq4Rows = NibbleRows<BlockTbq4_0, offsetof(BlockTbq4_0, codes), kCentroids4>;

struct Tbq3Rows : WholeBlocks {
  PARLANCE_SIMD static PARLANCE_INLINE void load(const std::byte* row, int64_t i, F (&x)[kVectors]) {
    const std::byte* block = block_at<BlockTbq3_0, 32>(row, i);
    const F d = Lanes::broadcast_f16(block);
    uint64_t bits[2];  // of sixteen codes each
    std::memcpy(&bits[0], block + offsetof(BlockTbq3_0, codes), 8);
    std::memcpy(&bits[1], block + offsetof(BlockTbq3_0, codes) + 4, 8);
    bits[1] >>= 16;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const uint64_t codes = bits[v * kWidth / 16] >> (3 * (v * kWidth % 16));
      x[v] = Lanes::multiply(d, Lanes::look_up_8(kCentroids3.data(), Lanes::fields_of_3(codes)));
    }
  }
};

struct TcqRows : WholeBlocks {
  PARLANCE_SIMD static PARLANCE_INLINE void load(const std::byte* row, int64_t i, F (&x)[kVectors]) {
    const std::byte* block = block_at<BlockTbq3Tcq, 128>(row, i);
    const std::byte* path = block + offsetof(BlockTbq3Tcq, path) + 3 * (i % 128) / 8;
    const F norm = Lanes::broadcast_f16(block);
    uint64_t bits[2];  // of sixteen states each: 54 bits, the last one ends with the path
    std::memcpy(&bits[0], path, 8);
    std::memcpy(&bits[1], path + 5, 8);
    bits[1] >>= 8;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const uint64_t states = bits[v * kWidth / 16] >> (3 * (v * kWidth % 16));
      x[v] = Lanes::multiply(norm, Lanes::look_up_512(kTrellisValues.data(), Lanes::fields_of_3(states)));
    }
  }
};

struct QjlRows : WholeBlocks {
  PARLANCE_SIMD static PARLANCE_INLINE void load(const std::byte* row, int64_t i, F (&x)[kVectors]) {
    const std::byte* block = block_at<BlockQjl1_256, 256>(row, i);
    bf16_bits norm_bits;
    std::memcpy(&norm_bits, block + offsetof(BlockQjl1_256, norm), sizeof norm_bits);
    const F norm = Lanes::broadcast(f32_from_bf16(norm_bits));
    uint32_t bits;
    std::memcpy(&bits, block + offsetof(BlockQjl1_256, signs) + i % 256 / 8, sizeof bits);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) x[v] = Lanes::signed_by(bits >> (v * kWidth), norm);
  }
};

template <bool kResidual>
struct PolarRows : WholeBlocks {
  PARLANCE_SIMD static PARLANCE_INLINE void load(const std::byte* row, int64_t i, F (&x)[kVectors]) {
    const std::byte* block = block_at<BlockQ4Polar, 128>(row, i);
    const std::byte* codes = block + offsetof(BlockQ4Polar, codes) + i % 128 / 2;
    const F l2 = Lanes::broadcast_f16(block);
    const bool is_above = (block[offsetof(BlockQ4Polar, residual)] & std::byte{1}) != std::byte{0};
    const F step = Lanes::broadcast(is_above ? kPolarResidualStep : -kPolarResidualStep);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      F level = Lanes::look_up_16(kPolarCentroids.data(), Lanes::nibble_codes(codes + v * kWidth / 2));
      if constexpr (kResidual) {
        level = Lanes::multiply_add(step, Lanes::load(kPolarResidual.data() + i % 128 + v * kWidth), level);
      }
      x[v] = Lanes::multiply(l2, level);
    }
  }
};
