#include "engine/answer_grammar.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/parameter.h"

namespace parlance {

bool AnswerGrammar::go_on(Place& place, Token token) const {
  if (place.has_begun) return place.state.advance(token);
  place.has_begun = token == begins_after_;
  return true;
}

Result<std::span<const float>> AnswerGrammar::masked(Place& place, std::span<const float> logits) {
  if (!place.has_begun) return logits;
  PARLANCE_TRY(const std::shared_ptr<const TokenMask> mask, place.state.allowed());
  masked_.assign(logits.size(), -INFINITY);
  bool has_any = false;
  for (size_t word = 0; word < mask->bits().size(); ++word) {
    for (uint64_t bits = mask->bits()[word]; bits != 0; bits &= bits - 1) {
      const size_t token = word * 64 + static_cast<size_t>(std::countr_zero(bits));
      if (token >= logits.size()) break;
      masked_[token] = logits[token];
      has_any = true;
    }
  }
  if (has_any) return masked_;
  return fail(
      ErrorCode::unsupported,
      "the answer has come to a place where its grammar allows none of the model's tokens, nor the end; "
      "nest less deeply, or name only characters that the model can write");
}

Result<std::span<const float>> AnswerGrammar::masked(std::span<const float> logits) {
  return masked(answer_, logits);
}

Result<TopLogits> AnswerGrammar::masked(const TopLogits& top) {
  if (!answer_.has_begun) return top;
  PARLANCE_TRY(const std::shared_ptr<const TokenMask> mask, answer_.state.allowed());
  return left_.of(top, [&](Token token) { return mask->allows(token); });
}

bool AnswerGrammar::accept(Token token) {
  if (!go_on(answer_, token)) return false;
  draft_ = answer_;
  n_drafted_ = 0;
  return true;
}

void AnswerGrammar::cut(Draft& draft, const Tokenizer& tokenizer) const {
  Place place = answer_;
  size_t n = 0;
  for (; n < draft.tokens.size(); ++n) {
    const Token token = draft.tokens[n];
    if (tokenizer.is_end_of_generation(token)) {
      n += !place.has_begun || place.state.may_end();
      break;
    }
    if (!go_on(place, token)) break;
  }
  draft.cut(static_cast<int64_t>(n));
}

// Nothing may follow a token that is none of the grammar's: one that ends the answer.
std::span<const float> AnswerGrammar::masked(std::span<const float> logits, std::span<const Token> drafted) {
  if (drafted.size() < n_drafted_) {  // another draft
    draft_ = answer_;
    n_drafted_ = 0;
  }
  for (; n_drafted_ < drafted.size(); ++n_drafted_) {
    if (!go_on(draft_, drafted[n_drafted_])) return {};
  }
  const auto left = masked(draft_, logits);
  return left ? *left : std::span<const float>();
}

}  // namespace parlance
