// What programs ask the system: the machine's name, how many files may be open, who may read a file, which
// registers may be used.
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

// Has the system let all threads of this process use AMX's tile registers, which it saves for those only that
// asked; false: it does not, whatever the processor has.
bool allow_tile_registers();

}  // namespace parlance
