// How far an answer has come in the grammar that it follows, and what that leaves of logits.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "grammar/token_masks.h"
#include "sampling/draft_sampler.h"
#include "sampling/top_logits.h"

namespace parlance {

// Drafts are followed as the answer is: each of their tokens is proposed among those that may come there.
class AnswerGrammar final : public DraftMask {
 public:
  // The answer follows the grammar from its first token on, or from the one behind `begins_after`.
  AnswerGrammar(TokenMasks& masks, std::optional<Token> begins_after)
      : begins_after_(begins_after), answer_{masks.begin(), !begins_after}, draft_(answer_) {}

  // The logits of the answer's next token, with -inf for those that may not come; valid until the next call.
  // Errors: as of GrammarState::allowed(), and unsupported where none may come.
  Result<std::span<const float>> masked(std::span<const float> logits);
  // The same of the highest logits, of which those that may not come are left out.
  Result<TopLogits> masked(const TopLogits& top);
  // The answer goes on by a token, which ends no answer. False: it may not come here.
  bool accept(Token token);

  bool is_complete() const { return answer_.has_begun && answer_.state.may_end(); }
  bool must_end() const { return answer_.has_begun && answer_.state.must_end(); }
  bool has_begun() const { return answer_.has_begun; }

  // Leaves out of a draft what may not be said, and what is behind that.
  void cut(Draft& draft, const Tokenizer& tokenizer) const;
  std::span<const float> masked(std::span<const float> logits, std::span<const Token> drafted) override;

 private:
  struct Place {
    GrammarState state;
    bool has_begun;
  };
  bool go_on(Place& place, Token token) const;
  Result<std::span<const float>> masked(Place& place, std::span<const float> logits);

  const std::optional<Token> begins_after_;
  Place answer_;
  Place draft_;  // behind the first n_drafted_ tokens of a draft
  size_t n_drafted_ = 0;
  std::vector<float> masked_;
  TopLeft left_;
};

}  // namespace parlance
