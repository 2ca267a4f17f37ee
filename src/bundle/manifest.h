// What the manifest of a bundle says: which files it has, what each is for, where the models come from, what
// they need and how they did in tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace parlance {

inline constexpr std::string_view kManifestName = "eliza-1.manifest.json";
inline constexpr size_t kMostManifestBytes = size_t{1} << 20;
inline constexpr size_t kMostManifestFiles = 1024;  // in all groups together

// The tier of small models for demonstrations and tests, for which rules about products do not hold; see
// check_rules().
inline constexpr std::string_view kDemoTier = "demo";

struct ManifestFile {
  std::string path;    // below the bundle's folder, with '/'; never out of it
  std::string sha256;  // 64 hexadecimal digits in lower case
  int64_t ctx = 0;     // tokens of context; 0: not said
};

struct FileGroup {
  std::string name;  // "text", "voice", "asr", …
  std::vector<ManifestFile> files;
};

struct Lineage {
  std::string component;  // "text", "drafter", …
  std::string base;       // what the model was made from
  std::string license;
};

struct VerifiedBackend {
  std::string backend;  // "cpu", …
  std::string status;   // "pass", "fail", "skipped"
  std::string at_commit, report;
};

struct Eval {
  std::string name;                                     // "textEval"
  std::vector<std::pair<std::string, double>> figures;  // "score"; what was not measured is left out
  std::optional<bool> has_passed;
};

struct Manifest {
  std::string id, tier, version, published_at;
  std::vector<Lineage> lineage;
  std::vector<FileGroup> files;  // those that are there, empty ones too
  std::vector<std::string> required_kernels, optional_kernels;
  std::vector<VerifiedBackend> backends;
  std::vector<Eval> evals;
  int64_t ram_min_mb = 0, ram_recommended_mb = 0;
  std::vector<std::string> voice_cache;  // voice.cache: paths of the preset and of the first phrases
  std::string release_channel;           // "recommended", "base-v1"; empty: not said
  bool has_provenance = false;
  bool is_default_eligible = false;

  // Null, or nothing, when there is none of that name.
  const FileGroup* find_group(std::string_view name) const;
  const std::vector<ManifestFile>& files_of(std::string_view name) const;
  const Lineage* find_lineage(std::string_view component) const;
  const Eval* find_eval(std::string_view name) const;
  // Of drafts: "dflash", or "mtp" as it was called later.
  const std::vector<ManifestFile>& drafter_files() const;
};

// Any text is accepted. Every field that is known must be of its kind and in its range, and the manifest must
// keep check_rules(); others are ignored. `name` stands for the file in errors.
Result<Manifest> parse_manifest(std::string_view name, std::string_view text);

// What fields promise each other.
Result<void> check_rules(std::string_view name, const Manifest& manifest);

// Whether a path stays in the folder that it is relative to, as far as its words go.
bool is_path_inside(std::string_view path);

// What make_manifest_text() is told beside the description.
struct ManifestHead {
  std::string id, tier, version, published_at;  // empty: as the description says
  std::vector<FileGroup> files;
};

// The text of a manifest: `description` is a JSON object with whatever is not in the head (lineage, evals,
// ramBudgetMb, …), which may be an older manifest. The same input gives the same bytes. The result has been
// parsed and is good; errors call it `name`.
Result<std::string> make_manifest_text(std::string_view name, const ManifestHead& head,
                                       std::string_view description_name, std::string_view description);

}  // namespace parlance
