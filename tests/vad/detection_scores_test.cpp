#include "vad/detection_scores.h"

#include <cmath>

#include "support/fixtures.h"

namespace parlance::test {
namespace {

constexpr int64_t kWindow = kSileroWindow;

TEST(DetectionScores, AWindowIsSpeechWhenHalfOfItIs) {
  const JudgedRecording recording{std::vector<float>(4),
                                  {{kWindow / 2, kWindow}, {2 * kWindow - 255, 9 * kWindow}}};
  EXPECT_EQ(speech_windows(recording), (std::vector<bool>{true, false, true, true}));
}

TEST(DetectionScores, AreaIsTheShareOfPairsInOrder) {
  // Speech: 0.9 and 0.4; none: 0.1, 0.4 and 0.6. Of six pairs four are in order and one is a tie.
  const std::vector<JudgedRecording> recordings = {{{0.9f, 0.1f}, {{0, kWindow}}},
                                                   {{0.4f, 0.4f, 0.6f}, {{0, kWindow}}}};
  EXPECT_DOUBLE_EQ(roc_auc(recordings), 4.5 / 6);
  EXPECT_TRUE(std::isnan(roc_auc(std::span(recordings).first(0))));
  const std::vector<JudgedRecording> silent = {{{0.5f}, {}}};
  EXPECT_TRUE(std::isnan(roc_auc(silent)));
}

TEST(DetectionScores, DelaysAreThoseOfTurns) {
  // Two spans a tenth of a second apart are one turn, of windows 2 to 10; the last turn is missed.
  const std::vector<JudgedRecording> recordings = {
      {{0.9f, 0, 0, 0.9f, 0.9f, 0, 0.9f, 0.9f, 0.9f, 0.9f, 0.9f, 0.9f, 0.9f,
        0,    0, 0, 0,    0,    0, 0,    0,    0,    0,    0,    0,    0},
       {{2 * kWindow + 16, 5 * kWindow}, {8 * kWindow, 11 * kWindow - 16}, {23 * kWindow, 25 * kWindow}}}};
  const ThresholdScores scores = scores_at(recordings, 0.5f);
  EXPECT_EQ(scores.n_turns, 2);
  EXPECT_EQ(scores.n_missed, 1);
  EXPECT_EQ(scores.onset_ms, std::vector<double>{63});   // known when window 3 ends
  EXPECT_EQ(scores.offset_ms, std::vector<double>{97});  // known when window 13 ends
  EXPECT_EQ(scores.n_speech, 8);
  EXPECT_EQ(scores.n_detected, 5);
  EXPECT_EQ(scores.n_alarms, 0) << "only recordings without speech have false alarms";
  EXPECT_EQ(scores.n_false, 5);
}

TEST(DetectionScores, AlarmsAreRunsOfWindows) {
  const std::vector<JudgedRecording> recordings = {{{0.5f, 0.7f, 0, 0.9f}, {}}, {{0.9f, 0}, {}}};
  const ThresholdScores scores = scores_at(recordings, 0.5f);
  EXPECT_EQ(scores.n_alarms, 3);
  EXPECT_DOUBLE_EQ(scores.alarm_minutes, 6 * 0.032 / 60);
}

TEST(DetectionScores, QuantilesOfNothingAreNoNumbers) {
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({3, 1, 2}, 1), 3);
}

}  // namespace
}  // namespace parlance::test
