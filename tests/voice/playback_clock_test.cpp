// What is sent when, and what counts as heard, on a virtual clock.
#include "voice/playback_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace parlance {
namespace {

constexpr int64_t kPerMs = 24;

// A client that gets sound at once and plays it.
struct Line {
  explicit Line(PlaybackPace pace = {})
      : clock([this] { return now; },
              [this](std::span<const float> samples) -> Result<void> {
                pieces.push_back({now, std::ssize(samples)});
                sent.insert(sent.end(), samples.begin(), samples.end());
                return {};
              },
              pace) {
    clock.begin_answer();
  }

  // Sound of so many milliseconds, each sample of which is its number.
  void play(int64_t ms) {
    std::vector<float> samples(static_cast<size_t>(ms * kPerMs));
    for (float& sample : samples) sample = static_cast<float>(n_made++);
    clock.play(samples);
  }

  // As an owner does: when something changed, and when it wants to be.
  void until(double ms) {
    for (;; ++now) {
      ASSERT_TRUE(clock.tick());
      if (now >= ms) return;
    }
  }

  double now = 1000;
  struct Piece {
    double at_ms;
    int64_t n;
  };
  std::vector<Piece> pieces;
  std::vector<float> sent;
  int64_t n_made = 0;
  PlaybackClock clock;
};

TEST(PlaybackClock, SendsShortPiecesAndThenLongerOnes) {
  Line line;
  line.play(2000);
  line.until(1000);
  std::vector<int64_t> ms;
  for (const auto& piece : line.pieces) ms.push_back(piece.n / kPerMs);
  EXPECT_EQ(ms, (std::vector<int64_t>{100, 100, 100, 100, 100, 400, 400, 400, 300}));
  EXPECT_EQ(std::ssize(line.sent), line.n_made);
  EXPECT_TRUE(std::ranges::is_sorted(line.sent));
  EXPECT_TRUE(line.clock.is_sent());
  EXPECT_FALSE(line.clock.is_drained());
  EXPECT_EQ(line.clock.wait_ms(), 2000);
}

// At every millisecond of an answer: heard is what was sent, or the time since.
TEST(PlaybackClock, HeardIsTimeSinceTheFirstPiece) {
  Line line;
  line.until(1010);
  EXPECT_EQ(line.clock.wait_ms(), std::nullopt);
  line.play(700);
  for (int ms = 0; ms <= 900; ++ms) {
    line.until(1010 + ms);
    EXPECT_EQ(line.clock.n_heard(), std::min(ms, 700) * kPerMs) << ms;
    EXPECT_EQ(line.clock.is_drained(), ms >= 700) << ms;
    EXPECT_EQ(line.clock.wait_ms(), ms >= 700 ? std::nullopt : std::optional(700.0 - ms)) << ms;
  }
  // What comes late is not heard before it is sent.
  line.play(300);
  line.until(1910);
  EXPECT_EQ(line.clock.n_heard(), 700 * kPerMs);
  line.until(1911);
  EXPECT_EQ(line.clock.n_heard(), 701 * kPerMs);
}

TEST(PlaybackClock, SendsNoMoreThanMayBeAhead) {
  for (const double ahead_ms : {50.0, 100.0, 150.0, 1000.0}) {
    Line line({.ahead_ms = ahead_ms});
    line.play(5000);
    for (int ms = 0; ms <= 5000; ++ms) {
      line.until(1000 + ms);
      const int64_t n_ahead = line.clock.n_sent() - line.clock.n_heard();
      EXPECT_LE(n_ahead, static_cast<int64_t>(ahead_ms) * kPerMs) << ms;
      // The client never runs dry.
      EXPECT_EQ(line.clock.n_heard(), ms * kPerMs) << ahead_ms;
      EXPECT_GE(line.clock.wait_ms().value_or(1), 1) << ms;
    }
    EXPECT_TRUE(line.clock.is_drained());
    EXPECT_EQ(std::ssize(line.sent), line.n_made);
  }
}

// An owner that comes only when it was told to sends the same.
TEST(PlaybackClock, TheWaitIsNeitherTooLongNorTooShort) {
  Line line({.ahead_ms = 500});
  line.play(5000);
  int n_ticks = 0;
  for (; !line.clock.is_drained(); ++n_ticks) {
    ASSERT_TRUE(line.clock.tick());
    line.now += line.clock.wait_ms().value_or(0);
  }
  EXPECT_EQ(line.now, 6000);
  EXPECT_LT(n_ticks, 20);
}

TEST(PlaybackClock, IsSilentFromEveryMillisecondOn) {
  for (int at = 0; at <= 800; ++at) {
    Line line({.ahead_ms = 200});
    line.play(700);
    line.until(1000 + at);
    const int64_t n_sent = line.clock.n_sent(), n_heard = line.clock.n_heard();
    line.clock.hush();
    line.until(1300 + at);
    EXPECT_EQ(line.clock.n_sent(), n_sent) << at;
    EXPECT_EQ(line.clock.n_heard(), n_heard) << at;
    EXPECT_EQ(line.clock.wait_ms(), std::nullopt) << at;
    line.clock.unhush();
    line.until(2000 + at);
    EXPECT_EQ(line.clock.n_heard(), 700 * kPerMs) << at;
    EXPECT_EQ(std::ssize(line.sent), line.n_made);
    EXPECT_TRUE(std::ranges::is_sorted(line.sent));
  }
}

TEST(PlaybackClock, StopsAtEveryMillisecond) {
  for (const bool is_hushed_before : {false, true}) {
    for (int at = 0; at <= 800; ++at) {
      Line line;
      line.play(700);
      line.until(1000 + at);
      if (is_hushed_before) {
        line.clock.hush();
        line.until(1100 + at);
      }
      line.clock.stop();
      const int64_t n = std::min(at, 700) * kPerMs;
      EXPECT_EQ(line.clock.n_heard(), n);
      EXPECT_TRUE(line.clock.is_drained());
      line.until(1500 + at);
      EXPECT_EQ(line.clock.n_heard(), n);
      // The next answer is counted from its own beginning.
      line.clock.begin_answer();
      line.play(100);
      line.until(1550 + at);
      EXPECT_EQ(line.clock.n_heard(), 50 * kPerMs);
      EXPECT_EQ(line.clock.n_sent(), 100 * kPerMs);
    }
  }
}

// A client that begins 80 ms late and tells every 100 ms what it played.
TEST(PlaybackClock, ReportsCountAndNothingElse) {
  Line line;
  line.play(700);
  int told = 0;
  for (int ms = 0; ms <= 1000; ++ms) {
    line.until(1000 + ms);
    if (ms % 100 == 0) {
      told = std::clamp(ms - 80, 0, 700);
      line.clock.take_report(told);
    }
    EXPECT_EQ(line.clock.n_heard(), told * kPerMs) << ms;
  }
  EXPECT_TRUE(line.clock.is_drained());
}

TEST(PlaybackClock, ReportsNeverGoBackNorBeyondWhatWasSent) {
  Line line;
  line.play(700);
  line.until(1010);
  line.clock.take_report(500);
  line.clock.take_report(300);
  EXPECT_EQ(line.clock.n_heard(), 500 * kPerMs);
  line.clock.take_report(-1e300);
  EXPECT_EQ(line.clock.n_heard(), 500 * kPerMs);
  line.clock.take_report(1e300);
  EXPECT_EQ(line.clock.n_heard(), 700 * kPerMs);
  // Nor do they go on with an answer that has begun since.
  line.clock.begin_answer();
  EXPECT_EQ(line.clock.n_heard(), 0);
}

// Whoever stops telling is taken to go on playing, so that the answer ends.
TEST(PlaybackClock, TimeCountsAgainWhenReportsCease) {
  Line line;
  line.play(700);
  line.until(1200);
  line.clock.take_report(150);
  EXPECT_EQ(line.clock.wait_ms(), 1000 + 550);
  line.until(2200);
  EXPECT_EQ(line.clock.n_heard(), 150 * kPerMs);
  line.until(2300);
  EXPECT_EQ(line.clock.n_heard(), 250 * kPerMs);
  line.until(2750);
  EXPECT_TRUE(line.clock.is_drained());
}

TEST(PlaybackClock, AFailureToSendIsToldOf) {
  PlaybackClock clock([] { return 0.0; },
                      [](std::span<const float>) -> Result<void> {
                        return fail(ErrorCode::device_failed, "nobody is there");
                      });
  clock.begin_answer();
  clock.play(std::vector<float>(10));
  const auto sent = clock.tick();
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().message, "nobody is there");
  EXPECT_EQ(clock.n_sent(), 0);
}

}  // namespace
}  // namespace parlance
