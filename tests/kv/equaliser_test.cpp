#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "kv/attention_sample.h"
#include "kv/format_losses.h"
#include "kv/key_equalising.h"

namespace parlance {
namespace {

constexpr int64_t kHeadDim = 64, kKeys = 96, kQueries = 32, kContext = 4096, kFirst = 4;

std::vector<TurningPair> pairs() {
  std::vector<TurningPair> pairs;
  for (int64_t i = 0; i < kHeadDim / 2; ++i)
    pairs.push_back({i, i + kHeadDim / 2, std::pow(1e6, -2.0 * static_cast<double>(i) / kHeadDim)});
  return pairs;
}

// Random queries and keys with a bias on the slowest pair, which turns with the position, and outliers.
AttentionSample sample_with(float bias, float outlier) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  AttentionSample sample{.n_head = 2,
                         .n_head_kv = 1,
                         .head_dim_k = kHeadDim,
                         .head_dim_v = kHeadDim,
                         .scale = 0.125f,
                         .k_positions = {},
                         .q = {},
                         .k = {},
                         .v = {}};
  for (int64_t i = 0; i < 2 * kQueries * kHeadDim; ++i) sample.q.push_back(normal(random));
  for (int64_t key = 0; key < kKeys; ++key) {
    sample.k_positions.push_back(4 * key);
    for (int64_t i = 0; i < kHeadDim; ++i) {
      sample.k.push_back(normal(random));
      sample.v.push_back(normal(random));
    }
    const double angle = pairs().back().frequency * static_cast<double>(4 * key);
    sample.k[static_cast<size_t>(key * kHeadDim + kHeadDim / 2 - 1)] +=
        bias * static_cast<float>(std::cos(angle));
    sample.k[static_cast<size_t>((key + 1) * kHeadDim - 1)] += bias * static_cast<float>(std::sin(angle));
  }
  for (const size_t element : {size_t{3}, static_cast<size_t>(3 + kHeadDim / 2)}) {
    for (size_t at = element; at < sample.k.size(); at += kHeadDim) sample.k[at] *= outlier;
    for (size_t at = element; at < sample.q.size(); at += kHeadDim) sample.q[at] /= outlier;
  }
  return sample;
}

std::vector<SampledHead> heads_of(const AttentionSample& sample, int64_t n_queries = 4) {
  std::vector<SampledHead> heads;
  heads.emplace_back(sample, 0, n_queries, kFirst);
  return heads;
}

KeyEqualiser equaliser_of(const AttentionSample& sample) {
  return equaliser_for(heads_of(sample), KeyTurns(pairs(), sample.k_positions, kContext));
}

TEST(SampledHead, SaysWhatQueriesGet) {
  const AttentionSample sample = sample_with(0, 1);
  const auto heads = heads_of(sample, 3);
  const SampledHead& head = heads.front();
  EXPECT_EQ(head.n_rows, 6);  // of two heads
  EXPECT_EQ(head.n_first, 1);
  const int64_t row = 4, query = 29;  // the third of every tenth, its first head
  std::vector<double> p;
  double sum = 0;
  for (int64_t key = 0; key < kKeys; ++key) {
    double score = 0;
    for (int64_t i = 0; i < kHeadDim; ++i) {
      score += static_cast<double>(sample.q[static_cast<size_t>(query * 2 * kHeadDim + i)]) *
               static_cast<double>(sample.k[static_cast<size_t>(key * kHeadDim + i)]);
    }
    sum += p.emplace_back(std::exp(score / 8));
  }
  double first = 0;
  for (int64_t key = 0; key < kKeys; ++key) {
    const double weight = p[static_cast<size_t>(key)] / sum;
    EXPECT_NEAR(head.weights[static_cast<size_t>(row * kKeys + key)], weight, 1e-5);
    first += weight * static_cast<double>(sample.v[static_cast<size_t>(key * kHeadDim)]);
  }
  EXPECT_NEAR(head.outputs[static_cast<size_t>(row * kHeadDim)], first, 1e-5);
}

TEST(Equaliser, TakesBiasesOutOfSlowPairsOnly) {
  const KeyEqualiser found = equaliser_of(sample_with(300, 1));
  const size_t slow = kHeadDim / 2 - 1;
  EXPECT_NEAR(found.shift[slow], 300, 1);
  EXPECT_LT(std::abs(found.shift[0]), 0.05f);  // turns by a radian a position: nothing of it is constant
  EXPECT_LT(std::abs(found.shift[kHeadDim / 2]), 0.05f);
}

TEST(Equaliser, MakesUpForOutliers) {
  const KeyEqualiser plain = equaliser_of(sample_with(0, 1));
  const KeyEqualiser found = equaliser_of(sample_with(0, 16));
  for (size_t i = 0; i < kHeadDim; ++i)
    EXPECT_NEAR(found.scale[i] * (i % 32 == 3 ? 16 : 1), plain.scale[i], 1e-3f * plain.scale[i]) << i;
}

TEST(Equaliser, DoesNotCountFirstKeys) {
  // The first key is at position 0. What it leaves of attention is paid to the others as it was.
  AttentionSample odd = sample_with(0, 1);
  for (size_t i = 0; i < kHeadDim; ++i) odd.k[i] *= 1000;
  const KeyEqualiser found = equaliser_of(odd), plain = equaliser_of(sample_with(0, 1));
  EXPECT_EQ(found.shift, plain.shift);
  for (size_t i = 0; i < kHeadDim; ++i)
    EXPECT_NEAR(found.scale[i], plain.scale[i], 0.2f * plain.scale[i]) << i;
}

HeadLoss loss_of(const AttentionSample& sample, KvFormat format, bool is_equalised) {
  const auto heads = heads_of(sample);
  const FormatLosses losses = losses_of(heads, format, equaliser_of(sample));
  return (is_equalised ? losses.equalised : losses.plain).front();
}

float of_keys(const AttentionSample& sample, KvFormat format, bool is_equalised) {
  return loss_of(sample, format, is_equalised).from_keys;
}

TEST(FormatLosses, HardKeysCostNoMoreThanEasyOnesWhenTheyAreEqualised) {
  const AttentionSample easy = sample_with(0, 1);
  for (const AttentionSample& hard : {sample_with(300, 1), sample_with(0, 32), sample_with(300, 32)}) {
    for (const KvFormat format : {KvFormat::tbq3_0, KvFormat::tbq4_0, KvFormat::q4_0}) {
      const float base = of_keys(easy, format, false);
      EXPECT_GT(of_keys(hard, format, false), 4 * base);
      EXPECT_LT(of_keys(hard, format, true), 1.6f * base) << name_of(format);
    }
  }
}

TEST(FormatLosses, FewerBitsCostMoreAndFloatsHardlyAnything) {
  const AttentionSample sample = sample_with(0, 1);
  const auto loss = [&](KvFormat format) { return loss_of(sample, format, false); };
  EXPECT_LT(loss(KvFormat::f16).from_keys, 1e-6f);
  EXPECT_LT(loss(KvFormat::f16).from_values, 1e-6f);
  EXPECT_LT(loss(KvFormat::q8_0).from_values, loss(KvFormat::tbq4_0).from_values);
  EXPECT_LT(loss(KvFormat::tbq4_0).from_values, loss(KvFormat::tbq3_0).from_values);
  EXPECT_LT(loss(KvFormat::tbq4_0).scores, loss(KvFormat::tbq3_0).scores);
}

TEST(FormatLosses, FirstKeysAreToldApart) {
  AttentionSample sink = sample_with(0, 1);
  for (size_t i = 0; i < kHeadDim; ++i) sink.k[i] *= 4;
  const HeadLoss loss = loss_of(sink, KvFormat::tbq3_0, true);
  EXPECT_LT(loss.from_later_keys, loss.from_keys / 4);
  AttentionSample loud = sample_with(0, 1);
  for (size_t i = 0; i < kHeadDim; ++i) loud.v[i] *= 100;
  const HeadLoss of_values = loss_of(loud, KvFormat::tbq3_0, true);
  EXPECT_LT(of_values.from_later_values, of_values.from_values / 4);
  const HeadLoss easy = loss_of(sample_with(0, 1), KvFormat::tbq3_0, true);
  EXPECT_NEAR(easy.from_later_keys, easy.from_keys, 0.1f * easy.from_keys);
  EXPECT_NEAR(easy.from_later_values, easy.from_values, 0.1f * easy.from_values);
}

TEST(FormatLosses, KeysThatAreNoNumbersAreAsBadAsAny) {
  AttentionSample sample = sample_with(0, 1);
  for (float& k : sample.k) k *= 1e30f;  // beyond what a block's step can say
  EXPECT_GE(of_keys(sample, KvFormat::tbq4_0, false), 1);
}

}  // namespace
}  // namespace parlance
