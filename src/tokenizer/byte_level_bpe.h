// Byte-level byte-pair encoding ("gpt2" in GGUF files): text is cut into pre-tokens, each byte becomes a
// character of the byte alphabet, and adjacent symbols merge in the order of the list that training left
// (Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units").
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace parlance {

class ByteLevelBpe {
 public:
  // Reads the merges of the vocabulary's file. The vocabulary outlives this.
  static Result<ByteLevelBpe> load(const Vocabulary& vocabulary, const PreTokenizer& pre);

  // Appends the tokens of text that has no special tokens in it.
  void encode(std::string_view text, std::vector<Token>& tokens) const;

 private:
  // A merge is found by the string that it makes, for which the vocabulary has a table, and by where that
  // string is cut: no table of pairs is needed, and merges are loaded without looking up their halves.
  struct Rule {
    uint32_t rank = Merge::kNever;
    uint32_t n_left = 0;  // bytes of the left half
    int32_t other = -1;   // in other_rules_: the same string cut elsewhere
  };

  // What encoding one text needs, kept from word to word.
  struct Scratch {
    std::string characters;  // of the word, in the byte alphabet
    std::vector<Symbol> symbols;
    PairMerger merger;
  };

  ByteLevelBpe(const Vocabulary& vocabulary, const PreTokenizer& pre)
      : vocabulary_(&vocabulary), pre_(&pre) {}
  void load_merges(GgufStringArray merges);
  int32_t find_or_add_symbol(std::string_view left, std::string_view right, std::string& buffer);
  void add_rule(int32_t symbol, Rule rule);
  Merge find_merge(std::string_view merged, uint32_t n_left) const;
  void encode_word(std::string_view word, Scratch& scratch, std::vector<Token>& tokens) const;
  void emit(const Symbol& symbol, std::string_view characters, std::vector<Token>& tokens) const;

  const Vocabulary* vocabulary_;
  const PreTokenizer* pre_;
  std::array<std::optional<Token>, 256> byte_tokens_;
  // Symbols are the tokens and, numbered after them, strings that merges make and that are no tokens.
  std::vector<Rule> rules_;  // by symbol
  std::vector<Rule> other_rules_;
  std::deque<std::string> extra_strings_;
  StringTable extra_;     // numbers of extra_strings_
  size_t n_longest_ = 0;  // bytes of the longest string that a merge makes
};

}  // namespace parlance
