// Which tokens may come next, for texts that follow a grammar.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/recogniser.h"
#include "grammar/token_trie.h"

namespace parlance {

// One bit for each token of a vocabulary.
class TokenMask {
 public:
  explicit TokenMask(int32_t n_vocab) : bits_((static_cast<size_t>(n_vocab) + 63) / 64) {}

  void allow(Token token) { bits_[static_cast<size_t>(token) / 64] |= uint64_t{1} << token % 64; }
  void allow(const TokenMask& other) {
    for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
  }
  bool allows(Token token) const {
    return token >= 0 && static_cast<size_t>(token) / 64 < bits_.size() &&
           (bits_[static_cast<size_t>(token) / 64] >> token % 64 & 1) != 0;
  }
  int64_t n_allowed() const;
  std::span<const uint64_t> bits() const { return bits_; }  // token t is bit t % 64 of number t / 64

 private:
  std::vector<uint64_t> bits_;
};

class GrammarState;

// A grammar over a vocabulary. What is found out for one text is remembered for others, in bounded memory.
// Any number of threads may follow it.
class TokenMasks : public std::enable_shared_from_this<TokenMasks> {
 public:
  // Error: the grammar names a token that the vocabulary does not have.
  static Result<std::shared_ptr<TokenMasks>> make(std::shared_ptr<const Grammar> grammar,
                                                  std::shared_ptr<const TokenTrie> trie);

  // Before the first token.
  GrammarState begin();

  // Memory of what is remembered, at this moment.
  size_t bytes() const;

 private:
  friend class GrammarState;

  // What may follow inside one rule, whoever called it. Most of a mask depends on nothing else: of a JSON
  // string, all but the tokens behind its closing quotation mark.
  struct RuleMask {
    TokenMask inside;
    std::vector<uint32_t> ends;  // nodes of the trie at which the rule's text may have ended
    size_t n_behind = 0;         // nodes below these
  };
  // What has been found out. When it has grown too large a new one takes its place; texts that are in the
  // middle bring their states along.
  struct Table {
    explicit Table(std::shared_ptr<const Grammar> grammar) : recogniser(std::move(grammar)) {}
    size_t bytes() const { return recogniser.bytes() + mask_bytes; }

    Recogniser recogniser;
    std::unordered_map<RecogniserState, std::shared_ptr<const TokenMask>> masks;
    std::unordered_map<Grammar::State, RuleMask> rule_masks;
    size_t mask_bytes = 0;
    uint64_t work_limit = 0;  // of the mask that is being found, in the recogniser's units
  };

  TokenMasks(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie)
      : grammar_(std::move(grammar)), trie_(std::move(trie)) {}

  void renew(GrammarState& state, size_t most_bytes);
  Result<std::shared_ptr<const TokenMask>> mask(GrammarState& state);
  std::shared_ptr<const TokenMask> find_mask(Table& table, RecogniserState state) const;
  bool add_text(Table& table, RecogniserState state, TokenMask& mask) const;
  bool add_way(Table& table, const Recogniser::Way& way, TokenMask& mask) const;
  const RuleMask* rule_mask(Table& table, Grammar::State at) const;
  void add_tokens(Table& table, RecogniserState state, TokenMask& mask) const;
  template <class Visit>
  bool walk(Table& table, RecogniserState from, uint32_t begin, uint32_t end, Visit visit) const;
  RecogniserState step(Recogniser& recogniser, RecogniserState state, Token token) const;
  void allow_at(uint32_t node, TokenMask& mask) const {
    for (const Token token : trie_->tokens_at(node)) mask.allow(token);
  }

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> trie_;
  std::vector<Token> terminals_;  // by index in the grammar
  mutable std::mutex mutex_;      // of what follows, and of all tables
  std::shared_ptr<Table> table_;
};

// How far a text has come. A copy goes on by itself, and costs a few machine words: that is how a draft is
// followed, and how a state is kept to come back to.
class GrammarState {
 public:
  // The tokens that may come next; those that end generation, where the text may end. Where none may, the
  // mask is empty. Error: too_complex, the grammar can be read in so many ways that finding out takes too
  // long.
  Result<std::shared_ptr<const TokenMask>> allowed();
  // Goes on by a token of the text. False, and nothing has changed, when that may not come here.
  bool advance(Token token);

  bool may_end() const { return may_end_; }                  // the text is complete
  bool must_end() const { return may_end_ && !can_go_on_; }  // and nothing may follow

 private:
  friend class TokenMasks;
  GrammarState() = default;
  void move_to(RecogniserState at);

  std::shared_ptr<TokenMasks> masks_;
  std::shared_ptr<TokenMasks::Table> table_;
  RecogniserState at_ = Recogniser::kDead;
  bool may_end_ = false, can_go_on_ = false;
};

}  // namespace parlance
