// A file that one process at a time may have, so that programs do not do the same work twice.
#pragma once

#include <filesystem>
#include <optional>

#include "base/result.h"

namespace parlance {

// Held as long as it lives; the system lets go of it when the process ends, however that may be. The file
// itself stays: were it removed, two processes could hold locks on two files of one name.
class FileLock {
 public:
  // Nothing while somebody else, in this process or another, has it. Folders that are missing are made.
  static Result<std::optional<FileLock>> try_lock(const std::filesystem::path& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace parlance
