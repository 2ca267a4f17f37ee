// A folder of its own for the files that a test writes.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "gtest/gtest.h"

namespace parlance::test {

// Created empty, with a name that no other test or run has; removed with its content.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> n_made = 0;
    path_ = std::filesystem::path(testing::TempDir()) /
            ("parlance_test_" + std::to_string(getpid()) + "_" + std::to_string(n_made++));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace parlance::test
