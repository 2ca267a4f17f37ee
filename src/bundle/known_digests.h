// Digests of large files are computed once: a file that has the stamp that it had then is not read again.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/os/file_stamp.h"
#include "base/result.h"
#include "bundle/sha256.h"

namespace parlance {

// From any thread.
class KnownDigests {
 public:
  using StampOf = std::optional<FileStamp> (*)(const std::filesystem::path& path);
  explicit KnownDigests(StampOf stamp_of = settled_stamp) : stamp_of_(stamp_of) {}

  // As digests_of_files(), for those that changed since they were last asked for.
  std::vector<Result<FileDigest>> of(std::span<const std::filesystem::path> paths);

  size_t n_computed() const;  // by all calls

 private:
  const StampOf stamp_of_;
  mutable std::mutex mutex_;
  std::map<FileStamp, FileDigest> digests_;
  size_t n_computed_ = 0;
};

}  // namespace parlance
