#include "base/os/file_stamp.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>

namespace parlance {

namespace {

// Clocks of file systems tick every few milliseconds, and some every other second.
constexpr int64_t kSettledNs = 3'000'000'000;

int64_t ns_of(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::optional<FileStamp> settled_stamp(const std::filesystem::path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const FileStamp stamp{.device = static_cast<uint64_t>(status.st_dev),
                        .inode = static_cast<uint64_t>(status.st_ino),
                        .n_bytes = static_cast<uint64_t>(status.st_size),
                        .written_ns = ns_of(status.st_mtim),
                        .changed_ns = ns_of(status.st_ctim)};
  const int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  const bool is_settled = std::max(stamp.written_ns, stamp.changed_ns) + kSettledNs < now_ns;
  return is_settled ? std::optional(stamp) : std::nullopt;
}

}  // namespace parlance
