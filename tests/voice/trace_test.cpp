#include "voice/trace.h"

#include <gtest/gtest.h>

#include <set>

namespace parlance {
namespace {

TEST(Trace, TimesAreCountedFromTheEndOfSpeech) {
  TurnTrace trace;
  EXPECT_FALSE(trace.after_speech_ms(Checkpoint::asr_final));
  trace.mark(Checkpoint::asr_final, 1130);
  EXPECT_FALSE(trace.after_speech_ms(Checkpoint::asr_final));
  trace.mark(Checkpoint::speech_end, 1000);
  EXPECT_EQ(trace.after_speech_ms(Checkpoint::asr_final), 130);
  trace.mark_first(Checkpoint::asr_final, 1200);
  EXPECT_EQ(trace.after_speech_ms(Checkpoint::asr_final), 130);
  trace.mark(Checkpoint::llm_first_token, 1150);
  EXPECT_EQ(trace.between_ms(Checkpoint::asr_final, Checkpoint::llm_first_token), 20);
  trace.clear(Checkpoint::asr_final);
  EXPECT_FALSE(trace.at_ms(Checkpoint::asr_final));
}

TEST(Trace, EveryCheckpointHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kCheckpoints; ++i) names.insert(name_of(static_cast<Checkpoint>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kCheckpoints));
  EXPECT_EQ(names.count(""), 0u);
}

TEST(Trace, PercentilesAreValuesThatOccurred) {
  EXPECT_EQ(percentiles_of({}).n, 0u);
  const Percentiles one = percentiles_of({7});
  EXPECT_EQ(one.p50, 7);
  EXPECT_EQ(one.p99, 7);
  std::vector<double> hundred;
  for (int i = 100; i >= 1; --i) hundred.push_back(i);
  const Percentiles many = percentiles_of(hundred);
  EXPECT_EQ(many.n, 100u);
  EXPECT_EQ(many.p50, 50);
  EXPECT_EQ(many.p90, 90);
  EXPECT_EQ(many.p99, 99);
}

}  // namespace
}  // namespace parlance
