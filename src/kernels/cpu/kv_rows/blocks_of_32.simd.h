// Encoders of the formats with 32 values in a block: q4_0, tbq3_0 and tbq4_0. Up to kBlocks blocks go through
// each stage together, since what leads to a block's step is a long chain of operations.

constexpr int64_t kBlocks = 4;

using Block32 = F[32 / kWidth];
using Codes32 = I[32 / kWidth];

// The low four bits of the codes, in the order of pack_nibbles().
PARLANCE_SIMD PARLANCE_INLINE void store_nibbles(const Codes32& codes, uint8_t* bytes) {
  constexpr int kHalf = 16 / kWidth;
#pragma GCC unroll 4
  for (int i = 0; i < kHalf; ++i) {
    Lanes::store_bytes(bytes + i * kWidth, Lanes::join_nibbles(codes[i], codes[i + kHalf]));
  }
}

// ---- q4_0 ----

// The first value of the largest magnitude, with its sign; NaN where a value is that or infinite.
PARLANCE_SIMD PARLANCE_INLINE float largest_of(const float* x) {
  Block32 v;
  load_block(x, v);
  F largest = Lanes::zero(), nothing = Lanes::zero();
#pragma GCC unroll 8
  for (F& value : v) {
    value = Lanes::magnitude(value);
    largest = Lanes::maximum(value, largest);
    nothing = Lanes::multiply_add(value, Lanes::zero(), nothing);
  }
  constexpr uint32_t kAll = (1u << kWidth) - 1;
  if (Lanes::lanes_equal(nothing, nothing) != kAll) return std::numeric_limits<float>::quiet_NaN();
  const F limit = Lanes::broadcast(Lanes::largest(largest));
  uint32_t found = 0;
#pragma GCC unroll 8
  for (int i = 0; i < 32 / kWidth; ++i) found |= Lanes::lanes_equal(v[i], limit) << (i * kWidth);
  return x[std::countr_zero(found)];
}

PARLANCE_SIMD void encode_q4_0(const float* x, std::byte* out, int64_t n) {
  auto* blocks = reinterpret_cast<BlockQ4_0*>(out);
  for (int64_t b = 0; b < n / 32; ++b) {
    const float d = largest_of(x + 32 * b) / -8;
    const F inverse = Lanes::broadcast(d != 0 ? 1 / d : 0);
    Block32 v;
    load_block(x + 32 * b, v);
    Codes32 codes;
#pragma GCC unroll 8
    for (int i = 0; i < 32 / kWidth; ++i) {
      const F code = Lanes::add(Lanes::multiply(v[i], inverse), Lanes::broadcast(8.5f));
      codes[i] = Lanes::truncate(Lanes::minimum(code, Lanes::broadcast(15)));
    }
    blocks[b].d = f16_from_f32(d);
    store_nibbles(codes, blocks[b].q);
  }
}

PARLANCE_SIMD PARLANCE_INLINE F round_q4_0(F x) {
  const F rounded = Lanes::round(x);
  return Lanes::maximum(Lanes::minimum(rounded, Lanes::broadcast(7)), Lanes::broadcast(-8));
}

struct LevelsQ4_0 {
  PARLANCE_SIMD static PARLANCE_INLINE F nearest(F v) { return round_q4_0(v); }
};
constexpr int kCandidatesQ4_0 = 9;
alignas(64) constexpr auto kInversesQ4_0 = inverse_steps<kCandidatesQ4_0>(0.7f, 0.05f);

// As encode_searched() of quant/q4_0.h, with values in steps of `whole`.
PARLANCE_SIMD void search_q4_0(const float* x, std::byte* out, int64_t n) {
  auto* block = reinterpret_cast<BlockQ4_0*>(out);
  for (int64_t first = 0; first < n; first += 32 * kBlocks) {
    const int64_t n_blocks = std::min(kBlocks, (n - first) / 32);
    float whole[kBlocks];  // the step with which the largest magnitude becomes code -8
    for (int64_t b = 0; b < n_blocks; ++b) whole[b] = largest_of(x + 32 * b) / -8;
    Candidates<kCandidatesQ4_0> candidates[kBlocks];
    for (int64_t b = 0; b < n_blocks; ++b) {
      Block32 v;
      load_block(x + 32 * b, v);
      // Smaller steps, whose inverse may be infinite, are 0 in f16.
      multiply_block(v, Lanes::broadcast(std::isnormal(whole[b]) ? 1 / whole[b] : 0));
      float values[32];
      store_block(v, values);
      try_candidates<LevelsQ4_0>(values, kInversesQ4_0, candidates[b]);
    }
    for (int64_t b = 0; b < n_blocks; ++b) block[b].d = f16_from_f32(whole[b] * best_step(candidates[b], 1));
    for (int64_t b = 0; b < n_blocks; ++b) {
      const float d = f32_from_f16(block[b].d);
      Block32 v;
      load_block(x + 32 * b, v);
      multiply_block(v, Lanes::broadcast(d != 0 ? 1 / d : 0));
      Codes32 codes;
#pragma GCC unroll 8
      for (int i = 0; i < 32 / kWidth; ++i) {
        codes[i] = Lanes::truncate(Lanes::add(round_q4_0(v[i]), Lanes::broadcast(8)));
      }
      store_nibbles(codes, block[b].q);
    }
    x += 32 * kBlocks;
    block += kBlocks;
  }
}

