// Files: read-only mappings and writes that appear whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace parlance {

// A read-only mapping of a whole regular file. Its size is fixed when it is opened; a file that another
// program shortens afterwards is noticed by still_whole(), which loaders ask before they point into it.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }
  bool still_whole() const;

  // Advises the kernel that the range will be read soon, so that reading ahead overlaps with other work.
  void prefetch() const;

 private:
  MappedFile() = default;

  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;
};

// A regular file that is read piece by piece, into memory of the caller's. One that another program shortens
// meanwhile is an error of the next piece, where a mapping would end the process.
class ReadableFile {
 public:
  static Result<ReadableFile> open(const std::filesystem::path& path);

  ReadableFile(ReadableFile&& other) noexcept;
  ReadableFile& operator=(ReadableFile&& other) noexcept;
  ~ReadableFile();

  const std::filesystem::path& path() const { return path_; }
  size_t size() const { return size_; }  // when it was opened

  // Fills `bytes` with what lies from `offset` on. Errors: io; corrupt_file when the file ends before.
  Result<void> read(size_t offset, std::span<std::byte> bytes) const;

  // Advises the system that all of it will be read soon.
  void prefetch() const;

 private:
  ReadableFile() = default;

  std::filesystem::path path_;
  size_t size_ = 0;
  int fd_ = -1;
};

// Writes to a temporary file beside `path` (named `path`.<process>-<n>.part) and renames it over `path` in
// commit(), when its bytes are on the disk. Without a commit, or after a failed write (a full disk), the
// temporary file is removed and `path` is as it was. A write or commit after a failure fails again.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(const std::string& text);
  Result<void> commit();
  size_t bytes_written() const { return written_; }

 private:
  AtomicFile() = default;
  void discard();
  tl::unexpected<Error> closed() const;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int fd_ = -1;
  size_t written_ = 0;
};

// As long as it lives, files that are made are for nobody but this user. Holds for the whole process.
class PrivateFiles {
 public:
  PrivateFiles();
  ~PrivateFiles();
  PrivateFiles(const PrivateFiles&) = delete;
  PrivateFiles& operator=(const PrivateFiles&) = delete;

 private:
  unsigned mask_;
};

// The whole of a small text file, with a limit so that a wrong path cannot fill memory.
Result<std::string> read_text_file(const std::filesystem::path& path, size_t limit_bytes);

}  // namespace parlance
