// What tells that a file has not changed: which one it is, its size, and when it was last touched.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace parlance {

struct FileStamp {
  uint64_t device = 0, inode = 0, n_bytes = 0;
  int64_t written_ns = 0, changed_ns = 0;  // content, and anything at all; since 1970

  auto operator<=>(const FileStamp&) const = default;
};

// None when there is no such file, and when it was changed so lately that another change might leave the same
// stamp.
std::optional<FileStamp> settled_stamp(const std::filesystem::path& path);

}  // namespace parlance
