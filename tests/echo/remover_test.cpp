#include "echo/remover.h"

#include <gtest/gtest.h>

#include <limits>

#include "echo/sounds.h"

namespace parlance {
namespace {

struct Left {
  std::vector<float> samples;
  std::vector<float> gates;  // a frame
};

Left remove(EchoRemover& remover, const std::vector<float>& heard, const std::vector<float>& played) {
  Left left;
  left.samples = frame_by_frame(heard, played, [&](auto in, auto reference, auto out) {
    remover.process(in, reference, out);
    left.gates.push_back(remover.gate());
  });
  return left;
}

Left remove(const std::vector<float>& heard, const std::vector<float>& played) {
  EchoRemover remover;
  return remove(remover, heard, played);
}

// Frames that may pass for a voice.
int n_open(const Left& left, size_t first, size_t end) {
  int n = 0;
  for (size_t frame = first; frame < end; ++frame) {
    const auto rest = std::span(left.samples).subspan(frame * kEchoFrame, kEchoFrame);
    n +=
        left.gates[frame] > 0 && std::sqrt(power(rest) / kEchoFrame) > static_cast<double>(left.gates[frame]);
  }
  return n;
}

TEST(EchoDelay, IsFoundWhereverItLies) {
  const std::vector<float> played = murmur(1, 2 * kSecond, 0.1f);
  for (int ms = 0; ms <= 290; ms += 10) {
    const std::vector<float> heard = echo_of(played, static_cast<size_t>(ms) * kSecond / 1000);
    EchoDelay delay;
    for (size_t i = 0; i + kEchoFrame <= heard.size(); i += kEchoFrame)
      delay.take(std::span(heard).subspan(i, kEchoFrame), std::span(played).subspan(i, kEchoFrame));
    ASSERT_TRUE(delay.ms()) << ms;
    EXPECT_NEAR(*delay.ms(), ms, 1);
  }
}

// As far as clocks that are 300 ppm apart move it in a minute.
TEST(EchoDelay, FollowsAnEchoThatMoves) {
  const std::vector<float> played = murmur(1, 61 * kSecond, 0.1f);
  for (const double faster : {3e-4, -3e-4}) {
    const std::vector<float> heard = at_another_clock(echo_of(played, kSecond / 20), faster);
    EchoDelay delay;
    for (size_t i = 0; i + kEchoFrame <= 60 * kSecond; i += kEchoFrame) {
      delay.take(std::span(heard).subspan(i, kEchoFrame), std::span(played).subspan(i, kEchoFrame));
      const double ms = 50 - faster * 1000 * static_cast<double>(i) / kSecond;
      if (i > 2 * kSecond) {
        ASSERT_TRUE(delay.ms());
        ASSERT_NEAR(*delay.ms(), ms, 3) << i;
      }
    }
  }
}

TEST(EchoDelay, IsNotKnownInSilenceNorFromOtherSounds) {
  const std::vector<float> silence(2 * kSecond), other = murmur(3, 2 * kSecond, 0.1f);
  for (const std::vector<float>* const played : {&silence, &other}) {
    EchoDelay delay;
    const std::vector<float> heard = murmur(2, 2 * kSecond, 0.1f);
    for (size_t i = 0; i + kEchoFrame <= heard.size(); i += kEchoFrame)
      delay.take(std::span(heard).subspan(i, kEchoFrame), std::span(*played).subspan(i, kEchoFrame));
    EXPECT_FALSE(delay.ms());
  }
}

TEST(EchoRemover, TakesEchoOutAtEveryDelay) {
  const std::vector<float> played = murmur(1, 6 * kSecond, 0.1f);
  for (const size_t ms : {0, 20, 95, 200, 280}) {
    const std::vector<float> heard = echo_of(played, ms * kSecond / 1000);
    const Left left = remove(heard, played);
    EXPECT_LT(left_db(left.samples, heard, 4, 6), -20) << ms << " ms";
    // Hardly anything of it passes for a voice, not even before the room is known.
    EXPECT_LT(n_open(left, 0, left.gates.size()), 6) << "at " << ms << " ms";
  }
}

// The echo's level is half of what is played.
TEST(EchoRemover, LeavesAVoiceThrough) {
  const std::vector<float> played = murmur(1, 6 * kSecond, 0.1f);
  for (const float level : {0.1f, 0.05f, 0.02f}) {
    const std::vector<float> voice = murmur(9, 2 * kSecond, level, 210);
    std::vector<float> heard = echo_of(played, kSecond / 10);
    for (size_t i = 0; i < voice.size(); ++i) heard[4 * kSecond + i] += voice[i];
    EXPECT_GT(n_open(remove(heard, played), 400, 440), 5) << "within 400 ms, at " << level;
  }
}

TEST(EchoRemover, HasNoGateWhereNothingIsPlayed) {
  const std::vector<float> voice = murmur(9, 2 * kSecond, 0.05f);
  const Left left = remove(voice, std::vector<float>(voice.size()));
  for (const float gate : left.gates) EXPECT_EQ(gate, 0);
  EXPECT_GT(power(left.samples), 0.5 * power(voice));
}

// No sound that a device can give makes it lose itself.
TEST(EchoRemover, BearsWhateverIsHeardAndPlayed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> played = soft_hiss(1, 5 * kSecond, 0.1f), heard = echo_of(played, kSecond / 20);
  const std::vector<std::vector<float>> pieces = {
      {0}, {1e-40f}, {1, -1}, {1e30f, -1e30f}, {kNan}, {kInfinity, -kInfinity, 0.1f}, {0.01f}};
  const auto sound = [](const std::vector<float>& piece) {
    std::vector<float> samples(kSecond / 4);
    for (size_t i = 0; i < samples.size(); ++i) samples[i] = piece[i % piece.size()];
    return samples;
  };
  const auto first = [](const std::vector<float>& samples) {
    return std::vector<float>(samples.begin(), samples.begin() + kSecond / 8);
  };
  for (size_t in = 0; in < pieces.size(); ++in) {
    for (size_t out = 0; out < pieces.size(); ++out) {
      EchoRemover remover;
      for (const float x : remove(remover, sound(pieces[in]), sound(pieces[out])).samples)
        ASSERT_TRUE(std::isfinite(x)) << in << ' ' << out;
      const bool is_whole = out == (in + 1) % pieces.size();  // each once
      const Left left = remove(remover, is_whole ? heard : first(heard), is_whole ? played : first(played));
      for (const float x : left.samples) ASSERT_TRUE(std::isfinite(x)) << in << ' ' << out;
      if (is_whole) {
        EXPECT_LT(left_db(left.samples, heard, 4, 5), -20) << in << ' ' << out;
      }
    }
  }
}

}  // namespace
}  // namespace parlance
