// What the process was started with: environment variables, and the file that it is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace parlance {

// The value of a variable; none when it is not set or empty.
std::optional<std::string> environment(const char* name);

// The folder that the program's file is in; empty where the system does not say.
std::filesystem::path program_folder();

// Of a path, from the root on, without ".", ".." and a slash at the end. As given, where there is no current
// folder.
std::filesystem::path absolute_path(const std::filesystem::path& path);

}  // namespace parlance
