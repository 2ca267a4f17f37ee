#include "audio/g711.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "audio/resampler.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

constexpr G711Law kLaws[] = {G711Law::mu, G711Law::a};

TEST(G711, HasTheValuesOfTheRecommendation) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const auto json = test::read_json(test::fixtures_root() / "server" / "g711.json");
  const auto samples = json["samples"].get<std::vector<int16_t>>();
  ASSERT_FALSE(samples.empty());
  for (const G711Law law : kLaws) {
    const std::string name = law == G711Law::mu ? "ulaw" : "alaw";
    const auto decoded = json[name + "_decode"].get<std::vector<int16_t>>();
    ASSERT_EQ(decoded.size(), 256u);
    for (int code = 0; code < 256; ++code) {
      EXPECT_EQ(decode_g711(law, static_cast<uint8_t>(code)), decoded[static_cast<size_t>(code)])
          << name << " " << code;
    }
    const auto encoded = json[name + "_encode"].get<std::vector<uint8_t>>();
    ASSERT_EQ(encoded.size(), samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      EXPECT_EQ(encode_g711(law, samples[i]), encoded[i]) << name << " of " << samples[i];
    }
  }
}

// Of all samples: the code's own sample is at most half a step away, and codes are never less for more.
TEST(G711, ACodeIsTheNearestOneToEverySample) {
  for (const G711Law law : kLaws) {
    int before = -40000;
    for (int sample = -32768; sample <= 32767; ++sample) {
      const int back = decode_g711(law, encode_g711(law, static_cast<int16_t>(sample)));
      EXPECT_GE(back, before) << sample;
      before = back;
      // Steps are 16 times finer than the sample, or the law's finest: 8 of 16 bits, and 16.
      const int step = std::max(law == G711Law::mu ? 8 : 16, (std::abs(sample) + 132) / 16);
      const int clipped = law == G711Law::mu ? 32636 : 32768;
      if (std::abs(sample) < clipped) {
        EXPECT_LE(std::abs(back - sample), step / 2 + 4) << sample;
      }
    }
  }
}

TEST(G711, EveryCodeIsTheCodeOfItsSample) {
  for (const G711Law law : kLaws) {
    for (int code = 0; code < 256; ++code) {
      if (law == G711Law::mu && code == 0x7f) continue;  // the negative zero
      EXPECT_EQ(encode_g711(law, decode_g711(law, static_cast<uint8_t>(code))), code);
    }
  }
}

TEST(G711, WhatIsNoSampleIsClippedOrSilent) {
  std::vector<std::byte> codes;
  append_g711(G711Law::mu, std::vector<float>{2, -2, INFINITY, NAN, 0}, codes);
  EXPECT_EQ(codes, (std::vector<std::byte>{std::byte{0x80}, std::byte{0}, std::byte{0x80}, std::byte{0xff},
                                           std::byte{0xff}}));
}

// A tone goes over the telephone and comes back at the rates of the synthesizer and the recogniser.
TEST(G711, ATonePassesBothWays) {
  for (const G711Law law : kLaws) {
    for (const int rate_hz : {16000, 24000}) {
      std::vector<float> tone(static_cast<size_t>(rate_hz));
      const auto value = [&](size_t i) {
        return 0.5 * std::sin(2 * std::numbers::pi * 700 * static_cast<double>(i) / rate_hz);
      };
      for (size_t i = 0; i < tone.size(); ++i) tone[i] = static_cast<float>(value(i));
      const auto narrow = resample(tone, rate_hz, kG711RateHz);
      ASSERT_TRUE(narrow);
      std::vector<std::byte> codes;
      append_g711(law, *narrow, codes);
      ASSERT_EQ(codes.size(), static_cast<size_t>(kG711RateHz));
      std::vector<float> decoded;
      append_g711_samples(law, codes, decoded);
      const auto back = resample(decoded, kG711RateHz, rate_hz);
      ASSERT_TRUE(back);
      ASSERT_EQ(back->size(), tone.size());
      double signal = 0, noise = 0;
      for (size_t i = tone.size() / 10; i < tone.size() * 9 / 10; ++i) {
        signal += value(i) * value(i);
        noise += std::pow(static_cast<double>((*back)[i]) - value(i), 2);
      }
      EXPECT_GT(10 * std::log10(signal / noise), 33) << rate_hz;  // dB, what the laws are made for
    }
  }
}

}  // namespace
}  // namespace parlance
