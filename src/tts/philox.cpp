#include "tts/philox.h"

namespace parlance {

namespace {

constexpr uint32_t kMultiplier0 = 0xd2511f53, kMultiplier1 = 0xcd9e8d57;
constexpr uint32_t kIncrement0 = 0x9e3779b9, kIncrement1 = 0xbb67ae85;
constexpr int kRounds = 10;

constexpr uint32_t low_of(uint64_t x) {
  return static_cast<uint32_t>(x);
}

constexpr uint32_t high_of(uint64_t x) {
  return static_cast<uint32_t>(x >> 32);
}

}  // namespace

PhiloxWords philox_4x32(PhiloxWords counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kMultiplier1} * counter[2];
    counter = {high_of(product1) ^ counter[1] ^ key[0], low_of(product1),
               high_of(product0) ^ counter[3] ^ key[1], low_of(product0)};
    key[0] += kIncrement0;
    key[1] += kIncrement1;
  }
  return counter;
}

float philox_uniform(uint64_t seed, uint64_t call, uint64_t element) {
  const PhiloxWords block = philox_4x32({low_of(call), high_of(call), low_of(element), high_of(element)},
                                        {low_of(seed), high_of(seed)});
  return (static_cast<float>(block[0]) + 0.5f) * 0x1p-32f;
}

}  // namespace parlance
