#include "support/fixtures.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace parlance::test {

namespace fs = std::filesystem;

fs::path fixtures_root() {
  if (const char* root = std::getenv("PARLANCE_FIXTURES"); root && *root) return root;
  return PARLANCE_DEFAULT_FIXTURES;
}

fs::path source_root() {
  return PARLANCE_SOURCE_DIR;
}

std::vector<fs::path> fixture_files(const std::string& folder, const std::string& suffix) {
  std::vector<fs::path> files;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(fixtures_root() / folder, ec)) {
    if (entry.path().string().ends_with(suffix)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string from_hex(const std::string& digits) {
  EXPECT_EQ(digits.size() % 2, 0u);
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

}  // namespace parlance::test
