// A bundle: one folder with the models of an assistant, and a manifest (eliza-1.manifest.json) that says what
// they are. Whoever loads models from a folder asks here which files to open.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace parlance {

// How much a caller needs a model: without `must` there is no error when the bundle has none.
enum class Need : uint8_t { no, may, must };

// What a caller is about to load. Only these files are looked for and checked.
struct BundleNeeds {
  Need text = Need::no;
  Need asr = Need::no;
  Need aligner = Need::no;  // of what was heard to its times
  Need tts = Need::no;      // with the voices of the folder cache
  Need vad = Need::no;
  Need drafter = Need::no;
};

// Where the models are. What was not asked for, or is not there, is empty.
struct Bundle {
  std::filesystem::path folder;
  std::string id;  // of the manifest; empty: the folder has none, and its files were found by their places
  std::filesystem::path text;
  std::filesystem::path asr_text, asr_encoder;  // the encoder is the "mmproj"
  std::filesystem::path aligner_text, aligner_encoder;
  std::filesystem::path tts_base, tts_codec;
  std::filesystem::path vad;
  std::filesystem::path drafter;
  std::vector<std::filesystem::path> voices;  // cache/voice-preset-<id>.bin, sorted
};

// The first GGUF file of a folder by name; empty when there is none.
std::filesystem::path first_model_in(const std::filesystem::path& folder);

// The bundle with a manifest that `folder` is, or is a folder of (bundle/asr); empty when there is none.
std::filesystem::path bundle_with_manifest(const std::filesystem::path& folder);

// With a manifest: what it says is checked, the kernels and memory that it requires are compared with this
// machine, and each file that is asked for must have its checksum. Errors name the file, what was expected
// and the remedy. Without one: files are found by their places and names, and nothing is checked.
Result<Bundle> open_bundle(const std::filesystem::path& folder, const BundleNeeds& needs);

}  // namespace parlance
