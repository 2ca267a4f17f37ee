// The encoder of tbq3_tcq: the algorithm of Viterbi over 512 states, in which state s has the predecessors
// (s % 64) * 8 + 0..7. With s = (8 o + q) 8 + p, the cost of s is best(8 q + p) + (r - value(s))^2, and the
// least cost before a state whose low bits are `low` is best(low) = min over p of cost(8 low + p). So a step
// takes 64 numbers to 64 numbers, and the costs of states need not be kept: eight of them are computed again
// for each step back.

constexpr int kSteps = 128;
constexpr int kLows = 64;
constexpr int kRowVectors = Lanes::kRowVectors;

// [p][low]: the value of state 8 low + p.
using ValuesByPredecessor = std::array<std::array<float, kLows>, 8>;

inline const ValuesByPredecessor& values_by_predecessor() {
  static const ValuesByPredecessor values = [] {
    ValuesByPredecessor turned;
    for (size_t s = 0; s < kTrellisStates; ++s) turned[s % 8][s / 8] = kTrellisValues[s];
    return turned;
  }();
  return values;
}

// next [kLows] = the least costs after a step to values near r; rows[p] holds best(8 q + p) for q = 0..7.
PARLANCE_SIMD PARLANCE_INLINE void step(const F (&rows)[8][kRowVectors], F r,
                                        const ValuesByPredecessor& values, F (&next)[kLows / kWidth]) {
#pragma GCC unroll 8
  for (size_t p = 0; p < 8; ++p) {
#pragma GCC unroll 16
    for (int i = 0; i < kLows / kWidth; ++i) {
      const F distance = Lanes::subtract(r, Lanes::load(values[p].data() + i * kWidth));
      const F cost = Lanes::add(rows[p][i % kRowVectors], Lanes::multiply(distance, distance));
      next[i] = p == 0 ? cost : Lanes::minimum(next[i], cost);
    }
  }
}

PARLANCE_SIMD PARLANCE_INLINE F load_8(const float* x, int vector) {
  if constexpr (kWidth > 8) return Lanes::load_first(x, 8);
  return Lanes::load(x + vector * kWidth);
}

// The first p whose state 8 low + p has the cost `least` after a step to a value near r from `before`.
PARLANCE_SIMD PARLANCE_INLINE int predecessor(const float* before, int low, float r, float least) {
  uint32_t found = 1 << 7;  // whatever a comparison with NaN says
#pragma GCC unroll 2
  for (int i = 0; i < kRowVectors; ++i) {
    const F value = load_8(kTrellisValues.data() + 8 * low, i);
    const F distance = Lanes::subtract(Lanes::broadcast(r), value);
    const F cost = Lanes::add(load_8(before + 8 * low % kLows, i), Lanes::multiply(distance, distance));
    found |= Lanes::lanes_equal(cost, Lanes::broadcast(least)) << (i * kWidth);
  }
  return std::countr_zero(found);
}

// The symbols of the path nearest to r [kSteps] and the values on it; yields the upper bits of the state that
// it starts from.
PARLANCE_SIMD PARLANCE_INLINE int nearest_path(const float* r, uint8_t* symbols, float* decoded) {
  alignas(64) float best[kSteps + 1][kLows];  // before each step
  const ValuesByPredecessor& values = values_by_predecessor();
  F next[kLows / kWidth], rows[8][kRowVectors];
#pragma GCC unroll 16
  for (F& cost : next) cost = Lanes::zero();
  for (int t = 0;; ++t) {
    store_block(next, best[t]);
    if (t == kSteps) break;
    Lanes::rows_of_best(next, rows);
    step(rows, Lanes::broadcast(r[t]), values, next);
  }
  int low = static_cast<int>(std::min_element(best[kSteps], best[kSteps] + kLows) - best[kSteps]);
  for (int t = kSteps - 1; t >= 0; --t) {
    const int state = 8 * low + predecessor(best[t], low, r[t], best[t + 1][low]);
    symbols[t] = static_cast<uint8_t>(state / kLows);
    decoded[t] = kTrellisValues[static_cast<size_t>(state)];
    low = state % kLows;
  }
  return low;
}

// In the order of the definition, since the path hangs on every bit of what is divided by it.
inline float length_in_order(const float* x) {
  float squares = 0;
  for (int i = 0; i < kSteps; ++i) squares += x[i] * x[i];
  return std::sqrt(squares);
}

PARLANCE_SIMD void encode_tcq(const float* x, std::byte* out, int64_t n) {
  for (int64_t first = 0; first < n; first += kSteps, x += kSteps, out += sizeof(BlockTbq3Tcq)) {
    auto& block = *reinterpret_cast<BlockTbq3Tcq*>(out);
    const float length = length_in_order(x);
    Block128 v;
    load_block(x, v);
    multiply_block(v, Lanes::broadcast(length > kLeastLength ? 1 / length : 0));
    multiply_signs(v, kSigns128Before.data());
    hadamard(v);
    multiply_block(v, Lanes::broadcast(kInverseRoot128));
    multiply_signs(v, kSigns128After.data());
    float r[kSteps], decoded[kSteps];
    store_block(v, r);

    uint8_t symbols[kSteps];
    auto bits = static_cast<uint32_t>(nearest_path(r, symbols, decoded));
    for (int group = 0; group < kSteps / 8; ++group) {  // six bits are left over from one group to the next
      bits |= static_cast<uint32_t>(join_codes<3>(symbols + 8 * group)) << 6;
      std::memcpy(block.path + 3 * group, &bits, 3);
      bits >>= 24;
    }
    block.path[48] = static_cast<uint8_t>(bits);
    block.pad = 0;
    const float decoded_length = length_in_order(decoded);
    block.norm = f16_from_f32(decoded_length > kLeastLength ? length / decoded_length : length);
  }
}
