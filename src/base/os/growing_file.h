// A file that is written in several goes, such as a download that may be cut short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace parlance {

// What was appended stays whatever happens, and the next one who opens it goes on behind it.
class GrowingFile {
 public:
  // Makes the file, and the folders to it, where there are none. Errors: file_error(); invalid_argument where
  // it is no regular file.
  static Result<GrowingFile> open(const std::filesystem::path& path);

  GrowingFile(GrowingFile&& other) noexcept;
  GrowingFile& operator=(GrowingFile&& other) noexcept;
  ~GrowingFile();

  const std::filesystem::path& path() const { return path_; }
  uint64_t size() const { return size_; }

  Result<void> append(std::span<const std::byte> bytes);
  // Throws away what there is.
  Result<void> clear();
  // Gives the file, whose bytes are on the disk by then, its name, in place of one that has it.
  Result<void> rename_to(const std::filesystem::path& path);

 private:
  GrowingFile() = default;

  std::filesystem::path path_;
  uint64_t size_ = 0;
  int fd_ = -1;
};

}  // namespace parlance
