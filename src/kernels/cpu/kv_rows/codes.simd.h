// Codes: which level a value is nearest to, and how codes are put into bytes.

// The boundaries halfway between levels.
template <size_t n>
constexpr std::array<float, n - 1> midpoints(const std::array<float, n>& levels) {
  std::array<float, n - 1> middle{};
  for (size_t i = 0; i + 1 < n; ++i) middle[i] = (levels[i] + levels[i + 1]) / 2;
  return middle;
}
inline constexpr auto kMidpoints3 = midpoints(kCentroids3);
inline constexpr auto kMidpoints4 = midpoints(kCentroids4);

inline const auto& midpoints_of(const std::array<float, 8>&) {
  return kMidpoints3;
}
inline const auto& midpoints_of(const std::array<float, 16>&) {
  return kMidpoints4;
}

// How many of the boundaries lie below each value.
template <size_t n>
PARLANCE_SIMD PARLANCE_INLINE I boundaries_below(const std::array<float, n>& boundaries, F v) {
  I codes = Lanes::no_codes();
#pragma GCC unroll 16
  for (size_t i = 0; i < n; ++i) codes = Lanes::count_above(codes, v, Lanes::broadcast(boundaries[i]));
  return codes;
}

// The level nearest to each value that is not negative, of levels that are symmetric around zero.
template <size_t n>
PARLANCE_SIMD PARLANCE_INLINE F nearest_level(const std::array<float, n>& levels, F v) {
  F level = Lanes::broadcast(levels[n / 2]);
#pragma GCC unroll 16
  for (size_t i = n / 2; i + 1 < n; ++i) {
    level = Lanes::select_above(v, Lanes::broadcast(midpoints_of(levels)[i]), Lanes::broadcast(levels[i + 1]),
                                level);
  }
  return level;
}

// Eight codes of `width` bits, a byte each in `bytes`, side by side.
template <int width>
PARLANCE_INLINE uint64_t join_codes(const uint8_t* bytes) {
  constexpr int kGap = 8 - width;
  constexpr uint64_t kTwo = (1ull << (2 * width)) - 1, kFour = (1ull << (4 * width)) - 1;
  uint64_t codes;
  std::memcpy(&codes, bytes, sizeof codes);
  codes = (codes | codes >> kGap) & (kTwo | kTwo << 16 | kTwo << 32 | kTwo << 48);
  codes = (codes | codes >> (2 * kGap)) & (kFour | kFour << 32);
  return (codes | codes >> (4 * kGap)) & ((1ull << (8 * width)) - 1);
}

template <size_t kSize>
PARLANCE_SIMD PARLANCE_INLINE float sum_of_squares(const F (&v)[kSize]) {
  F squares[2] = {Lanes::multiply(v[0], v[0]), Lanes::multiply(v[1], v[1])};
#pragma GCC unroll 32
  for (size_t i = 2; i < kSize; ++i) squares[i % 2] = Lanes::multiply_add(v[i], v[i], squares[i % 2]);
  return Lanes::sum(Lanes::add(squares[0], squares[1]));
}

// Candidates for a block's step, kWidth of them in the lanes of a vector; there may be fewer than lanes.
template <int kCandidates>
struct Candidates {
  static constexpr int kGroups = (kCandidates + kWidth - 1) / kWidth;
  F gains[kGroups];  // by how much less the squares of the errors add up to
  F steps[kGroups];  // the step that fits the candidate's codes best
};

// Sums of a candidate's products of values and levels, and of the squares of its levels.
struct CandidateSums {
  F product;
  F squares;
};

// The candidates whose sums function(candidate) yields.
template <int kCandidates, class Function>
PARLANCE_SIMD PARLANCE_INLINE void try_candidates(const Function& function,
                                                  Candidates<kCandidates>& candidates) {
  for (int group = 0; group < Candidates<kCandidates>::kGroups; ++group) {
    F products[kWidth], squares[kWidth];
    for (int i = 0; i < kWidth; ++i) {
      const int candidate = group * kWidth + i;
      const CandidateSums sums = candidate < kCandidates
                                     ? function(candidate)
                                     : CandidateSums{Lanes::zero(), Lanes::broadcast(1)};  // no gain
      products[i] = sums.product;
      squares[i] = sums.squares;
    }
    const F product = Lanes::sums_of(products);
    candidates.steps[group] = Lanes::divide(product, Lanes::sums_of(squares));
    candidates.gains[group] = Lanes::multiply(product, candidates.steps[group]);
  }
}

// The step of the first candidate with the largest gain, or `otherwise` when none has any.
template <int kCandidates>
PARLANCE_SIMD PARLANCE_INLINE float best_step(const Candidates<kCandidates>& candidates, float otherwise) {
  float steps[kCandidates + kWidth];
  F most = Lanes::zero();
#pragma GCC unroll 4
  for (const F& gains : candidates.gains) most = Lanes::maximum(gains, most);
  const float largest = Lanes::largest(most);
  uint32_t found = 0;
#pragma GCC unroll 4
  for (int group = 0; group < Candidates<kCandidates>::kGroups; ++group) {
    found |= Lanes::lanes_equal(candidates.gains[group], Lanes::broadcast(largest)) << (group * kWidth);
    Lanes::store(steps + group * kWidth, candidates.steps[group]);
  }
  return found && largest > 0 ? steps[std::countr_zero(found)] : otherwise;
}
