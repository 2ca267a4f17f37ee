// The turn state machine: every cell, and what sequences of windows make it report.
#include "vad/turn_detector.h"

#include "gtest/gtest.h"
#include "vad/pre_roll.h"

namespace parlance {
namespace {

using Phase = TurnPhase;
using Input = TurnInput;
using Action = TurnAction;
using Kind = TurnEvent::Kind;

TEST(TurnMoveTest, EveryCell) {
  const struct {
    Phase phase;
    Input input;
    TurnMove move;
  } kCells[] = {
      {Phase::idle, Input::speech, {Phase::speaking, Action::start}},
      {Phase::idle, Input::unclear, {Phase::idle, Action::none}},
      {Phase::idle, Input::silence, {Phase::idle, Action::none}},
      {Phase::idle, Input::pause_silence, {Phase::idle, Action::none}},
      {Phase::idle, Input::closing_silence, {Phase::idle, Action::none}},
      {Phase::idle, Input::flush, {Phase::idle, Action::none}},
      {Phase::speaking, Input::speech, {Phase::speaking, Action::go_on}},
      {Phase::speaking, Input::unclear, {Phase::speaking, Action::go_on}},
      {Phase::speaking, Input::silence, {Phase::speaking, Action::none}},
      {Phase::speaking, Input::pause_silence, {Phase::paused, Action::pause}},
      {Phase::speaking, Input::closing_silence, {Phase::idle, Action::end}},
      {Phase::speaking, Input::flush, {Phase::idle, Action::end}},
      {Phase::paused, Input::speech, {Phase::speaking, Action::resume}},
      {Phase::paused, Input::unclear, {Phase::paused, Action::none}},
      {Phase::paused, Input::silence, {Phase::paused, Action::none}},
      {Phase::paused, Input::pause_silence, {Phase::paused, Action::none}},
      {Phase::paused, Input::closing_silence, {Phase::idle, Action::end}},
      {Phase::paused, Input::flush, {Phase::idle, Action::end}},
  };
  EXPECT_EQ(std::size(kCells), 3u * 6u);
  for (const auto& cell : kCells) {
    EXPECT_EQ(next_move(cell.phase, cell.input), cell.move)
        << static_cast<int>(cell.phase) << " " << static_cast<int>(cell.input);
  }
}

// What windows make a detector report, as "start@12": the kind and the number of windows heard. Probabilities
// are digits, 9 is 0.9; every window is as loud as `rms`.
std::string reports(TurnDetector& detector, const std::string& windows, float rms = 0.1f) {
  const char* const kNames[] = {"start", "active", "pause", "resume", "end", "blip"};
  std::string text;
  for (const char digit : windows) {
    const auto event = detector.next(static_cast<float>(digit - '0') / 10, rms);
    if (!event) continue;
    text += (text.empty() ? "" : " ") + std::string(kNames[static_cast<int>(event->kind)]) + "@" +
            std::to_string(event->n_heard / kSileroWindow);
  }
  return text;
}

TEST(TurnDetectorTest, ReportsATurn) {
  TurnDetector detector;
  // A heartbeat every 200 ms is every seventh window, a pause of 100 ms the fourth silent one, and the end
  // after 500 ms the sixteenth.
  EXPECT_EQ(reports(detector,
                    "11"
                    "9999999999"
                    "1111"
                    "99"
                    "1111111111111111"
                    "111"),
            "start@3 active@10 pause@16 resume@17 pause@22 end@34");
  EXPECT_EQ(detector.phase(), Phase::idle);
}

TEST(TurnDetectorTest, SaysWhereSpeechWas) {
  TurnDetector detector;
  EXPECT_EQ(reports(detector, "111111111111"), "");
  const TurnEvent start = *detector.next(0.5f, 0.1f);
  EXPECT_EQ(start, (TurnEvent{Kind::speech_start, 2 * 512, 12 * 512, 13 * 512, 13 * 512}));
  EXPECT_EQ(reports(detector,
                    "99999999999"
                    "111111111111111"),
            "active@20 pause@28");
  const TurnEvent end = *detector.next(0.1f, 0.1f);
  EXPECT_EQ(end, (TurnEvent{Kind::speech_end, 2 * 512, 12 * 512, 24 * 512, 40 * 512}));
  // The audio up to here was handed out, so what precedes the next segment is short.
  EXPECT_EQ(reports(detector, "111"), "");
  EXPECT_EQ(detector.next(0.9f, 0.1f)->first_sample, 40 * 512);
}

// The hangover of one silence can be changed while it lasts; the next one has its own again.
TEST(TurnDetectorTest, TheEndOfASilenceCanBeBroughtForwardOrPutOff) {
  TurnDetector detector;
  EXPECT_EQ(reports(detector,
                    "9999999999"
                    "1111"),
            "start@1 active@8 pause@14");
  detector.expect_end(9 * 512, 160);  // no silence began there
  EXPECT_EQ(reports(detector, "11"), "");
  detector.expect_end(10 * 512, 160);
  EXPECT_EQ(reports(detector, "1"), "end@17");

  EXPECT_EQ(reports(detector,
                    "999999999"
                    "1111"),
            "start@18 active@25 pause@30");
  detector.expect_end(26 * 512, 1000);
  EXPECT_EQ(reports(detector, "1111111111111111111111111111"), "end@58");

  EXPECT_EQ(reports(detector,
                    "999999999"
                    "1111"),
            "start@59 active@66 pause@71");
  detector.expect_end(67 * 512, 1000);
  EXPECT_EQ(reports(detector,
                    "9"
                    "1111111111111111"),
            "resume@72 pause@76 end@88");
}

TEST(TurnDetectorTest, AVoiceThatFallsIsTold) {
  TurnDetector detector;
  EXPECT_EQ(detector.final_level(), 1);
  for (int i = 0; i < 10; ++i) detector.next(0.9f, 0.1f);
  EXPECT_NEAR(detector.final_level(), 1, 1e-6);
  for (int i = 0; i < 6; ++i) detector.next(0.9f, 0.05f);
  for (int i = 0; i < 4; ++i) detector.next(0.1f, 0.001f);
  EXPECT_NEAR(detector.final_level(), 0.05 / (1.3 / 16), 1e-6);
}

TEST(TurnDetectorTest, WhatIsShortIsABlip) {
  TurnDetector detector;  // 250 ms are more than seven windows
  EXPECT_EQ(reports(detector,
                    "9999999"
                    "1111111111111111"),
            "start@1 pause@11 blip@23");
  EXPECT_EQ(reports(detector,
                    "99999999"
                    "1111111111111111"),
            "start@24 active@31 pause@35 end@47");
}

TEST(TurnDetectorTest, UnclearWindowsChangeNothing) {
  TurnDetector detector;
  EXPECT_EQ(reports(detector, "4444"), "");
  // Silence goes on below them, as its length is that since the first silent window.
  EXPECT_EQ(reports(detector,
                    "9"
                    "1441"),
            "start@5 pause@9");
  EXPECT_EQ(reports(detector, "44444444444444444"), "");
  EXPECT_EQ(reports(detector, "1"), "blip@27");
}

TEST(TurnDetectorTest, FlushEndsWhatGoesOn) {
  TurnDetector detector;
  EXPECT_FALSE(detector.flush());
  reports(detector, "999999999");
  EXPECT_FALSE(detector.next(0.9f, 0.1f, 100));
  EXPECT_EQ(*detector.flush(), (TurnEvent{Kind::speech_end, 0, 0, 9 * 512 + 100, 9 * 512 + 100}));
  EXPECT_EQ(reports(detector,
                    "99"
                    "1111"),
            "start@1 pause@6");  // positions begin again
  EXPECT_EQ(*detector.flush(), (TurnEvent{Kind::blip, 0, 0, 2 * 512, 6 * 512}));
}

TEST(TurnDetectorTest, QuietSpeechDoesNotOpenTheGate) {
  TurnDetector detector;
  EXPECT_EQ(reports(detector, "99", 0.011f), "");
  EXPECT_EQ(reports(detector, "9", 0.012f), "start@3");
  EXPECT_EQ(reports(detector, "999999999999999999", 0.0f),
            "active@10 active@17");  // it only guards the start
  reports(detector, "1111111111111111", 0.0f);
  EXPECT_EQ(detector.phase(), Phase::idle);

  // Once open it takes less than before to keep it so, and some time to close.
  reports(detector, "1", 0.012f);
  reports(detector, "11111111111111111111", 0.008f);
  EXPECT_EQ(reports(detector,
                    "111111"
                    "9",
                    0.007f),
            "");
  TurnDetector other;
  reports(other, "1", 0.012f);
  EXPECT_EQ(reports(other,
                    "11111"
                    "9",
                    0.0f),
            "start@7");
}

TEST(TurnDetectorTest, AFallingVoicePausesSooner) {
  TurnDetector detector;
  reports(detector, "999", 0.2f);
  EXPECT_FALSE(detector.next(0.1f, 0.16f));
  const auto pause = detector.next(0.1f, 0.12f);
  ASSERT_TRUE(pause);  // after 64 ms, the first window beyond 50
  EXPECT_EQ(pause->kind, Kind::speech_pause);
  TurnDetector steady;
  reports(steady, "999", 0.2f);
  EXPECT_EQ(reports(steady, "1111", 0.19f), "pause@7");
}

TEST(TurnDetectorTest, TheOffsetFollowsTheOnset) {
  TurnDetector low({.onset = 0.2});  // its offset is 0.1, not 0.05
  EXPECT_EQ(reports(low,
                    "9"
                    "0000"),
            "start@1 pause@5");
  TurnDetector high({.onset = 0.85});
  EXPECT_EQ(reports(high,
                    "8"
                    "9"
                    "8888888"),
            "start@2 active@9");
  TurnDetector given({.offset = 0.05});
  EXPECT_EQ(reports(given,
                    "9"
                    "1111"),
            "start@1");
}

TEST(TurnDetectorTest, HangoverWithATurnModel) {
  TurnDetector detector({.end_hangover_ms = kEndHangoverWithTurnModelMs});
  EXPECT_EQ(reports(detector,
                    "9999999999"
                    "1111111111"),
            "start@1 active@8 pause@14 end@20");
}

std::vector<float> taken(PreRoll& pre_roll) {
  std::vector<float> first;
  pre_roll.take([&](std::span<const float> samples) {
    EXPECT_EQ(samples.size(), 512u);
    first.push_back(samples[0]);
  });
  return first;
}

TEST(PreRollTest, KeepsTheLastWindows) {
  PreRoll pre_roll(3);
  EXPECT_TRUE(taken(pre_roll).empty());
  std::array<float, kSileroWindow> window{};
  const auto push = [&](float value) {
    window[0] = value;
    pre_roll.push(window);
  };
  for (const float value : {1.0f, 2.0f, 3.0f, 4.0f, 5.0f}) push(value);
  EXPECT_EQ(pre_roll.n_windows(), 3);
  EXPECT_EQ(taken(pre_roll), (std::vector<float>{3, 4, 5}));
  EXPECT_TRUE(taken(pre_roll).empty());
  push(6);
  EXPECT_EQ(taken(pre_roll), std::vector<float>{6});
  push(7);
  pre_roll.clear();
  EXPECT_EQ(pre_roll.n_windows(), 0);

  PreRoll none(0);
  none.push(window);
  EXPECT_TRUE(taken(none).empty());
}

TEST(TurnDetector, AGateThatRisesKeepsSpeechFromBeginningAndOneThatFallsLetsItBegin) {
  for (int n_closed = 0; n_closed < 20; ++n_closed) {
    TurnDetector turns;
    turns.set_gate(0.5);
    for (int window = 0; window < n_closed; ++window) EXPECT_FALSE(turns.next(1, 0.1f));
    turns.set_gate(0.05);
    const auto event = turns.next(1, 0.1f);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, TurnEvent::Kind::speech_start);
    EXPECT_EQ(event->speech_start, n_closed * kSileroWindow);
  }
}

}  // namespace
}  // namespace parlance
