// Looks at a whole bundle: whether its files are what the manifest says, whether they can be opened, and
// whether this machine can run it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/manifest.h"

namespace parlance {

// What a file turned out to be.
struct FileContent {
  std::string kind;         // "qwen3", "clip", …: general.architecture; "voice preset", "voice detector"
  std::string name;         // general.name
  double n_parameters = 0;  // of all tensors
  int64_t n_ctx = 0;        // that a language model was made for; 0: not said
  size_t n_vocab = 0;       // tokens; 0: has none
};

// A file that the manifest names.
struct FileReport {
  std::string group;
  ManifestFile said;
  std::string found_sha256;  // empty: not looked at
  size_t n_bytes = 0;
  std::optional<FileContent> content;  // of formats that are known
  std::string problem;                 // empty: all is well
};

struct KernelRequirement {
  std::string kernel;
  bool is_required = false;  // else optional
  bool is_offered = false;
};

struct BundleReport {
  std::string name;  // of the manifest's file
  Manifest manifest;
  std::vector<FileReport> files;
  std::vector<KernelRequirement> kernels;
  size_t memory_bytes = 0;            // that this machine has
  std::vector<std::string> problems;  // beside those of files
  std::vector<std::string> warnings;

  bool has_passed() const;
};

// What is in the bundle, without looking at checksums. An error when the manifest is not good.
Result<BundleReport> describe_bundle(const std::filesystem::path& folder);

// And whether everything is as the manifest says.
Result<BundleReport> verify_bundle(const std::filesystem::path& folder);

}  // namespace parlance
