// Timing of answers, also of many that are written at once, and of what a prompt that arrives meanwhile does
// to them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "engine/session.h"
#include "measure/text_steps.h"

namespace parlance {

// As run_prefill() for a decode test: the session and, of n_sequences, others of its context, all at the
// test's depth; each goes on with what it says. Seconds are those until all have their tokens.
Result<BenchResult> run_answers(Session& session, const BenchTest& test, int n_repetitions,
                                const Work& work = {});

// How answers get on while a prompt is computed beside them.
struct ArrivalResult {
  double plain_ms = 0;        // a step of the answers alone, the median of those before the prompt
  double plain_after_ms = 0;  // and of those after it: answers are longer then
  double longest_ms = 0;      // between two tokens of an answer, while there is a prompt
  // Times between two tokens while there is a prompt, as multiples of a step without it at that moment, which
  // is taken to grow evenly from plain_ms to plain_after_ms: the median, what 99 of 100 stay below, the most.
  double median_stretch = 0, p99_stretch = 0, longest_stretch = 0;
  double first_token_ms = 0;  // of the prompt
  double alone_ms = 0;        // the same with nobody else at work
};

// n_sequences answers at the test's depth; in their midst comes a prompt of n_arriving tokens, which the
// context must have room for beside them. Answers get n_tokens each before it and after it.
Result<ArrivalResult> run_arrival(Session& session, const BenchTest& test, int64_t n_arriving,
                                  const Work& work = {});

}  // namespace parlance
