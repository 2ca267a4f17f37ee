#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/parameter.h"
#include "gtest/gtest.h"

namespace parlance {
namespace {

using Distribution = std::map<int32_t, double>;

// Options with every step off and temperature 1; tests turn on what they are about.
SamplingOptions plain() {
  SamplingOptions options;
  options.temperature = 1;
  options.top_k = 0;
  options.top_p = 1;
  options.min_p = 0;
  return options;
}

Distribution distribution(Sampler& sampler, const std::vector<float>& logits) {
  Distribution result;
  for (const TokenProbability& p : sampler.distribution(logits)) result[p.token] = p.probability;
  return result;
}

Distribution distribution(const SamplingOptions& options, const std::vector<float>& logits) {
  Sampler sampler(options);
  return distribution(sampler, logits);
}

void expect_near(const Distribution& got, const Distribution& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [token, probability] : expected) {
    ASSERT_TRUE(got.contains(token)) << token;
    EXPECT_NEAR(got.at(token), probability, 1e-6) << token;
  }
}

// Logits whose softmax is these probabilities.
std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

const std::vector<double> kHalves = {0.05, 0.5, 0.15, 0.3};

TEST(Sampler, SoftmaxWithNothingElse) {
  expect_near(distribution(plain(), logits_of(kHalves)), {{0, 0.05}, {1, 0.5}, {2, 0.15}, {3, 0.3}});
}

TEST(Sampler, TopK) {
  SamplingOptions options = plain();
  options.top_k = 2;
  expect_near(distribution(options, logits_of(kHalves)), {{1, 0.625}, {3, 0.375}});
  options.top_k = 4;
  EXPECT_EQ(distribution(options, logits_of(kHalves)).size(), 4u);
  options.top_k = 400;
  EXPECT_EQ(distribution(options, logits_of(kHalves)).size(), 4u);
  // Of equals the lowest ids stay.
  options.top_k = 2;
  expect_near(distribution(options, {1, 7, 7, 7}), {{1, 0.5}, {2, 0.5}});
}

TEST(Sampler, TopPKeepsTheTokenThatReachesP) {
  SamplingOptions options = plain();
  options.top_p = 0.79f;
  expect_near(distribution(options, logits_of(kHalves)), {{1, 0.625}, {3, 0.375}});
  options.top_p = 0.81f;
  expect_near(distribution(options, logits_of(kHalves)),
              {{1, 0.5 / 0.95}, {3, 0.3 / 0.95}, {2, 0.15 / 0.95}});
  for (const float least : {1e-6f, 0.0f}) {
    options.top_p = least;
    expect_near(distribution(options, logits_of(kHalves)), {{1, 1.0}});
  }
}

TEST(Sampler, TopPLooksAtWhatTopKLeft) {
  SamplingOptions options = plain();
  options.top_k = 3;      // 0.5, 0.3, 0.15 become 0.526, 0.316, 0.158
  options.top_p = 0.83f;  // 0.8 of the whole, but 0.842 of these
  expect_near(distribution(options, logits_of(kHalves)), {{1, 0.625}, {3, 0.375}});
}

TEST(Sampler, MinP) {
  SamplingOptions options = plain();
  options.min_p = 0.31f;
  expect_near(distribution(options, logits_of(kHalves)), {{1, 0.625}, {3, 0.375}});
  options.min_p = 1;
  expect_near(distribution(options, {1, 3, 3, 2}), {{1, 0.5}, {2, 0.5}});
}

TEST(Sampler, TemperatureComesLast) {
  SamplingOptions options = plain();
  options.temperature = 0.5f;  // squares the ratios
  expect_near(distribution(options, logits_of({0.2, 0.8})), {{0, 1.0 / 17}, {1, 16.0 / 17}});
  // Were it first, 0.8 would have become 0.94 and token 0 would be dropped.
  options.top_p = 0.9f;
  EXPECT_EQ(distribution(options, logits_of({0.2, 0.8})).size(), 2u);
  options = plain();
  options.temperature = 1e-30f;
  expect_near(distribution(options, {1, 2, 1.999f}), {{0, 0.0}, {1, 1.0}, {2, 0.0}});
}

TEST(Sampler, PenaltiesByHand) {
  SamplingOptions options = plain();
  options.repetition_penalty = 2;
  options.presence_penalty = 0.5f;
  options.frequency_penalty = 0.25f;
  Sampler sampler(options);
  for (const int32_t token : {0, 1, 1, 3, 77, -1})
    sampler.accept(token);  // the last two are in no vocabulary of four
  // 4 / 2 - 0.5 - 0.25; -1 * 2 - 0.5 - 2 * 0.25; unseen; 0 - 0.5 - 0.25
  const std::vector<double> expected = {1.25, -3, 1, -0.75};
  double sum = 0;
  for (const double x : expected) sum += std::exp(x);
  Distribution probabilities;
  for (int i = 0; i < 4; ++i) probabilities[i] = std::exp(expected[static_cast<size_t>(i)]) / sum;
  const std::vector<float> logits = {4, -1, 1, 0};
  expect_near(distribution(sampler, logits), probabilities);
  EXPECT_EQ(logits, (std::vector<float>{4, -1, 1, 0}));

  sampler.reset();
  expect_near(distribution(sampler, {1, 1}), {{0, 0.5}, {1, 0.5}});
}

TEST(Sampler, PenaltiesForgetWhatIsLongAgo) {
  SamplingOptions options = plain();
  options.temperature = 0;
  options.presence_penalty = 10;
  options.penalty_last_n = 2;
  Sampler sampler(options);
  const std::vector<float> logits = {5, 4, 3, 2};
  for (const int32_t token : {0, 1, 2}) sampler.accept(token);
  EXPECT_EQ(sampler.sample(logits), 0);
  sampler.accept(0);  // seen: 2 and 0
  EXPECT_EQ(sampler.sample(logits), 1);
  sampler.accept(0);
  sampler.accept(0);
  sampler.accept(1);  // seen: 0, once, and 1
  EXPECT_EQ(sampler.sample(logits), 2);

  options.penalty_last_n = -1;
  Sampler all(options);
  for (const int32_t token : {0, 1, 2, 2, 2, 2}) all.accept(token);
  EXPECT_EQ(all.sample(logits), 3);
  options.penalty_last_n = 0;
  Sampler none(options);
  none.accept(0);
  EXPECT_EQ(none.sample(logits), 0);
}

TEST(Sampler, BiasComesBeforePenalties) {
  SamplingOptions options = plain();
  options.logit_bias = {{0, 3.0f}, {2, -INFINITY}, {1, 1.0f}, {1, 0.5f}, {99, 1.0f}};
  options.repetition_penalty = 3;
  Sampler sampler(options);
  sampler.accept(0);
  // (0 + 3) / 3; the other way round it would be 0 / 3 + 3.
  const double a = std::exp(1.0), b = std::exp(1.5);
  expect_near(distribution(sampler, {0, 0, 9}), {{0, a / (a + b)}, {1, b / (a + b)}});
}

TEST(Sampler, GreedyTakesTheLowestOfEquals) {
  SamplingOptions options;
  options.temperature = 0;
  Sampler sampler(options);
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{7}), 0);
  std::vector<float> many(1000, -1.0f);
  many[999] = many[500] = many[130] = 0;
  EXPECT_EQ(sampler.sample(many), 130);
}

