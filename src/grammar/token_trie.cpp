#include "grammar/token_trie.h"

#include <algorithm>
#include <string_view>

namespace parlance {

namespace {

// Longer tokens are left out; vocabularies end at a few hundred bytes.
constexpr size_t kMostTokenBytes = 1024;

size_t n_common(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

bool TokenTrie::is_text(Token token) const {
  const TokenKind kind = tokenizer_.kind(token);
  const size_t n_bytes = tokenizer_.piece(token).size();
  return (kind == TokenKind::normal || kind == TokenKind::byte) && n_bytes > 0 &&
         n_bytes <= kMostTokenBytes && !tokenizer_.is_end_of_generation(token);
}

TokenTrie::TokenTrie(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
  struct Text {
    std::string_view bytes;
    Token token;
  };
  std::vector<Text> texts;
  for (Token token = 0; token < tokenizer.n_vocab(); ++token) {
    if (is_text(token)) texts.push_back({tokenizer.piece(token), token});
  }
  std::ranges::sort(texts, [](const Text& a, const Text& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.token < b.token;
  });
  std::vector<uint32_t> path;  // nodes of the text before, by depth - 1
  std::string_view before;
  for (const auto& [bytes, token] : texts) {
    const size_t n_shared = n_common(before, bytes);
    for (size_t depth = path.size(); depth > n_shared; --depth)
      nodes_[path[depth - 1]].end = static_cast<uint32_t>(nodes_.size());
    path.resize(n_shared);
    for (size_t i = n_shared; i < bytes.size(); ++i) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      token_begins_.push_back(static_cast<uint32_t>(tokens_.size()));
      nodes_.push_back({0, static_cast<uint16_t>(i + 1), static_cast<uint8_t>(bytes[i])});
    }
    tokens_.push_back(token);
    longest_ = std::max(longest_, static_cast<uint32_t>(bytes.size()));
    before = bytes;
  }
  for (const uint32_t node : path) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
  token_begins_.push_back(static_cast<uint32_t>(tokens_.size()));
}

size_t TokenTrie::bytes() const {
  return nodes_.size() * sizeof(Node) + token_begins_.size() * sizeof(uint32_t) +
         tokens_.size() * sizeof(Token);
}

}  // namespace parlance
