// What is sampled from the highest logits alone is what would be sampled from all of them.
#include "sampling/top_logits.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "gtest/gtest.h"
#include "sampling/sampler.h"

namespace parlance {
namespace {

// As devices tell of a row; the sum is off as far as it may be.
struct Told {
  std::vector<int32_t> tokens;
  std::vector<float> logits;
  float sum;
  size_t n_vocab;

  Told(const std::vector<float>& row, size_t k, double sum_error) : n_vocab(row.size()) {
    tokens.resize(row.size());
    std::iota(tokens.begin(), tokens.end(), 0);
    const auto is_before = [&](int32_t a, int32_t b) {
      const float x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
      return x != y ? x > y : a < b;
    };
    k = std::min(k, row.size());
    std::ranges::partial_sort(tokens, tokens.begin() + static_cast<std::ptrdiff_t>(k), is_before);
    tokens.resize(k);
    for (const int32_t token : tokens) logits.push_back(row[static_cast<size_t>(token)]);
    double all = 0;
    for (const float logit : row) all += std::exp(static_cast<double>(logit) - logits[0]);
    sum = static_cast<float>(all * (1 + sum_error));
  }

  TopLogits view() const {
    return {.tokens = tokens,
            .logits = logits,
            .last_token = tokens.back(),
            .last_logit = logits.back(),
            .highest = logits.front(),
            .sum = sum,
            .n_vocab = n_vocab,
            .has_all = tokens.size() == n_vocab};
  }
};

class Rows {
 public:
  explicit Rows(uint64_t seed) : random_(seed) {}

  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  size_t below(size_t n) { return random_() % n; }
  bool flip() { return random_() % 2 == 0; }
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

  // Peaked like a model's, flat, of few values, or all equal.
  std::vector<float> row(size_t n) {
    std::vector<float> row(n);
    const size_t kind = below(8);
    const double scale = std::exp(4 * uniform() - 2);
    for (float& logit : row) logit = static_cast<float>(normal() * scale);
    if (kind == 0) std::ranges::fill(row, -1.25f);
    if (kind == 1) {
      for (float& logit : row) logit = std::round(logit * 2) / 2;
    }
    if (kind >= 3) {
      for (size_t i = 0, n_high = 1 + below(12); i < n_high; ++i)
        row[below(n)] += static_cast<float>(10 * uniform());
    }
    return row;
  }

  SamplingOptions options(size_t n_vocab) {
    SamplingOptions o;
    o.seed = random_();
    o.temperature = below(5) == 0 ? 0 : static_cast<float>(0.1 + 1.5 * uniform());
    o.top_k = std::array{0, 0, 1, 20, 40, static_cast<int>(1 + below(140))}[below(6)];
    o.top_p = std::array{1.0f, 0.95f, 0.8f, static_cast<float>(uniform()), 0.0f}[below(5)];
    o.min_p = std::array{0.0f, 0.05f, static_cast<float>(uniform()), 1e-4f}[below(4)];
    if (flip()) {
      o.repetition_penalty = std::array{1.0f, 1.1f, 2.0f, 0.9f}[below(4)];
      o.presence_penalty = std::array{0.0f, 1.5f, 20.0f, -1.0f}[below(4)];
      o.frequency_penalty = std::array{0.0f, 0.3f}[below(2)];
    }
    if (flip()) {
      for (size_t i = 0, n = below(4); i < n; ++i) {
        o.logit_bias.emplace_back(static_cast<int32_t>(below(n_vocab + 3)),
                                  std::array{-INFINITY, -2.0f, 0.0f, 5.0f, -3.4e38f}[below(5)]);
      }
    }
    return o;
  }

