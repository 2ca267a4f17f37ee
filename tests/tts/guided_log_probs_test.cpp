#include "tts/guided_log_probs.h"

#include <cmath>
#include <limits>
#include <random>

#include "support/fixtures.h"
#include "support/npy.h"

namespace parlance {
namespace {

std::vector<float> random_logits(int64_t n, float scale, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = normal(random);
  return values;
}

TEST(GuidedLogProbs, EveryInstructionSetAgreesWithTheDefinition) {
  for (const Isa isa : available_isas()) {
    for (const int64_t n : {2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 65, 1025}) {
      for (const float guidance : {0.0f, 0.5f, 2.0f, -1.0f}) {
        const std::vector<float> cond = random_logits(n, 4, 1), uncond = random_logits(n, 4, 2);
        const GuidedRow row{.cond = cond.data(),
                            .uncond = guidance == 0 ? nullptr : uncond.data(),
                            .guidance = guidance,
                            .n_vocab = n,
                            .mask_id = n / 2};
        std::vector<float> expected(cond.size()), got(cond.size());
        const float largest = guided_log_probs_of(Isa::scalar)(row, expected.data());
        const float got_largest = guided_log_probs_of(isa)(row, got.data());
        for (size_t i = 0; i < got.size(); ++i) {
          if (static_cast<int64_t>(i) == row.mask_id) {
            EXPECT_EQ(got[i], -std::numeric_limits<float>::infinity());
          } else {
            EXPECT_NEAR(got[i], expected[i], 5e-6f + 2e-7f * std::fabs(expected[i]))
                << name_of(isa) << " " << n << " " << i;
          }
        }
        EXPECT_NEAR(got_largest, largest, 5e-6f + 2e-7f * std::fabs(largest)) << name_of(isa) << " " << n;
        EXPECT_EQ(got_largest, *std::ranges::max_element(got));
      }
    }
  }
}

TEST(GuidedLogProbs, WhatIsNoNumberIsNoticedWhereverItIs) {
  constexpr int64_t kN = 21;
  for (const Isa isa : available_isas()) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      for (size_t at = 0; at < kN; ++at) {
        for (const bool is_cond : {true, false}) {
          std::vector<float> cond = random_logits(kN, 1, 3), uncond = random_logits(kN, 1, 4), out(kN);
          (is_cond ? cond : uncond)[at] = bad;
          const GuidedRow row{
              .cond = cond.data(), .uncond = uncond.data(), .guidance = 2, .n_vocab = kN, .mask_id = 20};
          EXPECT_TRUE(std::isnan(guided_log_probs_of(isa)(row, out.data()))) << name_of(isa) << " " << at;
        }
      }
    }
  }
}

TEST(GuidedLogProbs, RecordedLogSoftmax) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/rng");
  const auto folder = test::fixtures_root() / "omnivoice/rng";
  const std::vector<float> logits = test::read_npy(folder / "gumbel_in.npy").as_floats();
  const std::vector<float> expected = test::read_npy(folder / "log_softmax_out.npy").as_floats();
  for (const Isa isa : available_isas()) {
    std::vector<float> got(logits.size());
    guided_log_probs_of(isa)(
        {.cond = logits.data(), .uncond = nullptr, .guidance = 0, .n_vocab = 65, .mask_id = 64}, got.data());
    for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(got[i], expected[i], 2e-6f) << name_of(isa) << " " << i;
  }
}

}  // namespace
}  // namespace parlance
