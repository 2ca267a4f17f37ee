// The waves and models of the speech fixtures.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "audio/audio_file.h"
#include "audio/mel.h"
#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/npy.h"

namespace parlance::test {

inline nlohmann::json asr_manifest() {
  return read_json(fixtures_root() / "asr/manifest.json");
}

// Samples of a wave of the manifest at 16 kHz: its file, repeated where it is shorter than what is asked for.
inline std::vector<float> fixture_wave(const nlohmann::json& manifest, const std::string& name) {
  const nlohmann::json& wave = manifest["waves"][name];
  const auto n_samples = wave["samples"].get<size_t>();
  const auto path = fixtures_root() / "asr" / wave["file"].get<std::string>();
  const auto clip = read_audio(path, kMelSampleRateHz);
  EXPECT_TRUE(clip) << clip.error().message;
  std::vector<float> samples;
  while (clip && !clip->samples.empty() && samples.size() < n_samples) {
    const size_t n = std::min(clip->samples.size(), n_samples - samples.size());
    samples.insert(samples.end(), clip->samples.begin(),
                   clip->samples.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return samples;
}

// |got - want| / |want|
inline double relative_l2(const std::vector<float>& got, const std::vector<double>& want) {
  EXPECT_EQ(got.size(), want.size());
  if (got.size() != want.size()) return INFINITY;
  double difference = 0, size = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    difference += (static_cast<double>(got[i]) - want[i]) * (static_cast<double>(got[i]) - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace parlance::test
