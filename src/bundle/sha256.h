// SHA-256, which names the content of a file. The arithmetic is nettle's: it is small (0.3 MB), needs no
// other library, and uses the processor's own instructions for it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace parlance {

// As 64 hexadecimal digits in lower case.
std::string sha256(std::span<const std::byte> bytes);

struct FileDigest {
  std::string sha256;
  size_t n_bytes = 0;
};

Result<FileDigest> digest_of_file(const std::filesystem::path& path);

// Of several files, by as many threads as pay; in the same order.
std::vector<Result<FileDigest>> digests_of_files(std::span<const std::filesystem::path> paths);

}  // namespace parlance
