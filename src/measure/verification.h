// Timing of steps that verify a draft: rows of one answer, for each of which the model says what follows it.
#pragma once

#include "base/result.h"
#include "engine/session.h"
#include "measure/text_steps.h"

namespace parlance {

// Such steps in one result, for a test of so many tokens a step.
inline constexpr int64_t kVerifications = 32;

// As run_prefill(), one step after the other at the test's depth, none of whose tokens is kept. A step of one
// token is that of an answer without drafts. The context was made for as many outputs.
Result<BenchResult> run_verification(Session& session, const BenchTest& test, int n_repetitions,
                                     const Work& work = {});

}  // namespace parlance
