// Finds the special tokens that are written out in a text, as chat templates write them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "tokenizer/vocabulary.h"

namespace parlance {

class SpecialSplitter {
 public:
  // Takes the control, unknown and user-defined tokens of the vocabulary, which outlives this.
  explicit SpecialSplitter(const Vocabulary& vocabulary);

  // Calls `take` with the parts of the text in order: a special token, or ordinary text (token -1), never
  // empty. Where tokens overlap the longest wins, then the leftmost. User-defined tokens are always found,
  // control and unknown tokens only with `parse_special`. Positions where no special token begins cost one
  // table look-up.
  void split(std::string_view text, bool parse_special,
             FunctionRef<void(Token token, std::string_view part)> take) const;

 private:
  // Tokens in the order of their texts.
  class Dictionary {
   public:
    Dictionary(const Vocabulary& vocabulary, std::vector<Token> tokens);
    // The longest token, of at most n_most bytes, that the text begins with; -1: none.
    Token longest_prefix(std::string_view text, size_t n_most) const;
    std::string_view text(Token token) const { return vocabulary_->text(token); }

   private:
    const Vocabulary* vocabulary_;
    std::vector<Token> tokens_;
    std::array<uint32_t, 257> first_;  // tokens whose text begins with byte b are first_[b] to first_[b + 1]
  };

  struct Occurrence {
    Token token;
    size_t start, n_bytes;
  };
  static std::vector<Occurrence> find_occurrences(const Dictionary& dictionary, std::string_view text);
  static std::vector<Occurrence> without_overlaps(const Dictionary& dictionary, std::string_view text,
                                                  std::vector<Occurrence> occurrences);

  Dictionary user_defined_;
  Dictionary all_;
};

}  // namespace parlance
