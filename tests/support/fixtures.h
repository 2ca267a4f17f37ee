// Where tests find recorded numbers, and how they skip when these are absent.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace parlance::test {

// Root of the fixtures: the environment variable PARLANCE_FIXTURES, else the default beside the source tree.
std::filesystem::path fixtures_root();

// The project's source folder (for files that travel with it, such as models/demo).
std::filesystem::path source_root();

// Files directly below root/folder whose name ends with `suffix`, sorted; empty when the folder is absent.
std::vector<std::filesystem::path> fixture_files(const std::string& folder, const std::string& suffix);

// The whole file; a missing or unreadable one fails the running test (JSON: support/json_file.h).
std::string read_text(const std::filesystem::path& path);

// Bytes from an even number of hexadecimal digits.
std::string from_hex(const std::string& digits);

}  // namespace parlance::test

// Skips the running test, saying so, when the fixtures are not on this machine.
#define PARLANCE_REQUIRE_FIXTURES(folder)                                                               \
  if (!std::filesystem::exists(::parlance::test::fixtures_root() / (folder)))                           \
  GTEST_SKIP() << "fixtures " << (::parlance::test::fixtures_root() / (folder)).string() << " absent; " \
               << "set PARLANCE_FIXTURES to their root to run this test"
