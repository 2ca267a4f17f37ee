// What a file's content is called by hubs: its SHA-256, or the SHA-1 that git gives it. The arithmetic is
// nettle's.
#pragma once

#include <nettle/sha1.h>
#include <nettle/sha2.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

namespace parlance {

inline constexpr size_t kSha256Digits = 64;

class ContentDigest {
 public:
  enum class Kind : uint8_t { sha256, git };
  // git's covers how long the whole will be.
  ContentDigest(Kind kind, uint64_t n_bytes);

  void add(std::span<const std::byte> bytes);
  // In hexadecimal digits, in lower case. Nothing may be added any more.
  std::string finish();

 private:
  std::variant<sha256_ctx, sha1_ctx> state_;
};

}  // namespace parlance
