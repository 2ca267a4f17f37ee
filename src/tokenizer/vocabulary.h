// The vocabulary of a GGUF file, checked: texts, kinds, scores and the tokens with a meaning of their own.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"
#include "tokenizer/string_table.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

enum class VocabularyModel : uint8_t { byte_level_bpe, sentencepiece };

// Tokens with a meaning. The names of the keys are in special_tokens.cpp.
enum class SpecialToken : uint8_t {
  bos,
  eos,
  end_of_turn,
  end_of_message,
  unknown,
  separator,
  padding,
  mask,
  fim_prefix,
  fim_suffix,
  fim_middle,
  fim_pad,
  fim_repository,
  fim_separator,
};
inline constexpr size_t kSpecialTokenCount = static_cast<size_t>(SpecialToken::fim_separator) + 1;

struct Vocabulary {
  GgufFile file;  // keeps what the texts view
  VocabularyModel model = VocabularyModel::byte_level_bpe;
  StringTable texts;             // token by text as stored; empty texts are never found
  std::vector<TokenKind> kinds;  // by token
  std::vector<float> scores;     // by token; sentencepiece only
  std::array<std::optional<Token>, kSpecialTokenCount> special;
  bool adds_bos = false;
  bool adds_eos = false;
  bool adds_space_prefix = false;
  std::vector<Token> end_of_generation;  // sorted

  int32_t n_tokens() const { return static_cast<int32_t>(kinds.size()); }
  bool has(Token token) const { return token >= 0 && token < n_tokens(); }
  std::string_view text(Token token) const { return texts[static_cast<uint32_t>(token)]; }
  TokenKind kind(Token token) const { return kinds[static_cast<size_t>(token)]; }
  std::optional<Token> operator[](SpecialToken which) const { return special[static_cast<size_t>(which)]; }
  std::optional<Token> find(std::string_view text) const {
    const int64_t token = texts.find(text);
    return token < 0 ? std::nullopt : std::optional(static_cast<Token>(token));
  }
};

// Texts, kinds, scores and flags. `adds_bos` is what holds unless the file says otherwise.
Result<Vocabulary> load_vocabulary(const GgufFile& file, VocabularyModel model, bool adds_bos);

// Finds the tokens with a meaning, by the ids that the file gives and otherwise by well-known texts, and
// makes control tokens of those that end generation. load_vocabulary() calls it last.
Result<void> find_special_tokens(Vocabulary& vocabulary);

// Makes control tokens of these texts, where they are tokens, and ordinary ones of all others.
void make_only_special(std::span<const std::string_view> texts, Vocabulary& vocabulary);

// "tokenizer.ggml." before a name.
std::string tokenizer_key(std::string_view name);

}  // namespace parlance
