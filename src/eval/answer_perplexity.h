// How likely a model finds the right answers.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/session.h"
#include "eval/questions.h"
#include "eval/watch.h"

namespace parlance {

// Of the first right answer to each question, token by token.
struct AnswerPerplexity {
  int64_t n_questions = 0;
  int64_t n_tokens = 0;
  double nats = 0;  // minus the logarithm of the probability of all tokens together

  double perplexity() const;  // 1 when there are no tokens
};

// Every question is read in one piece (prefill) and its answer token by token (decode), so that both ways
// through the model count. A question that does not fit the context is an error that names it.
Result<AnswerPerplexity> measure_perplexity(const std::vector<EvalQuestion>& questions, Session& session,
                                            const EvalWatch& watch);

}  // namespace parlance
