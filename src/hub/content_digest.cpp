#include "hub/content_digest.h"

#include <fmt/core.h>

#include <array>

namespace parlance {

namespace {

template <size_t N>
std::string hexadecimal(const std::array<uint8_t, N>& digest) {
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

ContentDigest::ContentDigest(Kind kind, uint64_t n_bytes) {
  if (kind == Kind::sha256) {
    sha256_init(&state_.emplace<sha256_ctx>());
    return;
  }
  sha1_init(&state_.emplace<sha1_ctx>());
  const std::string head = fmt::format("blob {}", n_bytes);
  add(std::as_bytes(std::span(head.c_str(), head.size() + 1)));  // with the zero behind it
}

void ContentDigest::add(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (auto* state = std::get_if<sha256_ctx>(&state_)) {
    sha256_update(state, bytes.size(), data);
  } else {
    sha1_update(&std::get<sha1_ctx>(state_), bytes.size(), data);
  }
}

std::string ContentDigest::finish() {
  if (auto* state = std::get_if<sha256_ctx>(&state_)) {
    std::array<uint8_t, SHA256_DIGEST_SIZE> digest;
    sha256_digest(state, digest.size(), digest.data());
    return hexadecimal(digest);
  }
  std::array<uint8_t, SHA1_DIGEST_SIZE> digest;
  sha1_digest(&std::get<sha1_ctx>(state_), digest.size(), digest.data());
  return hexadecimal(digest);
}

}  // namespace parlance
