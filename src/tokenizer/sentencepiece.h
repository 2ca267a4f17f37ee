// SentencePiece tokenisation as Llama 2 and Gemma use it ("llama" in GGUF files): characters merge as long as
// two neighbours together are a token, the pair of the highest score first; characters that are no token are
// written as byte tokens (Kudo and Richardson 2018, "SentencePiece").
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace parlance {

// U+2581, which stands for a space in the vocabulary.
inline constexpr std::string_view kSentencePieceSpace = "\xE2\x96\x81";

class SentencePiece {
 public:
  // The vocabulary outlives this.
  explicit SentencePiece(const Vocabulary& vocabulary);

  // Appends the tokens of text that has no special tokens in it. At the beginning of the whole text and after
  // a special token (`at_start`), a space is put before it if the vocabulary wants that.
  void encode(std::string_view text, bool at_start, std::vector<Token>& tokens) const;

 private:
  const Vocabulary* vocabulary_;
  std::array<std::optional<Token>, 256> byte_tokens_;
  size_t n_longest_ = 0;  // bytes of the longest token
};

}  // namespace parlance