// ---- tbq3_0 and tbq4_0 ----

template <class Block>
constexpr const auto& centroids_of() {
  if constexpr (std::is_same_v<Block, BlockTbq3_0>) {
    return kCentroids3;
  } else {
    return kCentroids4;
  }
}

PARLANCE_SIMD PARLANCE_INLINE void store_codes(const Codes32& codes, BlockTbq3_0& block) {
  uint8_t bytes[32];
#pragma GCC unroll 8
  for (int i = 0; i < 32 / kWidth; ++i) Lanes::store_bytes(bytes + i * kWidth, codes[i]);
#pragma GCC unroll 4
  for (int group = 0; group < 4; ++group) {
    const auto bits = static_cast<uint32_t>(join_codes<3>(bytes + 8 * group));
    std::memcpy(block.codes + 3 * group, &bits, 3);
  }
}
PARLANCE_SIMD PARLANCE_INLINE void store_codes(const Codes32& codes, BlockTbq4_0& block) {
  store_nibbles(codes, block.codes);
}

// The codes of y in steps of d. A block without length has codes 0.
template <class Block>
PARLANCE_SIMD PARLANCE_INLINE void round_to_codes(const float* y, float d, Block& block) {
  if (d == 0) {
    std::memset(block.codes, 0, sizeof block.codes);
    return;
  }
  Block32 v;
  load_block(y, v);
  multiply_block(v, Lanes::broadcast(1 / d));
  Codes32 codes;
#pragma GCC unroll 8
  for (int i = 0; i < 32 / kWidth; ++i)
    codes[i] = boundaries_below(midpoints_of(centroids_of<Block>()), v[i]);
  store_codes(codes, block);
}

template <class Block>
struct LevelsTbq {
  PARLANCE_SIMD static PARLANCE_INLINE F nearest(F v) { return nearest_level(centroids_of<Block>(), v); }
};
alignas(64) constexpr auto kInversesTbq = inverse_steps<kStepCandidates>(kLeastStep, kStepIncrement);

// steps [n_blocks] of the blocks of y, found around their root mean squares as search_step() of
// quant/codebook.h does; `steps` may be `rms`.
template <class Block>
PARLANCE_SIMD PARLANCE_INLINE void search_steps(const float* y, const float* rms, int64_t n_blocks,
                                                float* steps) {
  Candidates<kStepCandidates> candidates[kBlocks];
  for (int64_t b = 0; b < n_blocks; ++b) {
    Block32 v;
    load_block(y + 32 * b, v);
    multiply_block(v, Lanes::broadcast(1 / rms[b]));
#pragma GCC unroll 8
    for (F& value : v) value = Lanes::magnitude(value);
    float values[32];
    store_block(v, values);
    try_candidates<LevelsTbq<Block>>(values, kInversesTbq, candidates[b]);
  }
  for (int64_t b = 0; b < n_blocks; ++b)
    steps[b] = rms[b] > 0 ? rms[b] * best_step(candidates[b], 1) : rms[b];
}

template <class Block, KvEncoder kEncoder>
PARLANCE_SIMD void encode_tbq(const float* x, std::byte* out, int64_t n) {
  auto* block = reinterpret_cast<Block*>(out);
  for (int64_t first = 0; first < n; first += 32 * kBlocks) {
    const int64_t n_blocks = std::min(kBlocks, (n - first) / 32);
    float y[32 * kBlocks], steps[kBlocks];
    rotate_blocks<32>(x + first, y, 32 * n_blocks, kInverseRoot32, kSigns32.data(), nullptr);
    for (int64_t b = 0; b < n_blocks; ++b) {
      Block32 v;
      load_block(y + 32 * b, v);
      steps[b] = std::sqrt(sum_of_squares(v) / 32);
    }
    if constexpr (kEncoder == KvEncoder::search) search_steps<Block>(y, steps, n_blocks, steps);
    for (int64_t b = 0; b < n_blocks; ++b) {
      block[b].d = f16_from_f32(steps[b]);
      // The reference divides by the step before it is rounded.
      if constexpr (kEncoder == KvEncoder::search) steps[b] = f32_from_f16(block[b].d);
    }
    for (int64_t b = 0; b < n_blocks; ++b) round_to_codes(y + 32 * b, steps[b], block[b]);
    block += kBlocks;
  }
}
