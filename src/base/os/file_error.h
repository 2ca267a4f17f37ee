// What is common to files of every kind: what is said when the system refuses, and names that last.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace parlance {

// "cannot write FILE: No space left on device; free some disk space and try again": of an action and an
// errno. not_found where there is no such file, else io.
tl::unexpected<Error> file_error(std::string_view action, const std::filesystem::path& path, int error);

// Makes a rename in the folder of `path` last through a power cut. Where folders cannot be synchronised it
// stays as it is: the file is whole under its old or its new name in any case.
void sync_folder(const std::filesystem::path& path);

}  // namespace parlance
