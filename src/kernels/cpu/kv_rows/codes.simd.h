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

// Finds the nearest of 16 levels by cell, a quarter wide: each has at most one boundary, and a level on
// either side of it. For registers that hold 16 lanes, where looking up is one instruction.
struct LevelCells {
  static constexpr float kPerUnit = 4;
  std::array<float, 16> boundary, below, above;  // of magnitudes; the last cell has no end
};

constexpr LevelCells cells_of(const std::array<float, 16>& levels) {
  LevelCells cells{};
  size_t level = 8;
  for (size_t i = 0; i < 16; ++i) {
    cells.below[i] = levels[level];
    const bool has_boundary =
        level < 15 && midpoints(levels)[level] * LevelCells::kPerUnit < static_cast<float>(i + 1);
    if (has_boundary) cells.boundary[i] = midpoints(levels)[level++];
    cells.above[i] = levels[level];
  }
  return cells;
}
alignas(64) constexpr LevelCells kCells4 = cells_of(kCentroids4);

constexpr bool has_boundaries_of(const LevelCells& cells, const std::array<float, 16>& levels) {
  for (size_t i = 8; i < 15; ++i) {
    const float boundary = midpoints(levels)[i];
    if (cells.boundary[static_cast<size_t>(boundary * LevelCells::kPerUnit)] != boundary) return false;
  }
  return true;
}
static_assert(has_boundaries_of(kCells4, kCentroids4));

// The level nearest to each value that is not negative, of levels that are symmetric around zero.
template <size_t n>
PARLANCE_SIMD PARLANCE_INLINE F nearest_level(const std::array<float, n>& levels, F v) {
  if constexpr (n == 16 && kWidth == 16) {
    const F cell = Lanes::multiply(v, Lanes::broadcast(LevelCells::kPerUnit));
    const I cells = Lanes::truncate(Lanes::minimum(cell, Lanes::broadcast(15)));
    return Lanes::select_above(v, Lanes::look_up_16(kCells4.boundary.data(), cells),
                               Lanes::look_up_16(kCells4.above.data(), cells),
                               Lanes::look_up_16(kCells4.below.data(), cells));
  } else {
    F level = Lanes::broadcast(levels[n / 2]);
#pragma GCC unroll 16
    for (size_t i = n / 2; i + 1 < n; ++i) {
      level = Lanes::select_above(v, Lanes::broadcast(midpoints_of(levels)[i]),
                                  Lanes::broadcast(levels[i + 1]), level);
    }
    return level;
  }
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

// Candidates for the step of a block of 32 values, one in each lane; the lanes that are left over repeat the
// last one. With the levels that a candidate rounds the values to, their step of least error is sum(value
// level) / sum(level^2), and takes sum(value level)^2 / sum(level^2), the gain, off the sum of the values'
// squares.
template <int kCandidates>
struct Candidates {
  static constexpr int kGroups = (kCandidates + kWidth - 1) / kWidth;
  using Inverses = std::array<float, kGroups * kWidth>;  // 1 / step
  F gains[kGroups];
  F steps[kGroups];
};

// Of steps from `least` on.
template <int kCandidates>
constexpr typename Candidates<kCandidates>::Inverses inverse_steps(float least, float increment) {
  typename Candidates<kCandidates>::Inverses inverses{};
  for (size_t i = 0; i < inverses.size(); ++i) {
    inverses[i] = 1 / (least + increment * static_cast<float>(std::min<size_t>(i, kCandidates - 1)));
  }
  return inverses;
}

// values [32]; Levels::nearest(v) is the level that v, a value over the candidate's step, is rounded to.
template <class Levels, int kCandidates>
PARLANCE_SIMD PARLANCE_INLINE void try_candidates(const float* values,
                                                  const typename Candidates<kCandidates>::Inverses& inverses,
                                                  Candidates<kCandidates>& candidates) {
#pragma GCC unroll 1
  for (int group = 0; group < Candidates<kCandidates>::kGroups; ++group) {
    const F inverse = Lanes::load(inverses.data() + group * kWidth);
    F products = Lanes::zero(), squares = Lanes::zero();
    for (int i = 0; i < 32; ++i) {
      const F value = Lanes::broadcast(values[i]);
      const F level = Levels::nearest(Lanes::multiply(value, inverse));
      products = Lanes::multiply_add(value, level, products);
      squares = Lanes::multiply_add(level, level, squares);
    }
    candidates.steps[group] = Lanes::divide(products, squares);
    candidates.gains[group] = Lanes::multiply(products, candidates.steps[group]);
  }
}

// The step of the first candidate with the largest gain, or `otherwise` when none has any.
template <int kCandidates>
PARLANCE_SIMD PARLANCE_INLINE float best_step(const Candidates<kCandidates>& candidates, float otherwise) {
  float steps[kWidth * Candidates<kCandidates>::kGroups];
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
