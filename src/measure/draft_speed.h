// How fast a model writes with drafts and without, behind a context of some length.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/request.h"
#include "measure/draft_oracle.h"

namespace parlance {

struct DraftSpeed {
  int64_t n_prompt = 0;  // tokens that the answers came behind
  int64_t n_tokens = 0;  // of each answer
  double plain_s = 0;    // to write them, the medians of all answers
  double drafted_s = 0;
  double min_ratio = 0;  // of plain to drafted time, over pairs of answers: how sure the medians are
  double max_ratio = 0;
  DraftCounts counts;       // of all answers with drafts
  double draft_share = 0;   // of their time: the drafter's passes
  double verify_share = 0;  // steps in which there were drafted tokens
  double bytes = 0;         // that a plain step must read in the middle of the answer

  // That come out of a step in which there are drafted ones: those that are taken, and the model's own.
  double tokens_a_verification() const;
  double tokens_a_step() const;
};

// Has the model count, greedily and on and on, behind notes that fill `depth` tokens: with drafts and
// without, the one or the other first by turns, after a pair to warm up. An oracle in place of the session's
// drafters is told the answers; null: there is none. Errors: an answer with drafts that differs from the one
// without; a context too short.
Result<DraftSpeed> measure_draft_speed(Session& session, int64_t depth, int64_t n_tokens, int n_repetitions,
                                       const DraftOptions& draft, DraftOracle* oracle = nullptr,
                                       const Work& work = {});

}  // namespace parlance
