#include "sampling/draft_sampler.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "support/chi_squared.h"

namespace parlance {
namespace {

TEST(ChiSquared, TailsAreThoseOfTables) {
  EXPECT_NEAR(test::chi_squared_tail(3.841459, 1), 0.05, 1e-6);
  EXPECT_NEAR(test::chi_squared_tail(18.307038, 10), 0.05, 1e-6);
  EXPECT_NEAR(test::chi_squared_tail(149.449253, 100), 0.001, 1e-6);
  EXPECT_NEAR(test::chi_squared_tail(61.917925, 100), 0.999, 1e-6);
}

std::vector<float> random_logits(std::mt19937_64& random, size_t n, double spread) {
  std::normal_distribution<double> normal;
  std::vector<float> logits(n);
  for (float& logit : logits) logit = static_cast<float>(spread * normal(random));
  return logits;
}

test::Counts<int32_t> shares_of(Sampler sampler, std::span<const float> logits) {
  test::Counts<int32_t> shares;
  for (const TokenProbability& one : sampler.distribution(logits)) shares[one.token] = one.probability;
  return shares;
}

struct Setting {
  const char* name;
  double spread;  // of the logits
  double apart;   // of the drafter's from the model's
  SamplingOptions options;
};

std::vector<Setting> settings() {
  const SamplingOptions usual, free{.temperature = 1.0f, .top_k = 0, .top_p = 1, .min_p = 0};
  SamplingOptions penal = free;
  penal.repetition_penalty = 1.3f;
  penal.presence_penalty = 0.5f;
  penal.logit_bias = {{3, 2.0f}, {5, -INFINITY}};
  return {{"drafter alike", 1.5, 0.3, usual},
          {"drafter unlike", 1.5, 3, free},
          {"the same drafter", 1, 0, free},
          {"narrow", 2, 1, {.temperature = 0.6f, .top_k = 3, .top_p = 0.8f}},
          {"hot", 1, 1, {.temperature = 2.0f, .top_k = 0, .top_p = 1, .min_p = 0.1f}},
          {"penalties", 1, 1, penal}};
}

// Draws with a proposal that a drafter drew, as often as without one; and taken as often as can be.
TEST(SpeculativeSampling, LeavesTheDistributionAsItIs) {
  constexpr int kDraws = 20000;
  for (const Setting& setting : settings()) {
    for (const uint64_t seed : {1, 2, 3}) {
      SCOPED_TRACE(testing::Message() << setting.name << ", seed " << seed);
      std::mt19937_64 random(seed);
      const auto target = random_logits(random, 24, setting.spread);
      auto drafter = random_logits(random, 24, setting.apart);
      for (size_t i = 0; i < drafter.size(); ++i) drafter[i] += target[i];
      SamplingOptions options = setting.options;
      options.seed = seed;
      Sampler sampler(options);
      DraftSampler drafts(options, DraftRule::sampling);
      for (const int32_t token : {3, 5, 7}) {
        sampler.accept(token);
        drafts.accept(token);
      }
      const auto expected = shares_of(sampler, target);
      test::Counts<int32_t> counts, proposed;
      double n_taken = 0;
      for (int i = 0; i < kDraws; ++i) {
        Draft draft;
        drafts.begin(i);
        ASSERT_TRUE(drafts.propose(drafter, 0, draft));
        const int32_t token = sampler.sample(target, draft.proposal(0));
        ++counts[token];
        ++proposed[draft.tokens[0]];
        n_taken += token == draft.tokens[0];
      }
      EXPECT_GT(test::p_value(counts, expected), 0.001);
      test::Counts<int32_t> drawn_from;
      Draft draft;
      drafts.begin(0);
      ASSERT_TRUE(drafts.propose(drafter, 0, draft));
      double overlap = 0;
      for (const TokenProbability& one : draft.drawn_from[0]) {
        drawn_from[one.token] = one.probability;
        if (expected.contains(one.token)) overlap += std::min(one.probability, expected.at(one.token));
      }
      EXPECT_GT(test::p_value(proposed, drawn_from), 0.001);
      overlap = std::min(overlap, 1.0);
      EXPECT_NEAR(n_taken / kDraws, overlap, 4 * std::sqrt(overlap * (1 - overlap) / kDraws) + 1e-9);
    }
  }
}

// What nobody drew, such as a token that was looked up: as if it had not been proposed, but for its place in
// the order of the draws.
TEST(SpeculativeSampling, OfTheOnlyTokenThatCouldCome) {
  for (const uint64_t seed : {1, 2, 3}) {
    std::mt19937_64 random(seed);
    const auto target = random_logits(random, 12, 1);
    Sampler sampler({.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed});
    const auto expected = shares_of(sampler, target);
    for (const int32_t token : {0, 5, 11, 99}) {
      test::Counts<int32_t> counts;
      for (int i = 0; i < 20000; ++i) ++counts[sampler.sample(target, {token})];
      EXPECT_GT(test::p_value(counts, expected), 0.001) << token;
    }
  }
}

TEST(SpeculativeSampling, GreedyChoicesKnowNoProposals) {
  Sampler sampler({.temperature = 0});
  const std::vector<float> logits = {1, 3, 2};
  for (const int32_t token : {0, 1, 2}) EXPECT_EQ(sampler.sample(logits, {token}), 1);
  EXPECT_FALSE(DraftSampler({.temperature = 0}, DraftRule::sampling).draws());
  EXPECT_FALSE(DraftSampler({.temperature = 1}, DraftRule::exact).draws());
}

TEST(SpeculativeSampling, TakesOneRandomNumberForAToken) {
  const SamplingOptions options{.temperature = 1, .seed = 5};
  Sampler with(options), without(options);
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) {
    const auto logits = random_logits(random, 10, 1);
    (void)with.sample(logits, {i % 10});
    (void)without.sample(logits);
  }
  const auto logits = random_logits(random, 10, 1);
  EXPECT_EQ(with.sample(logits), without.sample(logits));
}

TEST(DraftSampler, ProposesTheLikeliestByTheExactRule) {
  DraftSampler drafts({.temperature = 1, .seed = 1}, DraftRule::exact);
  drafts.begin(0);
  Draft draft;
  const std::vector<float> logits = {0, 1, 3, 2};
  ASSERT_TRUE(drafts.propose(logits, 0, draft));
  EXPECT_EQ(draft.tokens, std::vector<int32_t>{2});
  EXPECT_TRUE(draft.drawn_from.empty());
  EXPECT_EQ(draft.proposal(0).token, 2);
  EXPECT_TRUE(draft.proposal(0).drawn_from.empty());
}

TEST(DraftSampler, ProbabilitiesAreTheDraftersOwn) {
  std::mt19937_64 random(4);
  for (const size_t n : {1, 2, 15, 16, 17, 1000, 50001}) {
    const auto logits = random_logits(random, n, 3);
    DraftSampler drafts({.temperature = 0, .logit_bias = {{0, 5.0f}}}, DraftRule::exact);
    drafts.begin(0);
    Draft draft;
    ASSERT_TRUE(drafts.propose(logits, 0, draft));
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    const auto token = static_cast<size_t>(draft.tokens[0]);
    EXPECT_NEAR(draft.probabilities[0] * sum / std::exp(static_cast<double>(logits[token])), 1, 1e-4) << n;
  }
}

// The likeliest token's probability decides, not that of what was drawn.
TEST(DraftSampler, StopsWhereNothingIsLikely) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  for (const DraftRule rule : {DraftRule::exact, DraftRule::sampling}) {
    DraftSampler drafts({.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0}, rule);
    for (int i = 0; i < 100; ++i) {
      Draft draft;
      drafts.begin(i);
      EXPECT_TRUE(drafts.propose(logits, 0.49f, draft));
      EXPECT_FALSE(drafts.propose(logits, 0.51f, draft));
      EXPECT_EQ(draft.n_tokens(), 1);
    }
  }
}

