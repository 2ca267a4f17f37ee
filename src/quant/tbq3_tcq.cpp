#include "quant/tbq3_tcq.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quant/kv_transform.h"

namespace parlance {

const std::array<float, kTrellisStates> kTrellisValues = {
#include "quant/tcq_codebook.inc"
};

namespace {

constexpr int kSteps = 128;
constexpr int kSymbols = 8;
constexpr int kLows =
    kTrellisStates / kSymbols;  // states that share their predecessors have the same low bits
constexpr float kLeastTcqLength = 1e-10f;

// The step from state p to s: s = p >> 3 | symbol << 6, so the predecessors of s are (s % 64) << 3 | 0..7.
struct Path {
  int first_state;  // before step 0
  uint8_t symbols[kSteps];
};

Path nearest_path(const float* r) {
  float cost[kTrellisStates] = {}, next[kTrellisStates];
  uint8_t came_from[kSteps][kLows];
  for (int t = 0; t < kSteps; ++t) {
    float best[kLows];
    for (int low = 0; low < kLows; ++low) {
      const float* before = cost + low * kSymbols;
      const auto* least = std::min_element(before, before + kSymbols);
      best[low] = *least;
      came_from[t][low] = static_cast<uint8_t>(least - before);
    }
    for (int s = 0; s < kTrellisStates; ++s) {
      const float distance = r[t] - kTrellisValues[static_cast<size_t>(s)];
      next[s] = best[s % kLows] + distance * distance;
    }
    std::copy_n(next, kTrellisStates, cost);
  }
  Path path;
  auto state = static_cast<int>(std::min_element(cost, cost + kTrellisStates) - cost);
  for (int t = kSteps - 1; t >= 0; --t) {
    path.symbols[t] = static_cast<uint8_t>(state / kLows);
    state = (state % kLows) * kSymbols + came_from[t][state % kLows];
  }
  path.first_state = state;
  return path;
}

void put_bits(uint8_t* bytes, int at, unsigned bits) {
  for (int byte = at / 8; bits << (at % 8) >> (8 * (byte - at / 8)); ++byte) {
    bytes[byte] |= static_cast<uint8_t>(bits << (at % 8) >> (8 * (byte - at / 8)));
  }
}

unsigned state_at(const BlockTbq3Tcq& block, int t) {
  const int bit = 3 * t;
  const uint8_t* bytes = block.path + bit / 8;
  return ((bytes[0] | static_cast<unsigned>(bytes[1]) << 8) >> (bit % 8)) % kTrellisStates;
}

}  // namespace

void decode_stored(const BlockTbq3Tcq& block, float* y) {
  const float norm = f32_from_f16(block.norm);
  for (int t = 0; t < kSteps; ++t) y[t] = kTrellisValues[state_at(block, t)] * norm;
}

void encode(const float* x, BlockTbq3Tcq& block) {
  float squares = 0;
  for (int i = 0; i < kSteps; ++i) squares += x[i] * x[i];
  const float length = std::sqrt(squares);
  const float inverse = length > kLeastTcqLength ? 1 / length : 0;
  float r[kSteps];
  for (int i = 0; i < kSteps; ++i) r[i] = x[i] * inverse;
  to_stored(KvTransform::signed_hadamard_128, r, r, kSteps);

  const Path path = nearest_path(r);
  std::memset(&block, 0, sizeof block);
  put_bits(block.path, 0, static_cast<unsigned>(path.first_state) >> 3);
  for (int t = 0; t < kSteps; ++t) put_bits(block.path, 6 + 3 * t, path.symbols[t]);

  float decoded = 0;
  for (int t = 0; t < kSteps; ++t) {
    const float value = kTrellisValues[state_at(block, t)];
    decoded += value * value;
  }
  decoded = std::sqrt(decoded);
  block.norm = f16_from_f32(decoded > kLeastTcqLength ? length / decoded : length);
}

}  // namespace parlance
