// What a text is known by: its tokens, and the content of what stands between them. A row of embeddings (of a
// sound, of a picture) takes the place of a token and has none; its place is held by a content token, a
// number made of a hash of what the row was made from. Numbers of 31 bits are too few to tell all contents
// apart, so whoever compares texts compares the whole hashes too.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace parlance {

// 128 bits: two contents of the same hash are taken for equal.
struct ContentHash {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const ContentHash&) const = default;
};

// Of a row's values, or of whatever determines them. Contents that may be mistaken for each other though the
// bytes agree, such as rows of pictures of other widths, take other seeds. Not made to withstand someone who
// searches for two contents of one hash: where that matters, give a cryptographic hash's first 128 bits.
ContentHash content_hash(std::span<const std::byte> bytes, uint64_t seed = 0);

// Tokens from 0 on are those of a vocabulary; above the last content token are the engine's marks for what
// cannot be told apart.
inline constexpr int32_t kLastContentToken = -16;
constexpr bool is_content_token(int32_t token) {
  return token <= kLastContentToken;
}

// The token that holds the place of a row.
constexpr int32_t content_token(const ContentHash& hash) {
  const auto token = static_cast<int32_t>(static_cast<uint32_t>(hash.low) | 0x80000000u);
  return is_content_token(token) ? token : token + kLastContentToken;
}

struct PrefixKey {
  std::span<const int32_t> tokens;
  std::span<const ContentHash> content;  // of its content tokens, in order
  ContentHash space = {};                // texts of different ones have nothing in common

  PrefixKey() = default;
  PrefixKey(std::span<const int32_t> of_tokens, std::span<const ContentHash> of_content,
            const ContentHash& of_space = {})
      : tokens(of_tokens), content(of_content), space(of_space) {}
  // A text without content tokens.
  template <class Tokens>
  requires std::convertible_to<const Tokens&, std::span<const int32_t>> PrefixKey(
      const Tokens& of_tokens)  // NOLINT: implicit, since texts are mostly tokens
      : tokens(of_tokens) {}

  int64_t n_tokens() const { return std::ssize(tokens); }
  PrefixKey first(int64_t n) const;
  PrefixKey from(int64_t first) const;  // what follows the first ones
};

// How many of the tokens are content tokens.
int64_t count_content(std::span<const int32_t> tokens);

// How many tokens two texts of one space begin with in common; of different spaces, none.
int64_t common_beginning(const PrefixKey& a, const PrefixKey& b);

}  // namespace parlance
