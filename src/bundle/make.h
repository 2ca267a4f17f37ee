// Writes the manifest of a folder.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace parlance {

// Empty: as the description says.
struct MakeOptions {
  std::string id, tier, version, published_at;
  // JSON with what files do not say: lineage, kernels, evals, ramBudgetMb, …. Empty: the folder's present
  // manifest.
  std::filesystem::path description;
};

// The text of a manifest of the folder's files as they are. The same files and options give the same bytes.
// Errors name the file or field that is missing or wrong.
Result<std::string> make_manifest(const std::filesystem::path& folder, const MakeOptions& options);

}  // namespace parlance