 private:
  std::mt19937_64 random_;
};

std::optional<int32_t> sample(Sampler& sampler, const auto& logits, const std::optional<Proposal>& proposal) {
  return proposal ? sampler.sample(logits, *proposal) : sampler.sample(logits);
}

TEST(TopLogits, TellWhatAllLogitsWould) {
  Rows rows(11);
  int n_told = 0, n_untold = 0;
  for (int round = 0; round < 1500; ++round) {
    const size_t n_vocab = std::array<size_t, 8>{1, 5, 40, 127, 128, 129, 1000, 5003}[rows.below(8)];
    const size_t k = rows.below(4) == 0 ? 1 + rows.below(12) : 128;
    const SamplingOptions options = rows.options(n_vocab);
    Sampler whole(options), top(options);
    std::vector<int32_t> liked;  // often said, so that penalties mean something
    for (int step = 0; step < 6; ++step) {
      const std::vector<float> row = rows.row(n_vocab);
      const Told told(row, k, (rows.uniform() * 2 - 1) * TopLogits::kSumError * 0.99);
      std::optional<Proposal> proposal;
      std::vector<TokenProbability> drawn_from;
      if (rows.below(3) == 0) {
        proposal.emplace(Proposal{told.tokens[rows.below(told.tokens.size())], {}});
        if (rows.flip()) {
          for (size_t i = 0; i < std::min<size_t>(5, told.tokens.size()); ++i)
            drawn_from.push_back({told.tokens[i], 0.2});
          std::ranges::sort(drawn_from, {}, &TokenProbability::token);
          proposal->drawn_from = drawn_from;
        }
      }
      // Of some rows tokens are left out, as a grammar does.
      std::vector<float> masked = row;
      TopLogits view = told.view();
      TopLeft left;
      if (rows.below(3) == 0) {
        const size_t modulus = 2 + rows.below(3);
        const auto may_come = [&](int32_t token) { return static_cast<size_t>(token) % modulus != 0; };
        for (size_t i = 0; i < n_vocab; ++i) {
          if (!may_come(static_cast<int32_t>(i))) masked[i] = -INFINITY;
        }
        view = left.of(view, may_come);
      }
      const int32_t want = *sample(whole, masked, proposal);
      std::optional<int32_t> got = sample(top, view, proposal);
      ++(got ? n_told : n_untold);
      if (!got) got = sample(top, masked, proposal);  // nothing has changed
      ASSERT_EQ(*got, want) << "round " << round << ", step " << step << ", " << n_vocab << " tokens, k "
                            << k;
      for (int i = 0; i < 2; ++i) {
        const int32_t seen =
            rows.flip() ? want : told.tokens[rows.below(std::min<size_t>(4, told.tokens.size()))];
        whole.accept(seen);
        top.accept(seen);
      }
    }
  }
  EXPECT_GT(n_told, 4000);
  EXPECT_GT(n_untold, 1000);
}

TEST(TopLogits, TellOfLargeVocabularies) {
  Rows rows(5);
  int n_told = 0;
  for (int round = 0; round < 12; ++round) {
    SamplingOptions options;  // the defaults, and without top-k
    if (round % 2 == 1) options.top_k = 0;
    options.seed = static_cast<uint64_t>(round);
    Sampler whole(options), top(options);
    std::vector<float> row(151936);
    for (float& logit : row) logit = static_cast<float>(rows.normal());
    for (int i = 0; i < 30; ++i) row[rows.below(row.size())] += 12;
    const Told told(row, 128, 0);
    const std::optional<int32_t> got = top.sample(told.view());
    n_told += got.has_value();
    EXPECT_EQ(got.value_or(top.sample(row)), whole.sample(row));
  }
  EXPECT_EQ(n_told, 12);
}

// Where they are enough, that is seen: an answer at the usual settings asks for no more.
TEST(TopLogits, SayWhenTheyMayDo) {
  const auto may = [](auto change) {
    SamplingOptions options;
    change(options);
    return may_do_with_top(options, 128);
  };
  EXPECT_TRUE(may([](auto&) {}));
  EXPECT_TRUE(may([](auto& o) { o.top_k = 128; }));
  EXPECT_FALSE(may([](auto& o) { o.top_k = 129; }));
  EXPECT_TRUE(may([](auto& o) { o.top_k = 0; }));
  EXPECT_FALSE(may([](auto& o) { o.top_k = 0, o.top_p = 1, o.min_p = 0; }));
  EXPECT_TRUE(may([](auto& o) { o.temperature = 0, o.top_k = 0, o.top_p = 1, o.min_p = 0; }));
  EXPECT_TRUE(may([](auto& o) { o.repetition_penalty = 1.1f; }));
  EXPECT_FALSE(may([](auto& o) { o.repetition_penalty = 0.9f; }));
  EXPECT_FALSE(may([](auto& o) { o.presence_penalty = -1; }));
  EXPECT_TRUE(may([](auto& o) { o.presence_penalty = -1, o.penalty_last_n = 0; }));
  EXPECT_TRUE(may([](auto& o) { o.logit_bias = {{3, -INFINITY}, {4, -1.0f}}; }));
  EXPECT_FALSE(may([](auto& o) { o.logit_bias = {{3, -INFINITY}, {4, 1.0f}}; }));
}

// A rare case each: what is left out or lowered must not be taken for what is missing.
TEST(TopLogits, AreNotEnoughWhereTheListWasThinnedOut) {
  SamplingOptions options;
  options.temperature = 0;
  const std::vector<float> row = {5, 4, 3, 2, 1};
  const Told told(row, 2, 0);
  options.logit_bias = {{0, -3.0f}};
  EXPECT_EQ(Sampler(options).sample(told.view()), 1);
  options.logit_bias = {{0, -3.0f}, {1, -1.0f}};  // 2, 3, 3: the missing token is the highest, or is not
  EXPECT_EQ(Sampler(options).sample(told.view()), std::nullopt);
  options.logit_bias = {{0, -1.0f}};  // 4, 4
  EXPECT_EQ(Sampler(options).sample(told.view()), 0);
  options.logit_bias = {{4, 1.0f}};  // might be high now
  EXPECT_EQ(Sampler(options).sample(told.view()), std::nullopt);
}

}  // namespace
}  // namespace parlance
