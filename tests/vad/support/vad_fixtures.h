// Recorded waves with what the reference makes of them, whichever there are, and the weights of the detector
// that lie beside the fixtures.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/fixtures.h"
#include "support/json_file.h"
#include "vad/silero.h"

namespace parlance::test {

inline std::filesystem::path vad_fixtures() {
  return fixtures_root() / "vad";
}

inline std::filesystem::path vad_data() {
  return fixtures_root().parent_path() / "data";
}

// Weights from the reference's own files, by the name that the fixtures have for them, and the same in F16.
inline constexpr const char* kVadSet = "v6.2";
inline constexpr const char* kVadRoundedSet = "v6.2-f16";

// The file of a weight set: as the manifest lists it, else by the rule of its names.
inline std::filesystem::path vad_file(const std::string& set) {
  if (set == kVadRoundedSet) return vad_data() / "silero-vad-v5.gguf";
  const auto manifest = vad_fixtures() / "manifest.json";
  if (std::filesystem::exists(manifest)) {
    const auto sets = read_json(manifest).value("weight_sets", nlohmann::json::object());
    if (sets.contains(set)) return vad_data() / sets[set].get<std::string>();
  }
  return vad_data() /
         (set == "base" ? "silero_vad_16k.safetensors" : "silero_vad_16k_" + set + ".safetensors");
}

// Null, and a failure of the running test, when the file is not there or broken.
inline std::shared_ptr<const SileroModel> load_vad_file(const std::filesystem::path& file) {
  auto model = load_silero(file);
  if (model) return *model;
  ADD_FAILURE() << model.error().message;
  return nullptr;
}
inline std::shared_ptr<const SileroModel> load_vad(const std::string& set = kVadSet) {
  return load_vad_file(vad_file(set));
}

// Names of the waves, sorted.
inline std::vector<std::string> vad_waves() {
  std::vector<std::string> names;
  for (const auto& path : fixture_files("vad", ".wav")) names.push_back(path.stem().string());
  return names;
}

// The samples of a wave, as the detector takes them: 16-bit mono RIFF, its "data" chunk.
inline std::vector<float> read_vad_wave(const std::string& name) {
  const std::string bytes = read_text(vad_fixtures() / (name + ".wav"));
  const size_t at = bytes.find("data");
  if (at == std::string::npos || at + 8 > bytes.size()) {
    ADD_FAILURE() << name << ".wav has no samples";
    return {};
  }
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

// What was recorded of a wave with a weight set: files W.S.prob.npy and, of most, W.S.state.npy.
struct VadRecord {
  std::string wave, set;
  std::filesystem::path probabilities, state;

  std::string name() const { return wave + "." + set; }
};

// All of them; a record whose wave is missing fails the running test and is left out.
inline std::vector<VadRecord> vad_records() {
  constexpr std::string_view kEnding = ".prob.npy";
  const std::vector<std::string> waves = vad_waves();
  std::vector<VadRecord> records;
  for (const auto& path : fixture_files("vad", std::string(kEnding))) {
    std::string name = path.filename().string();
    name.resize(name.size() - kEnding.size());
    const std::string* wave = nullptr;  // the longest that the name begins with
    for (const std::string& known : waves) {
      if (name.starts_with(known + ".") && (!wave || known.size() > wave->size())) wave = &known;
    }
    if (!wave) {
      ADD_FAILURE() << path.filename() << " belongs to a wave that is missing";
      continue;
    }
    records.push_back(
        {*wave, name.substr(wave->size() + 1), path, path.parent_path() / (name + ".state.npy")});
  }
  return records;
}

// The stretches of speech, [first, end) in samples, that the reference finds in a wave with kVadSet.
struct VadStretch {
  int64_t first = 0, end = 0;
};
inline std::vector<VadStretch> vad_stretches(const std::string& wave) {
  std::vector<VadStretch> stretches;
  const auto path = vad_fixtures() / "events.json";
  if (!std::filesystem::exists(path)) return stretches;
  const auto found = read_json(path)["timestamps"][wave][kVadSet]["default"];
  for (const auto& stretch : found) stretches.push_back({stretch.at("start"), stretch.at("end")});
  return stretches;
}

// Waves that have a stretch of speech of at least a second, and waves that are known to have none.
inline std::vector<std::string> vad_waves_with_speech() {
  constexpr int64_t kSecond = 16000;
  std::vector<std::string> names;
  for (const std::string& wave : vad_waves()) {
    for (const VadStretch& stretch : vad_stretches(wave)) {
      if (stretch.end - stretch.first < kSecond) continue;
      names.push_back(wave);
      break;
    }
  }
  return names;
}
inline std::vector<std::string> vad_waves_without_speech() {
  std::vector<std::string> names;
  const auto path = vad_fixtures() / "events.json";
  if (!std::filesystem::exists(path)) return names;
  const auto known = read_json(path)["timestamps"];
  for (const std::string& wave : vad_waves()) {
    if (!known.contains(wave)) continue;
    bool has_speech = false;
    for (const auto& [set, lists] : known[wave].items()) {
      has_speech = has_speech || !lists.value("default", nlohmann::json()).empty();
    }
    if (!has_speech) names.push_back(wave);
  }
  return names;
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
