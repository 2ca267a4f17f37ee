#include "bundle/sha256.h"

#include <nettle/sha2.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "base/os/file.h"
#include "base/os/thread.h"

namespace parlance {

namespace {

class Hasher {
 public:
  Hasher() { sha256_init(&state_); }
  void add(std::span<const std::byte> bytes) {
    sha256_update(&state_, bytes.size(), reinterpret_cast<const uint8_t*>(bytes.data()));
  }
  std::string finish() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<uint8_t, SHA256_DIGEST_SIZE> digest;
    sha256_digest(&state_, digest.size(), digest.data());
    std::string text;
    for (const uint8_t byte : digest) text.append({kDigits[byte >> 4], kDigits[byte & 15]});
    return text;
  }

 private:
  sha256_ctx state_;
};

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.add(bytes);
  return hasher.finish();
}

// Read piece by piece: mapping the file costs as much again as the arithmetic, in page faults.
Result<FileDigest> digest_of_file(const std::filesystem::path& path) {
  constexpr size_t kPieceBytes = size_t{1} << 17;  // stays in the processor's cache
  PARLANCE_TRY(const ReadableFile file, ReadableFile::open(path));
  Hasher hasher;
  std::vector<std::byte> buffer(std::min(kPieceBytes, file.size()));
  for (size_t at = 0; at < file.size(); at += buffer.size()) {
    const std::span<std::byte> piece = std::span(buffer).first(std::min(buffer.size(), file.size() - at));
    PARLANCE_CHECK(file.read(at, piece));
    hasher.add(piece);
  }
  return FileDigest{.sha256 = hasher.finish(), .n_bytes = file.size()};
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
