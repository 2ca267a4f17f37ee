// What a sequence of a context holds, as programs of llama.cpp see it: tokens at positions, which may be
// removed, copied and moved. The engine computes texts without gaps; where there is one, what stands behind
// it waits until it is closed.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "capi/llama/abi.h"
#include "engine/sequence.h"

namespace parlance::capi {

// Positions [begin, end).
struct PosRange {
  llama_pos begin = 0, end = INT32_MAX;
  // As programs give them: below 0 is from the start on, and up to the end.
  static PosRange of(llama_pos p0, llama_pos p1) { return {p0 < 0 ? 0 : p0, p1 < 0 ? INT32_MAX : p1}; }
};

// Tokens at consecutive positions.
struct TokenRun {
  llama_pos first = 0;
  std::vector<Token> tokens;
  llama_pos end() const { return first + static_cast<llama_pos>(tokens.size()); }
};
using TokenRuns = std::vector<TokenRun>;  // in order, with gaps in between

// What of them lies inside, or outside.
TokenRuns inside(const TokenRuns& runs, PosRange range);
TokenRuns outside(const TokenRuns& runs, PosRange range);
// In order, those that touch as one. Error: two have a token at the same position, or one is below 0.
Result<TokenRuns> joined(TokenRuns runs);

class SequenceText {
 public:
  explicit SequenceText(std::unique_ptr<Sequence> sequence) : sequence_(std::move(sequence)) {}

  // What can be computed: the tokens before the first gap.
  Sequence& sequence() const { return *sequence_; }
  bool has_gap() const { return !later_.empty(); }
  bool is_empty() const { return sequence_->n_tokens() == 0; }
  llama_pos first() const { return first_; }
  llama_pos end() const {
    return has_gap() ? later_.back().end() : first_ + static_cast<llama_pos>(sequence_->n_tokens());
  }

  void begin_at(llama_pos first) { first_ = first; }
  // Its sequence was given another content, from there on.
  void replaced(llama_pos first) {
    first_ = first;
    later_.clear();
  }
  TokenRuns runs() const;
  // Puts these in place of what it holds; what both begin with stays computed. Error: rows that stand in
  // place of tokens would have to be computed again.
  Result<void> set_runs(TokenRuns runs);
  // A second one with the same content. Error: as many are open as the context has.
  Result<SequenceText> fork() const;

 private:
  std::unique_ptr<Sequence> sequence_;
  llama_pos first_ = 0;
  TokenRuns later_;
};

}  // namespace parlance::capi