TEST(Sampler, OddNumbersDoNoHarm) {
  const float nan = NAN, infinity = INFINITY;
  for (const float temperature : {0.0f, 1.0f}) {
    for (const int top_k : {0, 2}) {
      SamplingOptions options = plain();
      options.temperature = temperature;
      options.top_k = top_k;
      Sampler sampler(options);
      EXPECT_EQ(sampler.sample(std::vector<float>{nan, -infinity, -5, nan}), 2);
      EXPECT_EQ(sampler.sample(std::vector<float>{1, infinity, 2, 3}), 1);
      EXPECT_EQ(sampler.sample(std::vector<float>{-infinity, -infinity, nan}), 0);
      EXPECT_EQ(sampler.sample(std::vector<float>{nan}), 0);
      EXPECT_EQ(sampler.sample(std::vector<float>{-3e38f, 3e38f, 0}), 1);
    }
  }
  expect_near(distribution(plain(), {-infinity, nan}), {{0, 1.0}});
  SamplingOptions greedy;
  greedy.temperature = 0;
  EXPECT_EQ(Sampler(greedy).sample(std::vector<float>{0, infinity, infinity, 3e38f}), 1);
}

// The whole chain against a definition that sorts everything.
TEST(Sampler, PartialSelectionIsAsGoodAsSorting) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 300; ++round) {
    std::vector<float> logits(1 + random() % 700);
    for (float& logit : logits)
      logit = static_cast<float>(static_cast<int64_t>(random() % 2000) - 1000) / 150;
    SamplingOptions options = plain();
    if (random() % 2) options.top_k = static_cast<int>(random() % 100);
    if (random() % 2) options.top_p = static_cast<float>(1 + random() % 999) / 1000;
    if (random() % 2) options.min_p = static_cast<float>(random() % 300) / 1000;

    std::vector<int32_t> order(logits.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    const auto logit = [&](int32_t i) { return logits[static_cast<size_t>(i)]; };
    std::ranges::sort(
        order, [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
    if (options.top_k > 0 && static_cast<size_t>(options.top_k) < order.size())
      order.resize(static_cast<size_t>(options.top_k));
    const auto weight = [&](int32_t i) { return std::exp(static_cast<double>(logit(i)) - logit(order[0])); };
    double total = 0, sum = 0, kept = 0;
    for (const int32_t i : order) total += weight(i);
    Distribution expected;
    bool is_close = false;  // to a threshold, so that rounding decides
    for (const int32_t i : order) {
      is_close |= std::abs(weight(i) - options.min_p) < 1e-9;
      if (weight(i) < options.min_p) break;
      expected[i] = weight(i);
      kept += weight(i);
      sum += weight(i);
      is_close |= options.top_p < 1 && std::abs(sum - options.top_p * total) < 1e-9;
      if (options.top_p < 1 && sum >= options.top_p * total) break;
    }
    if (is_close) continue;
    for (auto& [token, probability] : expected) probability /= kept;
    expect_near(distribution(options, logits), expected);
  }
}

TEST(Sampler, DrawsWithTheProbabilitiesOfTheDistribution) {
  SamplingOptions options = plain();
  options.top_k = 3;
  options.temperature = 0.8f;
  for (const uint64_t seed : {0, 1, 2}) {
    options.seed = seed;
    Sampler sampler(options);
    const std::vector<float> logits = logits_of(kHalves);
    const Distribution expected = distribution(sampler, logits);
    constexpr int kDraws = 20000;
    std::map<int32_t, int> counts;
    for (int i = 0; i < kDraws; ++i) ++counts[sampler.sample(logits)];
    ASSERT_EQ(counts.size(), 3u);
    double chi_square = 0;
    for (const auto& [token, p] : expected)
      chi_square += std::pow(counts[token] - kDraws * p, 2) / (kDraws * p);
    EXPECT_LT(chi_square, 13.8);  // exceeded once in a thousand, two degrees of freedom
  }
}

TEST(Sampler, TheSameSeedGivesTheSameTokens) {
  SamplingOptions options;
  options.seed = 42;
  options.frequency_penalty = 0.1f;
  const auto answer = [](Sampler& sampler) {
    std::vector<int32_t> tokens;
    for (int i = 0; i < 50; ++i) {
      std::vector<float> logits(300);
      for (size_t t = 0; t < logits.size(); ++t)
        logits[t] = static_cast<float>((t * 7919 + static_cast<size_t>(i) * 31) % 97) / 16;
      tokens.push_back(sampler.sample(logits));
      sampler.accept(tokens.back());
    }
    return tokens;
  };
  Sampler first(options), second(options);
  const std::vector<int32_t> tokens = answer(first);
  EXPECT_EQ(answer(second), tokens);
  first.reset();
  EXPECT_EQ(answer(first), tokens);
  // A copy goes on from where it was made.
  Sampler copy = first;
  EXPECT_EQ(answer(copy), answer(first));
  options.seed = 43;
  Sampler other(options);
  EXPECT_NE(answer(other), tokens);
}

// Numbers that must not change: an answer with a given seed is the same in every version and on every
// machine.
TEST(Sampler, KnownDraws) {
  SamplingOptions options = plain();
  options.seed = 5489;  // first numbers: 0.787, 0.250, 0.711, 0.947 of the range
  Sampler sampler(options);
  std::vector<float> logits(10, 0.0f);
  std::vector<int32_t> tokens;
  for (int i = 0; i < 8; ++i) tokens.push_back(sampler.sample(logits));
  EXPECT_EQ(tokens, (std::vector<int32_t>{7, 2, 7, 9, 0, 4, 2, 0}));
}

TEST(Sampler, ErrorsNameTheOption) {
  EXPECT_TRUE(validate(SamplingOptions{}));
  EXPECT_TRUE(validate(plain()));
  const auto message = [](auto change) {
    SamplingOptions options;
    change(options);
    const Result<void> result = validate(options);
    return result ? std::string() : without_marks(result.error().message);
  };
  EXPECT_EQ(message([](auto& o) { o.top_p = 1.5f; }), "top_p must be in [0, 1], got 1.5");
  EXPECT_EQ(message([](auto& o) { o.top_p = -0.5f; }), "top_p must be in [0, 1], got -0.5");
  EXPECT_EQ(message([](auto& o) { o.temperature = -1; }), "temperature must be 0 or more, got -1");
  EXPECT_EQ(message([](auto& o) { o.temperature = NAN; }), "temperature must be 0 or more, got nan");
  EXPECT_EQ(message([](auto& o) { o.temperature = INFINITY; }), "temperature must be 0 or more, got inf");
  EXPECT_EQ(message([](auto& o) { o.top_k = -1; }), "top_k must be 0 or more, got -1");
  EXPECT_EQ(message([](auto& o) { o.min_p = 2; }), "min_p must be in [0, 1], got 2");
  EXPECT_EQ(message([](auto& o) { o.repetition_penalty = 0; }), "repeat_penalty must be above 0, got 0");
  EXPECT_EQ(message([](auto& o) { o.presence_penalty = NAN; }),
            "presence_penalty must be a finite number, got nan");
  EXPECT_EQ(message([](auto& o) { o.frequency_penalty = INFINITY; }),
            "frequency_penalty must be a finite number, got inf");
  EXPECT_EQ(message([](auto& o) { o.penalty_last_n = -2; }), "repeat_last_n must be -1 or more, got -2");
  EXPECT_EQ(message([](auto& o) {
              o.logit_bias = {{1, NAN}};
            }),
            "logit_bias must be a finite number or -inf, got nan");
  EXPECT_EQ(message([](auto& o) {
              o.logit_bias = {{-1, 0.0f}};
            }),
            "token of logit_bias must be 0 or more, got -1");
  EXPECT_EQ(message([](auto& o) { o.logit_bias = {{1, -INFINITY}}; }), "");
}

}  // namespace
}  // namespace parlance
