// Timing of prefill and decode at several depths of context.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/session.h"
#include "measure/step_cost.h"

namespace parlance {

struct BenchTest {
  enum class Kind { prefill, decode, verify };
  Kind kind;
  int64_t n_tokens;         // of verification: of a step
  int64_t depth;            // tokens that are in the context before
  int64_t n_sequences = 1;  // of decoding: answers that are written at once, each as long
  std::optional<SamplingOptions> sampling = {};  // how their tokens are drawn; none: the likeliest are taken

  int64_t n_ctx() const { return depth + n_tokens; }
};

// "prefill 512 @ 4096", "decode 8 x 64 @ 512", "verify 16 @ 0"
std::string_view name_of(BenchTest::Kind kind);
std::string name_of(const BenchTest& test);

// Drawn from the vocabulary at random, the same every time.
std::vector<Token> bench_tokens(int64_t n, int32_t n_vocab);

// Of at least one value; the mean of the two in the middle of an even number.
double median(std::vector<double> values);

struct BenchResult {
  double median_s = 0;
  double min_s = 0;
  double max_s = 0;
  StepCost cost;  // of all steps of the test
};

// Runs a test of prefill once to warm up and n_repetitions times for the clock. Depth is filled with noise,
// tokens are drawn from the vocabulary at random, the same every time.
Result<BenchResult> run_prefill(Session& session, const BenchTest& test, int64_t n_batch, int n_repetitions,
                                const Work& work = {});

}  // namespace parlance
