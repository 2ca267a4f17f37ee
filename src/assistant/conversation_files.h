// Conversations that were put away: what their files are called, how long they are worth keeping, and which
// have outlived that. Knows names and times; what is in a file is the engine's (engine/known_text.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"

namespace parlance {

// How long what was computed for a conversation is worth keeping: 5 minutes, an hour, a day.
enum class Lifetime : uint8_t { brief, lasting, extended };

std::string_view name_of(Lifetime lifetime);  // "short", "long", "extended": what clients and file names say
std::optional<Lifetime> lifetime_from_name(std::string_view name);
std::chrono::milliseconds horizon_of(Lifetime lifetime);

// The name of a conversation's file without its ending: the id itself where that is a plain name, else "x"
// and 32 digits of its SHA-256. No id leads out of the folder, and no two to one file.
std::string conversation_stem(std::string_view id);
// Of a conversation that is one client's alone, where there are several.
std::string conversation_stem(std::string_view owner, std::string_view id);

// "kitchen.long.bin"
std::string kept_file_name(std::string_view stem, Lifetime lifetime);
// What the name of a file says, "kitchen.long.bin" or "kitchen.long"; none where it says nothing, which
// counts as an hour.
std::optional<Lifetime> lifetime_of_file(std::string_view name);

// What a model's folder is named after: files of other weights or formats are of no use, and lie elsewhere.
struct ModelFolder {
  std::string model, drafter, k_format, v_format, extra;
};
std::string folder_name(const ModelFolder& folder);  // 16 digits

// A file's name as a client of llama.cpp's server gives it, "kitchen.long.bin" or "kitchen". Errors: whatever
// could lead elsewhere.
Result<void> check_file_name(std::string_view name);

struct KeptFile {
  std::filesystem::path path;
  uint64_t n_bytes = 0;
  std::filesystem::file_time_type written;
  std::chrono::milliseconds age{0};  // never below 0
};

// The files of a folder that have a conversation's name, in order of their names; none where there is no
// folder.
std::vector<KeptFile> kept_files(const std::filesystem::path& folder, std::filesystem::file_time_type now);

// The youngest file of a conversation, of whatever lifetime.
std::optional<KeptFile> find_kept(const std::filesystem::path& folder, std::string_view stem,
                                  std::filesystem::file_time_type now);
// What check_file_name() let through: that file, or without an ending the youngest of its name.
std::optional<KeptFile> find_named(const std::filesystem::path& folder, std::string_view name,
                                   std::filesystem::file_time_type now);
// Removes the files of a conversation but one (an empty path: all); how many there were.
size_t remove_kept(const std::filesystem::path& folder, std::string_view stem,
                   const std::filesystem::path& but = {});

struct Sweep {
  size_t n_removed = 0;
  size_t n_foreign = 0;  // that are no conversation's, and were left
};
// Removes what is older than its horizon, and what a program that died left half written an hour ago. What
// cannot be removed is passed over. `is_ours` is asked of a file before it goes: others have files of such
// names, too, where the folder is not ours alone.
using IsOurs = FunctionRef<bool(const std::filesystem::path&)>;
Sweep sweep_kept(const std::filesystem::path& folder, std::filesystem::file_time_type now, IsOurs is_ours);

}  // namespace parlance