TEST(DraftSampler, WhatIsNoNumberIsNotProposed) {
  DraftSampler drafts({.temperature = 0}, DraftRule::exact);
  drafts.begin(0);
  Draft draft;
  EXPECT_FALSE(drafts.propose(std::vector<float>{NAN, NAN, -INFINITY}, 0, draft));
  EXPECT_FALSE(drafts.propose(std::vector<float>{0, INFINITY}, 0, draft));
  EXPECT_FALSE(drafts.propose(std::vector<float>{}, 0, draft));
  EXPECT_EQ(draft.n_tokens(), 0);
  EXPECT_TRUE(drafts.propose(std::vector<float>{NAN, -5, NAN}, 0, draft));
  EXPECT_EQ(draft.tokens, std::vector<int32_t>{1});
}

// Penalties count what is drafted as long as the draft lasts, whatever came before.
TEST(DraftSampler, PenaltiesGoAlongADraftAndAreForgotten) {
  const SamplingOptions options{.temperature = 0, .presence_penalty = 1};
  const std::vector<float> logits = {3, 2.5f, 2};
  DraftSampler drafts(options, DraftRule::exact);
  drafts.accept(0);
  for (int i = 0; i < 3; ++i) {
    drafts.begin(i);
    Draft draft;
    for (int n = 0; n < 3; ++n) ASSERT_TRUE(drafts.propose(logits, 0, draft));
    EXPECT_EQ(draft.tokens, (std::vector<int32_t>{1, 0, 0}));  // 1 is penalised, then all are
  }
  drafts.accept(1);
  drafts.begin(3);
  Draft draft;
  ASSERT_TRUE(drafts.propose(logits, 0, draft));
  EXPECT_EQ(draft.tokens, std::vector<int32_t>{0});
}

TEST(DraftSampler, AnotherDraftInItsPlaceIsTheSame) {
  std::mt19937_64 random(2);
  const auto logits = random_logits(random, 50, 1);
  for (const DraftRule rule : {DraftRule::exact, DraftRule::sampling}) {
    DraftSampler drafts({.temperature = 1, .frequency_penalty = 1, .seed = 4}, rule);
    drafts.begin(7);
    Draft first, second;
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(drafts.propose(logits, 0, first));
    drafts.begin_again();
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(drafts.propose(logits, 0, second));
    EXPECT_EQ(first.tokens, second.tokens);
  }
}

TEST(DraftSampler, WhatIsDrawnDependsOnSeedAndPlaceAlone) {
  std::mt19937_64 random(9);
  const auto logits = random_logits(random, 100, 1);
  const auto drawn_at = [&](uint64_t seed, int64_t place, int64_t first) {
    DraftSampler drafts({.temperature = 1, .seed = seed}, DraftRule::sampling);
    Draft draft;
    drafts.begin(first);
    for (int64_t i = first; i <= place; ++i) EXPECT_TRUE(drafts.propose(logits, 0, draft));
    return draft.tokens.back();
  };
  int n_other_seed = 0, n_other_place = 0;
  for (int64_t place = 8; place < 40; ++place) {
    EXPECT_EQ(drawn_at(1, place, place), drawn_at(1, place, place - 8));
    n_other_seed += drawn_at(1, place, place) != drawn_at(2, place, place);
    n_other_place += drawn_at(1, place, place) != drawn_at(1, place + 1, place + 1);
  }
  EXPECT_GT(n_other_seed, 16);
  EXPECT_GT(n_other_place, 16);
}

}  // namespace
}  // namespace parlance
