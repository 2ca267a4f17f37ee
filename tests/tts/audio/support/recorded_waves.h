// Waves of the fixtures.
#pragma once

#include <string>
#include <vector>

#include "support/fixtures.h"
#include "support/npy.h"

namespace parlance::test {

// What files of a folder are called before the ending that they share, sorted.
inline std::vector<std::string> recorded_names(const std::string& folder, const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& path : fixture_files("omnivoice/" + folder, ending + ".npy")) {
    const std::string name = path.filename().string();
    names.push_back(name.substr(0, name.size() - ending.size() - 4));
  }
  EXPECT_FALSE(names.empty()) << "omnivoice/" << folder << " has no files *" << ending << ".npy";
  return names;
}

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
