#include "tts/speech_quality.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tts/speech_request.h"

namespace parlance::test {
namespace {

using Ends = std::vector<int64_t>;

TEST(SpeechQuality, BlocksEndWhereTheyShould) {
  const SpeechShortcuts first{.first_frames = 32}, blocks{.first_frames = 32, .block_frames = 32},
      even{.block_frames = 10}, none{};
  EXPECT_EQ(block_ends(none, 5), (Ends{5}));
  EXPECT_EQ(block_ends(first, 163), (Ends{32, 163}));
  EXPECT_EQ(block_ends(first, 48), (Ends{32, 48}));
  EXPECT_EQ(block_ends(first, 47), (Ends{47}));  // 15 frames behind it are not worth passes of their own
  EXPECT_EQ(block_ends(blocks, 163), (Ends{32, 64, 96, 128, 163}));
  EXPECT_EQ(block_ends(blocks, 40), (Ends{40}));
  EXPECT_EQ(block_ends(even, 34), (Ends{10, 20, 34}));
  EXPECT_EQ(block_ends(even, 35), (Ends{10, 20, 30, 35}));
  for (int64_t n = 1; n < 200; ++n) {
    const Ends ends = block_ends(blocks, n);
    EXPECT_TRUE(std::ranges::is_sorted(ends));
    EXPECT_EQ(ends.back(), n);
    EXPECT_EQ(std::ranges::adjacent_find(ends), ends.end());
  }
}

TEST(SpeechQuality, NamesGoBothWays) {
  for (const auto quality : {SpeechQuality::exact, SpeechQuality::standard, SpeechQuality::fast})
    EXPECT_EQ(speech_quality_from_name(name_of(quality)), quality);
  EXPECT_FALSE(speech_quality_from_name("best"));
}

TEST(SpeechQuality, ARequestTakesTheStepsOfItsQualityUnlessItHasItsOwn) {
  SpeechRequest request;
  EXPECT_EQ(decoding_of(request, true).n_step, 32);
  EXPECT_FALSE(shortcuts_of(request));
  request.quality = SpeechQuality::standard;
  EXPECT_EQ(decoding_of(request, true).n_step, 12);
  EXPECT_EQ(decoding_of(request, false).n_step, 16);
  EXPECT_EQ(shortcuts_of(request), shortcuts_of(SpeechQuality::standard));
  request.decoding.n_step = 5;
  request.shortcuts = SpeechShortcuts{.block_frames = 7};
  EXPECT_EQ(decoding_of(request, false).n_step, 5);
  EXPECT_EQ(shortcuts_of(request)->block_frames, 7);
}

TEST(SpeechQuality, RefusesWhatHasNoMeaning) {
  SpeechRequest request;
  request.quality = SpeechQuality::fast;
  EXPECT_TRUE(check_decoding(request));
  request.mask = GuidanceMask::soft;
  EXPECT_FALSE(check_decoding(request));
  request.mask = GuidanceMask::hard;
  for (const SpeechShortcuts& wrong :
       {SpeechShortcuts{.first_frames = -1}, SpeechShortcuts{.kept_steps = 0},
        SpeechShortcuts{.confidence = NAN}, SpeechShortcuts{.guidance_share = 2}}) {
    request.shortcuts = wrong;
    EXPECT_FALSE(check_decoding(request));
  }
}

}  // namespace
}  // namespace parlance::test
