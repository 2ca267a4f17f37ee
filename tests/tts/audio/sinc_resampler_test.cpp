#include "tts/audio/sinc_resampler.h"

#include <cmath>

#include "tts/audio/support/recorded_waves.h"

namespace parlance {
namespace {

TEST(SincResampler, RecordedRates) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/post");
  const std::vector<float> samples = test::recorded_floats("post/resample_in");
  const std::vector<std::pair<int, int>> rates{{16000, 24000}, {22050, 24000}, {24000, 16000},
                                               {44100, 24000}, {48000, 24000}, {8000, 24000}};
  for (const auto& [from, to] : rates) {
    const auto expected =
        test::recorded_floats("post/resample_" + std::to_string(from) + "_" + std::to_string(to));
    const auto got = sinc_resample(samples, from, to);
    ASSERT_EQ(got.size(), expected.size()) << from;
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6f) << from << " " << i;
  }
}

TEST(SincResampler, AnyLengthAndEqualRates) {
  for (const size_t n : {0, 1, 2, 3, 7}) {
    const std::vector<float> samples(n, 0.5f);
    EXPECT_EQ(sinc_resample(samples, 24000, 24000), samples);
    EXPECT_EQ(sinc_resample(samples, 24000, 16000).size(), (2 * n + 2) / 3) << n;
    EXPECT_EQ(sinc_resample(samples, 16000, 24000).size(), (3 * n + 1) / 2) << n;
  }
}

TEST(SincResampler, AToneKeepsItsFrequency) {
  std::vector<float> samples;
  for (int i = 0; i < 44101; ++i) samples.push_back(std::sin(static_cast<float>(i) * 0.05f));
  const auto got = sinc_resample(samples, 44101, 24000);  // rates without a common divisor
  for (size_t i = 100; i + 100 < got.size(); ++i)
    ASSERT_NEAR(got[i], std::sin(static_cast<double>(i) * 0.05 * 44101 / 24000), 2e-3) << i;
}

}  // namespace
}  // namespace parlance
