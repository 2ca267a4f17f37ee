#include "tokenizer/sentencepiece.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "tokenizer/pair_merger.h"

namespace parlance {

namespace {

// Bytes of the character that a lead byte announces; continuation bytes count as characters of their own.
uint32_t character_bytes(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// Costs that order as the scores do, the highest first; zeros of either sign are equal.
uint32_t cost_of_score(float score) {
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);
  const uint32_t ascending = bits & 0x80000000 ? ~bits : bits | 0x80000000;
  return ~ascending;
}

}  // namespace

SentencePiece::SentencePiece(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    std::optional<Token> token = vocabulary.find(fmt::format("<0x{:02X}>", byte));
    if (!token) {
      const char raw = static_cast<char>(byte);
      token = vocabulary.find({&raw, 1});
    }
    byte_tokens_[byte] = token ? token : vocabulary[SpecialToken::unknown];
  }
  for (Token token = 0; token < vocabulary.n_tokens(); ++token) {
    n_longest_ = std::max(n_longest_, vocabulary.text(token).size());
  }
}

void SentencePiece::encode(std::string_view text, bool at_start, std::vector<Token>& tokens) const {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 2);
  if (at_start && vocabulary_->adds_space_prefix) escaped = kSentencePieceSpace;
  for (const char c : text) {
    if (c == ' ') {
      escaped += kSentencePieceSpace;
    } else {
      escaped.push_back(c);
    }
  }
  const std::string_view view = escaped;

  std::vector<Symbol> symbols;
  for (size_t at = 0; at < view.size();) {
    const size_t n_bytes = std::min<size_t>(character_bytes(view[at]), view.size() - at);
    const auto token = static_cast<Token>(vocabulary_->texts.find(view.substr(at, n_bytes)));
    symbols.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(n_bytes), token});
    at += n_bytes;
  }
  PairMerger merger;
  merger.run(symbols, [&](uint32_t start, uint32_t n_left, uint32_t n_right) -> Merge {
    if (n_left + n_right > n_longest_) return {};
    const auto token = static_cast<Token>(vocabulary_->texts.find(view.substr(start, n_left + n_right)));
    if (token < 0) return {};
    return {cost_of_score(vocabulary_->scores[static_cast<size_t>(token)]), token};
  });

  for (const Symbol& symbol : symbols) {
    if (symbol.id >= 0) {
      tokens.push_back(symbol.id);
      continue;
    }
    for (const char c : view.substr(symbol.start, symbol.n_bytes)) {
      if (const std::optional<Token> token = byte_tokens_[static_cast<uint8_t>(c)]) tokens.push_back(*token);
    }
  }
}

}  // namespace parlance
