// How many held-out questions a model answers right.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/generate.h"
#include "eval/questions.h"
#include "eval/watch.h"

namespace parlance {

struct AnswerScore {
  int64_t n = 0;
  int64_t n_right = 0;
  double share() const { return n > 0 ? static_cast<double>(n_right) / static_cast<double>(n) : 0; }
};

struct WrongAnswer {
  const EvalQuestion* question;
  std::string reply;
};

struct AnswerScores {
  AnswerScore total;
  std::map<std::string, AnswerScore> by_category;
  std::vector<WrongAnswer> wrong;
};

// Puts every question to the session. Errors: a question that does not fit the context, which the error
// names; cancelled.
Result<AnswerScores> score_answers(const std::vector<EvalQuestion>& questions, const GenerateOptions& options,
                                   Session& session, const EvalWatch& watch);

}  // namespace parlance
