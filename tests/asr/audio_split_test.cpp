#include "asr/audio_split.h"

#include <random>

#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

// The signal of the recorded cuts: noise of integers, its loudness another one every tenth of a second.
std::vector<float> recorded_signal(uint32_t seed, size_t n) {
  std::vector<float> samples(n);
  for (size_t k = 0; k < n; ++k) {
    seed = seed * 1664525u + 1013904223u;
    const auto amplitude = static_cast<int32_t>(k / 1600 * 7 % 23) + 1;
    samples[k] =
        static_cast<float>((static_cast<int32_t>((seed >> 16) % 2001) - 1000) * amplitude) / 32768.0f;
  }
  return samples;
}

// Cuts made while the samples come in pieces of random lengths.
std::vector<int64_t> streamed_cuts(std::span<const float> samples, const SplitRule& rule,
                                   std::mt19937& random) {
  std::vector<int64_t> points;
  size_t start = 0, n_there = 0;
  while (true) {
    const bool is_end = n_there == samples.size();
    while (const auto cut = next_cut(samples.subspan(start, n_there - start), rule, is_end)) {
      start += static_cast<size_t>(*cut);
      points.push_back(static_cast<int64_t>(start));
    }
    if (is_end) return points;
    n_there = std::min(samples.size(), n_there + 1 + random() % 700);
  }
}

TEST(AudioSplit, CutsAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("asr/text_rules.json");
  const auto rules = test::read_json(test::fixtures_root() / "asr/text_rules.json");
  for (const auto& row : rules.at("split")) {
    SplitRule rule;
    rule.max_seconds = row.at("max_chunk_sec").get<double>();
    rule.search_seconds = row.at("search_expand_sec").get<double>();
    const auto n = static_cast<size_t>(row.at("seconds").get<double>() * rule.rate_hz);
    const auto samples = recorded_signal(row.at("lcg_seed").get<uint32_t>(), n);
    std::vector<int64_t> lengths;
    int64_t start = 0;
    for (const int64_t point : split_points(samples, rule)) {
      lengths.push_back(point - start);
      start = point;
    }
    lengths.push_back(static_cast<int64_t>(n) - start);
    EXPECT_EQ(lengths, row.at("lengths").get<std::vector<int64_t>>());
  }
}

TEST(AudioSplit, LeavesShortRecordingsWhole) {
  const SplitRule rule{.rate_hz = 100, .max_seconds = 10};
  for (const size_t n : {0u, 1u, 999u, 1000u}) {
    EXPECT_TRUE(split_points(std::vector<float>(n), rule).empty()) << n;
  }
  EXPECT_EQ(split_points(std::vector<float>(1001), rule), std::vector<int64_t>{500});
}

TEST(AudioSplit, CutsInTheFirstOfTheQuietestStretches) {
  const SplitRule rule{.rate_hz = 100, .max_seconds = 10};
  std::vector<float> samples(2000, 0.5f);
  for (const size_t quiet : {700u, 1200u})
    std::fill_n(samples.begin() + static_cast<ptrdiff_t>(quiet), 10, -0.25f);
  samples[703] = samples[705] = 0.125f;
  samples[1203] = samples[1205] = 0.125f;
  EXPECT_EQ(split_points(samples, rule).front(), 703);
}

TEST(AudioSplit, StaysWithinALimit) {
  const SplitRule rule = SplitRule::within(12, 100);
  EXPECT_TRUE(split_points(std::vector<float>(1200), rule).empty());
  std::vector<float> samples(3000, 0.5f);
  std::fill_n(samples.begin() + 700, 10, 0.25f);
  int64_t start = 0;
  for (const int64_t point : split_points(samples, rule)) {
    EXPECT_GE(point - start, 600);
    EXPECT_LE(point - start, 1200);
    start = point;
  }
  EXPECT_LE(3000 - start, 1200);
  EXPECT_EQ(split_points(samples, rule).front(), 700);
  std::mt19937 random(4);
  EXPECT_EQ(streamed_cuts(samples, rule, random), split_points(samples, rule));
}

TEST(AudioSplit, WaitsForTheSamplesThatItLooksAt) {
  const SplitRule rule{.rate_hz = 100, .max_seconds = 10};
  const std::vector<float> samples(1500);
  EXPECT_FALSE(next_cut(std::span(samples).first(1499), rule, false));
  EXPECT_TRUE(next_cut(std::span(samples).first(1499), rule, true));
  EXPECT_TRUE(next_cut(samples, rule, false));
  const SplitRule exact{.rate_hz = 100, .max_seconds = 10, .search_seconds = 0};
  EXPECT_FALSE(next_cut(std::span(samples).first(1000), exact, false));
  EXPECT_EQ(next_cut(std::span(samples).first(1001), exact, false), 1000);
}

TEST(AudioSplit, IsTheSameForAStream) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> sample(-1, 1);
  for (int run = 0; run < 200; ++run) {
    SplitRule rule{.rate_hz = 1000};
    rule.max_seconds = 0.5 + static_cast<double>(random() % 3000) / 1000;
    rule.search_seconds = rule.max_seconds * static_cast<double>(random() % 100) / 100;
    if (run % 3 == 0) rule.whole_seconds = rule.max_seconds + rule.search_seconds;
    std::vector<float> samples(random() % 20000);
    const bool has_levels = run % 2 == 0;  // of which many are equal
    for (float& s : samples) s = has_levels ? static_cast<float>(random() % 3) : sample(random);
    const auto points = split_points(samples, rule);
    ASSERT_EQ(streamed_cuts(samples, rule, random), points);
    int64_t start = 0;
    for (const int64_t point : points) {
      ASSERT_GT(point, start);
      ASSERT_LE(static_cast<double>(point - start), (rule.max_seconds + rule.search_seconds) * 1000);
      start = point;
    }
    ASSERT_LE(static_cast<double>(static_cast<int64_t>(samples.size()) - start),
              std::max(rule.max_seconds, rule.whole_seconds) * 1000);
  }
}

}  // namespace
}  // namespace parlance
