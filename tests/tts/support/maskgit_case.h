// Recorded runs of MaskGIT decoding.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "support/fixtures.h"
#include "support/json_file.h"
#include "tts/speech_lm.h"

namespace parlance::test {

struct MaskGitCase {
  std::string name;  // "clone_16steps.hard"
  std::string base;  // "clone_16steps": a hard case shares what is recorded before the unconditional row
  nlohmann::json recorded;    // its own: tokens, grids, counters
  nlohmann::json parameters;  // seed, num_step, …
  std::filesystem::path folder;
  std::vector<int32_t> text, reference;
  int64_t n_target = 0;
  GuidanceMask mask = GuidanceMask::soft;

  SpeechLmPrompt prompt(bool is_guided) const {
    return {.text = text, .reference = reference, .n_target = n_target, .is_guided = is_guided, .mask = mask};
  }
  std::filesystem::path file(const std::string& what) const { return folder / (base + "." + what + ".npy"); }
  std::filesystem::path own_file(const std::string& what) const {
    return folder / (name + "." + what + ".npy");
  }
};

inline MaskGitCase read_maskgit_case(const std::filesystem::path& path) {
  MaskGitCase c;
  c.folder = path.parent_path();
  c.name = c.base = path.stem().string();
  c.recorded = c.parameters = read_json(path);
  if (c.recorded.contains("parameters_as_in")) {
    c.mask = GuidanceMask::hard;
    const std::string other = c.recorded["parameters_as_in"];
    c.parameters = read_json(c.folder / other);
    c.base = std::filesystem::path(other).stem().string();
  }
  c.text = c.parameters["prompt_text_ids"].get<std::vector<int32_t>>();
  c.n_target = c.parameters["T"];
  if (!c.parameters["ref_tokens"].is_null()) {
    for (const auto& row : c.parameters["ref_tokens"]) {
      for (const auto& code : row) c.reference.push_back(code);
    }
  }
  return c;
}

}  // namespace parlance::test
