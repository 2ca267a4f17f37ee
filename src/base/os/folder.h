// Which files there are.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"

namespace parlance {

// What is in a folder and is no folder itself, or also in the folders below it, in order of their paths.
// Folders below that may not be read are passed over. Errors: there is no such folder, or it cannot be read.
Result<std::vector<std::filesystem::path>> files_in(const std::filesystem::path& folder);
Result<std::vector<std::filesystem::path>> files_below(const std::filesystem::path& folder);

// Whether a name is that of a folder, or of a file that has bytes (which links may lead to).
bool is_folder(const std::filesystem::path& path);
bool is_file(const std::filesystem::path& path);

}  // namespace parlance
