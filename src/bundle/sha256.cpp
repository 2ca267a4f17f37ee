#include "bundle/sha256.h"

#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "base/file.h"
#include "base/thread_pool.h"

namespace parlance {

std::string sha256(std::span<const std::byte> bytes) {
  sha256_ctx state;
  sha256_init(&state);
  sha256_update(&state, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_digest(&state, digest.size(), digest.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) text.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return text;
}

Result<FileDigest> digest_of_file(const std::filesystem::path& path) {
  PARLANCE_TRY(const MappedFile file, MappedFile::open(path));
  file.prefetch();
  return FileDigest{sha256(file.bytes()), file.bytes().size()};
}

std::vector<Result<FileDigest>> digests_of_files(std::span<const std::filesystem::path> paths) {
  constexpr size_t kMostThreads = 4;  // more do not read a disk faster
  std::vector<std::optional<Result<FileDigest>>> digests(paths.size());
  // The largest first, so that no thread is left alone with it at the end.
  std::vector<std::pair<uintmax_t, size_t>> order;
  for (size_t i = 0; i < paths.size(); ++i) {
    std::error_code ec;
    const uintmax_t n_bytes = std::filesystem::file_size(paths[i], ec);
    order.emplace_back(ec ? 0 : n_bytes, i);
  }
  std::ranges::sort(order, std::greater());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t n = next++; n < order.size(); n = next++) {
      const size_t i = order[n].second;
      digests[i] = digest_of_file(paths[i]);
    }
  };
  const size_t n_threads = std::min({kMostThreads, paths.size(), usable_processors().size()});
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < n_threads; ++i) threads.emplace_back(work);
    work();
  }
  std::vector<Result<FileDigest>> results;
  for (auto& digest : digests) results.push_back(*std::move(digest));
  return results;
}

}  // namespace parlance
