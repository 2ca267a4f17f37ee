// The waves and models of the speech fixtures.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "asr/asr_model.h"
#include "audio/audio_file.h"
#include "audio/mel.h"
#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/npy.h"

namespace parlance::test {

inline nlohmann::json asr_manifest() {
  return read_json(fixtures_root() / "asr/manifest.json");
}

// Names of the fixtures' recognisers, sorted: those of the folders bundle-<name>. One that is not there where
// there are none, so that tests say what is missing.
inline std::vector<std::string> asr_bundles() {
  std::vector<std::string> names;
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator(fixtures_root() / "asr", ec)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("bundle-")) names.push_back(name.substr(7));
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) names.push_back("tiny");
  return names;
}
inline std::filesystem::path asr_bundle(const std::string& name) {
  return fixtures_root() / "asr" / ("bundle-" + name);
}

// Its model on a device; an exception that says what is wrong ends the running test.
inline std::unique_ptr<AsrModel> load_asr(const std::string& name, Device& device,
                                          const TextModelOptions& options) {
  const auto files = find_asr(asr_bundle(name));
  if (!files) throw std::runtime_error(files.error().message);
  auto model = AsrModel::load(*files, device, options);
  if (!model) throw std::runtime_error(model.error().message);
  return *std::move(model);
}

// Whether weights are rounded to fewer bits than activations have.
inline bool is_quantised(const GgufFile& file) {
  return std::ranges::any_of(
      file.tensors(), [](const GgufTensor& tensor) { return traits(tensor.dtype).block_elements > 1; });
}

// The file's samples again and again, so many of them.
inline std::vector<float> repeated(const std::filesystem::path& path, size_t n_samples) {
  const auto clip = read_audio(path, kMelSampleRateHz);
  if (!clip) throw std::runtime_error(clip.error().message);
  if (clip->samples.empty()) throw std::runtime_error(path.string() + " has no sound");
  std::vector<float> samples;
  while (samples.size() < n_samples) {
    const size_t n = std::min(clip->samples.size(), n_samples - samples.size());
    samples.insert(samples.end(), clip->samples.begin(),
                   clip->samples.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return samples;
}

// Samples of a wave of the manifest at 16 kHz: its file, repeated where it is shorter than what is asked for.
inline std::vector<float> fixture_wave(const nlohmann::json& manifest, const std::string& name) {
  const nlohmann::json& wave = manifest.at("waves").at(name);
  return repeated(fixtures_root() / "asr" / wave.at("file").get<std::string>(),
                  wave.at("samples").get<size_t>());
}

// So many seconds of the longest wave that there is.
inline std::vector<float> fixture_speech(const nlohmann::json& manifest, double seconds) {
  std::string file;
  size_t longest = 0;
  for (const auto& [name, wave] : manifest.at("waves").items()) {
    const auto path = fixtures_root() / "asr" / wave.at("file").get<std::string>();
    if (wave.at("samples").get<size_t>() <= longest || !std::filesystem::exists(path)) continue;
    longest = wave.at("samples");
    file = wave.at("file");
  }
  return repeated(fixtures_root() / "asr" / file, static_cast<size_t>(seconds * kMelSampleRateHz));
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
