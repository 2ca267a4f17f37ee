#include "kv/prefix_key.h"

#define XXH_INLINE_ALL  // compiled in: one library less to find at run time
#include <xxhash.h>

#include <algorithm>
#include <cassert>

namespace parlance {

ContentHash content_hash(std::span<const std::byte> bytes, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.high64, hash.low64};
}

int64_t count_content(std::span<const int32_t> tokens) {
  return std::ranges::count_if(tokens, is_content_token);
}

PrefixKey PrefixKey::first(int64_t n) const {
  const auto some = tokens.first(static_cast<size_t>(n));
  return {some, content.empty() ? content : content.first(static_cast<size_t>(count_content(some))), space};
}

PrefixKey PrefixKey::from(int64_t first) const {
  const auto n = static_cast<size_t>(first);
  const size_t n_content = content.empty() ? 0 : static_cast<size_t>(count_content(tokens.first(n)));
  return {tokens.subspan(n), content.subspan(n_content), space};
}

int64_t common_beginning(const PrefixKey& a, const PrefixKey& b) {
  assert(count_content(a.tokens) == std::ssize(a.content) &&
         count_content(b.tokens) == std::ssize(b.content));
  if (a.space != b.space) return 0;
  const auto n_equal = std::ranges::mismatch(a.tokens, b.tokens).in1 - a.tokens.begin();
  if (a.content.empty() || b.content.empty()) return n_equal;
  size_t n_content = 0;
  for (int64_t i = 0; i < n_equal; ++i) {
    if (!is_content_token(a.tokens[static_cast<size_t>(i)])) continue;
    if (a.content[n_content] != b.content[n_content]) return i;
    n_content += 1;
  }
  return n_equal;
}

}  // namespace parlance
