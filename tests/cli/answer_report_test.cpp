#include "cli/answer_report.h"

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(AnswerReport, CountsOnlyWhatWasComputed) {
  GenerateResult result;
  result.n_prompt = 100;
  result.n_prompt_cached = 60;
  result.prefill_ms = 20;
  result.decode_ms = 500;
  result.tokens.resize(11);
  EXPECT_DOUBLE_EQ(prefill_tokens_per_second(result), 2000);
  EXPECT_DOUBLE_EQ(decode_tokens_per_second(result), 20);
  EXPECT_EQ(summary_of(result),
            "100 prompt tokens (60 remembered) in 20.0 ms, 11 answer tokens in 500 ms (20.0 per second)");
  result.tokens.resize(1);
  EXPECT_EQ(decode_tokens_per_second(result), 0);
}

}  // namespace
}  // namespace parlance
