// Waves of the fixtures.
#pragma once

#include <string>
#include <vector>

#include "support/fixtures.h"
#include "support/npy.h"

namespace parlance::test {

inline std::vector<float> recorded_floats(const std::string& name) {
  return read_npy(fixtures_root() / "omnivoice" / (name + ".npy")).as_floats();
}

inline std::vector<int16_t> recorded_s16(const std::string& name) {
  const NpyArray array = read_npy(fixtures_root() / "omnivoice" / (name + ".npy"));
  return {array.values.begin(), array.values.end()};
}

inline std::vector<float> floats_of(const std::vector<int16_t>& samples) {
  std::vector<float> out;
  for (const int16_t sample : samples) out.push_back(static_cast<float>(sample) / 32768);
  return out;
}

}  // namespace parlance::test
