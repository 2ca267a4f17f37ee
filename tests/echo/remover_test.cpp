#include "echo/remover.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

namespace parlance {
namespace {

constexpr size_t kSecond = kEchoRateHz;

// A buzz that comes and goes as syllables do, each at a pitch of its own.
std::vector<float> murmur(uint32_t seed, size_t n, float level, float least_pitch = 90) {
  constexpr size_t kSyllable = kSecond / 5;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> any(0, 1);
  std::vector<float> samples(n);
  float pitch = 0, phase = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % kSyllable == 0) pitch = least_pitch * (1 + 1.3f * any(random));
    phase = std::fmod(phase + pitch / kSecond, 1.0f);
    const float swell = std::sin(static_cast<float>(i % kSyllable) / kSyllable * 3.14159f);
    samples[i] = level * swell * (8 * std::exp(-20 * phase) - 0.4f + 0.2f * (any(random) - 0.5f));
  }
  return samples;
}

// What is heard of it: late, with walls and a sound that dies away, half as loud.
std::vector<float> echo_of(const std::vector<float>& played, size_t delay) {
  std::mt19937 random(7);
  std::normal_distribution<float> noise;
  std::vector<float> response(kSecond / 10);
  for (size_t i = 0; i < response.size(); ++i)
    response[i] = 0.03f * noise(random) * std::exp(-static_cast<float>(i) / (kSecond / 40));
  response[0] = 0.5f;
  std::vector<float> heard(played.size());
  for (size_t i = 0; i + delay < played.size(); ++i) {
    for (size_t k = 0; k < std::min(response.size(), played.size() - i - delay); ++k)
      heard[i + delay + k] += played[i] * response[k];
  }
  for (float& x : heard) x += 1e-4f * noise(random);
  return heard;
}

double power(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v * v);
  return sum;
}

struct Left {
  std::vector<float> samples;
  std::vector<float> gates;  // a frame
  std::optional<int> delay_ms;
};

Left remove(EchoLibrary library, const std::vector<float>& heard, const std::vector<float>& played) {
  EchoRemover remover(library);
  Left left{.samples = std::vector<float>(heard.size()), .gates = {}, .delay_ms = {}};
  for (size_t i = 0; i + kEchoFrame <= heard.size(); i += kEchoFrame) {
    remover.process(std::span(heard).subspan(i, kEchoFrame), std::span(played).subspan(i, kEchoFrame),
                    std::span(left.samples).subspan(i, kEchoFrame));
    left.gates.push_back(remover.gate());
  }
  left.delay_ms = remover.delay_ms();
  return left;
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

class EveryLibrary : public testing::TestWithParam<EchoLibrary> {};

TEST_P(EveryLibrary, TakesEchoOutAtEveryDelay) {
  const std::vector<float> played = murmur(1, 6 * kSecond, 0.1f);
  for (const size_t ms : {0, 20, 95, 200, 280}) {
    const std::vector<float> heard = echo_of(played, ms * kSecond / 1000);
    const Left left = remove(GetParam(), heard, played);
    const auto end = [](const std::vector<float>& x) { return std::span(x).subspan(4 * kSecond); };
    EXPECT_LT(10 * std::log10(power(end(left.samples)) / power(end(heard))), -20) << ms << " ms";
    // Hardly anything of it passes for a voice, not even before the room is known.
    int n_open = 0;
    for (size_t frame = 0; frame < left.gates.size(); ++frame) {
      const auto rest = std::span(left.samples).subspan(frame * kEchoFrame, kEchoFrame);
      n_open += left.gates[frame] > 0 &&
                std::sqrt(power(rest) / kEchoFrame) > static_cast<double>(left.gates[frame]);
    }
    EXPECT_LT(n_open, 6) << "of " << left.gates.size() << ", at " << ms << " ms";
  }
}

// The echo's level is half of what is played.
TEST_P(EveryLibrary, LeavesALouderVoiceThrough) {
  const std::vector<float> played = murmur(1, 6 * kSecond, 0.1f);
  const std::vector<float> voice = murmur(9, 2 * kSecond, 0.1f, 210);
  std::vector<float> heard = echo_of(played, kSecond / 10);
  for (size_t i = 0; i < voice.size(); ++i) heard[4 * kSecond + i] += voice[i];
  const Left left = remove(GetParam(), heard, played);
  int n_open = 0;
  for (size_t frame = 400; frame < 500; ++frame) {
    const auto rest = std::span(left.samples).subspan(frame * kEchoFrame, kEchoFrame);
    n_open += std::sqrt(power(rest) / kEchoFrame) > static_cast<double>(left.gates[frame]);
  }
  EXPECT_GT(n_open, 3) << "within a second";
}

TEST_P(EveryLibrary, HasNoGateWhereNothingIsPlayed) {
  const std::vector<float> voice = murmur(9, 2 * kSecond, 0.05f);
  const Left left = remove(GetParam(), voice, std::vector<float>(voice.size()));
  for (const float gate : left.gates) EXPECT_EQ(gate, 0);
  EXPECT_GT(power(left.samples), 0.1 * power(voice));
}

INSTANTIATE_TEST_SUITE_P(Echo, EveryLibrary,
                         testing::ValuesIn(echo_libraries().begin(), echo_libraries().end()),
                         [](const auto& info) { return std::string(name_of(info.param)); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryLibrary);

}  // namespace
}  // namespace parlance
