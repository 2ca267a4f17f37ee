#include "audio/resampler.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

#include "gtest/gtest.h"

namespace parlance {
namespace {

std::vector<float> tone(double frequency_hz, int rate_hz, size_t n) {
  std::vector<float> samples(n);
  for (size_t i = 0; i < n; ++i)
    samples[i] = static_cast<float>(
        0.5 * std::sin(2 * std::numbers::pi * frequency_hz * static_cast<double>(i) / rate_hz));
  return samples;
}

TEST(Resampler, ASineStaysASine) {
  for (const auto& [from_hz, to_hz] : {std::pair{48000, 16000},
                                       {44100, 16000},
                                       {8000, 16000},
                                       {22050, 16000},
                                       {16000, 24000},
                                       {24000, 44100},
                                       {192000, 16000},
                                       {11025, 16000}}) {
    const auto n = static_cast<size_t>(from_hz);  // one second
    const auto got = resample(tone(1000, from_hz, n), from_hz, to_hz);
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(got->size(), static_cast<size_t>(to_hz));
    const std::vector<float> want = tone(1000, to_hz, got->size());
    for (size_t i = got->size() / 10; i < got->size() * 9 / 10; ++i)
      ASSERT_NEAR((*got)[i], want[i], 1e-4) << from_hz << " to " << to_hz << ", sample " << i;
  }
}

TEST(Resampler, WhatTheNewRateCannotHoldIsGone) {
  const auto got = resample(tone(10000, 48000, 48000), 48000, 16000);
  ASSERT_TRUE(got);
  for (size_t i = 1600; i < 14400; ++i) ASSERT_NEAR((*got)[i], 0, 1e-4);
}

TEST(Resampler, AnySplitGivesTheSameSamples) {
  std::mt19937 random(1);
  for (const auto& [from_hz, to_hz] :
       {std::pair{48000, 16000}, {44100, 16000}, {8000, 16000}, {16000, 16000}, {16000, 22050}}) {
    const std::vector<float> samples = tone(440, from_hz, 30011);
    const auto want = resample(samples, from_hz, to_hz);
    ASSERT_TRUE(want);
    for (const size_t most : {1, 100, 5000, 20000}) {
      auto resampler = Resampler::create(from_hz, to_hz);
      ASSERT_TRUE(resampler);
      std::vector<float> got;
      std::uniform_int_distribution<size_t> length(most == 1 ? 1 : 0, most);
      for (std::span<const float> rest(samples); !rest.empty();) {
        const size_t n = std::min(length(random), rest.size());
        ASSERT_TRUE(resampler->push(rest.first(n), got));
        rest = rest.subspan(n);
      }
      ASSERT_TRUE(resampler->finish(got));
      EXPECT_EQ(got, *want) << from_hz << " to " << to_hz << " in pieces of up to " << most;
    }
  }
}

TEST(Resampler, HasAsManySamplesAsTheTimeHas) {
  for (const auto& [from_hz, to_hz] :
       {std::pair{48000, 16000}, {44100, 16000}, {8000, 16000}, {1000, 768000}, {768000, 1000}}) {
    for (const size_t n : {0, 1, 2, 3, 7, 100, 4096, 4097, 12345}) {
      const auto got = resample(tone(100, from_hz, n), from_hz, to_hz);
      ASSERT_TRUE(got);
      const double want = static_cast<double>(n) * to_hz / from_hz;
      EXPECT_NEAR(static_cast<double>(got->size()), want, 1)
          << n << " samples from " << from_hz << " to " << to_hz;
    }
  }
}

TEST(Resampler, EqualRatesCopy) {
  const std::vector<float> samples = tone(440, 16000, 1000);
  EXPECT_EQ(*resample(samples, 16000, 16000), samples);
}

TEST(Resampler, RefusesRatesThatNothingHas) {
  for (const auto& [from_hz, to_hz] : {std::pair{0, 16000}, {999, 16000}, {16000, 768001}, {-16000, 16000}}) {
    const auto resampler = Resampler::create(from_hz, to_hz);
    ASSERT_FALSE(resampler);
    EXPECT_NE(resampler.error().message.find("between 1000 and 768000 Hz"), std::string::npos);
  }
}

}  // namespace
}  // namespace parlance
