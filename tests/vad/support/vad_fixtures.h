// Recorded waves, and the weights of the detector that lie beside the fixtures.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "support/fixtures.h"
#include "vad/silero.h"

namespace parlance::test {

inline const std::vector<std::string> kVadWaves = {"jfk", "espeak_turns", "espeak_noisy_5db", "noise_tones",
                                                   "short_1000"};

struct VadWeightSet {
  std::string name;  // in the names of the fixtures
  std::string file;
};
inline const std::vector<VadWeightSet> kVadWeightSets = {
    {"base", "silero_vad_16k.safetensors"},
    {"v6.2", "silero_vad_16k_v6.2.safetensors"},
    {"v5.1.2", "silero_vad_16k_v5.1.2.safetensors"},
};

inline std::filesystem::path vad_data() {
  return fixtures_root().parent_path() / "data";
}

inline std::shared_ptr<const SileroModel> load_vad(const std::string& file) {
  auto model = load_silero(vad_data() / file);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return model ? *model : nullptr;
}

// The samples of a fixture, as the detector takes them: 16-bit mono RIFF, its "data" chunk.
inline std::vector<float> read_vad_wave(const std::string& name) {
  const std::string bytes = read_text(fixtures_root() / "vad" / (name + ".wav"));
  const size_t at = bytes.find("data");
  if (at == std::string::npos) return {};
  uint32_t n_bytes = 0;
  std::memcpy(&n_bytes, bytes.data() + at + 4, sizeof n_bytes);
  std::vector<float> samples;
  for (size_t i = at + 8; i + 1 < std::min(bytes.size(), at + 8 + n_bytes); i += 2) {
    int16_t value;
    std::memcpy(&value, bytes.data() + i, sizeof value);
    samples.push_back(static_cast<float>(value) / 32768);
  }
  return samples;
}

// Probabilities of all windows; the last one is filled up with zeros.
inline std::vector<float> vad_probabilities(SileroVad& vad, std::vector<float> samples) {
  samples.resize((samples.size() + kSileroWindow - 1) / kSileroWindow * kSileroWindow);
  std::vector<float> probabilities;
  for (size_t at = 0; at < samples.size(); at += kSileroWindow) {
    probabilities.push_back(vad.process(std::span(samples).subspan(at).first<kSileroWindow>()));
  }
  return probabilities;
}

}  // namespace parlance::test

#define PARLANCE_REQUIRE_VAD_FIXTURES() \
  PARLANCE_REQUIRE_FIXTURES("vad");     \
  PARLANCE_REQUIRE_FIXTURES("../data")
