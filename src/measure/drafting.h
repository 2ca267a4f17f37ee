// What drafting does for a model's answers: how many tokens come out of a step, and how fast, each answer
// beside the same one without drafts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/request.h"

namespace parlance {

struct DraftingCase {
  std::string kind;  // under which it is counted
  std::vector<Token> prompt;
  std::vector<Token> answer = {};  // said whatever the model would say; empty: what it says
};

struct DraftingScore {
  int64_t n_answers = 0;
  int64_t n_different = 0;  // from the answer without drafts; there should be none
  int64_t n_tokens = 0;
  DraftCounts counts;
  double plain_ms = 0, drafted_ms = 0;  // of decoding, the prompt not counted

  double tokens_a_step() const {
    return ratio(static_cast<double>(n_tokens), static_cast<double>(counts.n_steps));
  }
  // What is taken, and the model's own token, of the steps that had drafted ones.
  double tokens_a_verification() const {
    const auto n = static_cast<double>(counts.n_verified);
    return ratio(n + static_cast<double>(counts.n_accepted), n);
  }
  double accepted_share() const {
    return ratio(static_cast<double>(counts.n_accepted), static_cast<double>(counts.n_drafted));
  }
  double speed_up() const { return ratio(plain_ms, drafted_ms); }

 private:
  static double ratio(double a, double b) { return b > 0 ? a / b : 0; }
};

// Answers every case with and without drafts, the one or the other first by turns. `on_progress` is told how
// many are done.
Result<std::map<std::string, DraftingScore>> measure_drafting(
    Session& session, const std::vector<DraftingCase>& cases, const GenerateOptions& options,
    const std::function<void(int64_t)>& on_progress);

// Has the session's model give the cases' answers, for another one to say the same: one without sense, whose
// speed tells of a model that has its shape.
Result<void> give_answers(Session& session, std::vector<DraftingCase>& cases, const GenerateOptions& options);

// All kinds together.
DraftingScore sum_of(const std::map<std::string, DraftingScore>& scores);

}  // namespace parlance
