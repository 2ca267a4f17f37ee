// What servers ask the system: the machine's name, how many files may be open, who may read a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace parlance {

// As other machines may call it; empty where it has none.
std::string machine_name();

// Allows this process as many open files and sockets as the system lets it have, and says how many those are;
// 0: unknown.
size_t raise_open_files();

// Whether anybody but the owner may read or write a file.
bool is_open_to_others(const std::filesystem::path& path);

}  // namespace parlance
