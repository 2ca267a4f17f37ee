#include "kv/cache_choice.h"

#include <cstring>

#include "gtest/gtest.h"

namespace parlance {
namespace {

// Three layers of two heads; in the second, keys are hard to compress.
CacheProbe probe() {
  CacheProbe p;
  p.n_layer = 3;
  p.n_head_kv = 2;
  p.head_dim_k = 64;
  p.formats = {KvFormat::tbq3_0, KvFormat::tbq4_0, KvFormat::q8_0};
  for (const float loss : {4e-4f, 1e-4f, 1e-7f}) {
    for (int layer = 0; layer < 3; ++layer) {
      for (int head = 0; head < 2; ++head) {
        p.plain.push_back({1, 1, loss, 1, loss});
        const float of_keys = layer == 1 ? 50 * loss : loss;
        p.equalised.push_back({loss, of_keys, loss, of_keys, loss});
      }
    }
  }
  p.first_keys = {1, 2, 3};
  for (int layer = 0; layer < 3; ++layer)
    p.equaliser.layers.push_back(
        {.shift = std::vector<float>(128, 0.5f), .scale = std::vector<float>(128, 2)});
  return p;
}

KvLayout layout_with(const KvPolicy& policy) {
  return {.n_layer = 3, .n_head_kv = 2, .head_dim_k = 64, .head_dim_v = 64, .policy = policy};
}

KvLayout chosen(CacheGoal goal) {
  KvPolicy policy{.n_sink = 64};
  policy.goal = goal;
  return layout_with(choose_formats(probe(), layout_with(policy), /*is_equalised=*/true));
}

TEST(CacheChoice, SpendsBitsWhereTheyHelpMost) {
  const KvLayout layout = chosen({.most_bits = 5, .most_divergence = 0});
  EXPECT_LE(bits_per_value(layout), 5);
  EXPECT_FALSE(layout.policy.goal);
  EXPECT_EQ(layout.coding(1).k.format, KvFormat::q8_0);
  EXPECT_EQ(layout.coding(0).k.format, KvFormat::tbq4_0);
}

TEST(CacheChoice, GivesBitsToKeysFirstWhereTheirErrorsAreAsLarge) {
  CacheProbe even = probe();
  even.equalised = even.plain;
  for (HeadLoss& loss : even.equalised) loss.from_later_keys = loss.from_keys = loss.from_later_values;
  KvPolicy policy{.n_sink = 64};
  policy.goal = {.most_bits = 4, .most_divergence = 0};
  const KvLayout layout = layout_with(choose_formats(even, layout_with(policy), /*is_equalised=*/true));
  for (int64_t layer = 0; layer < 3; ++layer) {
    EXPECT_EQ(layout.coding(layer).k.format, KvFormat::tbq4_0) << layer;
    EXPECT_EQ(layout.coding(layer).v.format, KvFormat::tbq3_0) << layer;
  }
}

TEST(CacheChoice, KeepsToEveryBudget) {
  double last = 1e9;
  for (const double bits : {3.5, 3.6, 4.0, 4.5, 5.0, 7.0, 8.5, 16.0}) {
    const KvLayout layout = chosen({.most_bits = bits, .most_divergence = 0});
    EXPECT_LE(bits_per_value(layout), bits + 1e-9);
    const double nats = predicted_divergence(probe(), layout, true);
    EXPECT_LE(nats, last);
    last = nats;
  }
  EXPECT_EQ(last, 0);  // f16 everywhere
}

TEST(CacheChoice, StopsWhereMoreBitsAreNotWorthIt) {
  const KvLayout layout = chosen({.most_bits = 16, .most_divergence = 2e-4});
  EXPECT_LE(predicted_divergence(probe(), layout, true), 2e-4);
  EXPECT_EQ(layout.coding(0).k.format, KvFormat::tbq3_0);
  EXPECT_NE(layout.coding(1).k.format, KvFormat::tbq3_0);
  EXPECT_LT(bits_per_value(layout), 5);
}

TEST(CacheChoice, KeepsFirstPositions) {
  KvPolicy policy = *cache_preset("balanced");
  const CacheProbe easy = probe();
  EXPECT_EQ(choose_formats(easy, layout_with(policy), true).n_sink, policy.n_sink);
  EXPECT_EQ(choose_formats(easy, layout_with(policy), true).n_recent, policy.n_recent);
  // Bits do not go where only the first keys are hard, as these are kept.
  CacheProbe with = easy;
  for (HeadLoss& loss : with.equalised) loss.from_keys *= 2;
  EXPECT_EQ(choose_formats(with, layout_with(policy), true).layers,
            choose_formats(easy, layout_with(policy), true).layers);
  policy.n_sink = 0;  // was asked for
  EXPECT_EQ(choose_formats(with, layout_with(policy), true).n_sink, 0);
}

TEST(CacheChoice, PredictsByWhetherFirstPositionsAreKept) {
  CacheProbe with = probe();
  for (HeadLoss& loss : with.equalised) loss.from_keys *= 2;
  KvPolicy policy{.k = {.format = KvFormat::tbq3_0}, .v = {.format = KvFormat::tbq3_0}};
  const double compressed = predicted_divergence(with, layout_with(policy), true);
  policy.n_sink = 1;
  EXPECT_LT(predicted_divergence(with, layout_with(policy), true), compressed);
  EXPECT_EQ(predicted_divergence(with, layout_with(policy), true),
            predicted_divergence(probe(), layout_with(policy), true));
  // Even of a model whose first keys are like all others, what is spoilt from the first position on adds up.
  const double kept = predicted_divergence(probe(), layout_with(policy), true);
  policy.n_sink = 0;
  EXPECT_GT(predicted_divergence(probe(), layout_with(policy), true), 5 * kept);
}

TEST(CacheChoice, KnowsWhatBreaksAModel) {
  KvPolicy policy{.k = {.format = KvFormat::tbq3_0}, .v = {.format = KvFormat::tbq3_0}};
  EXPECT_GT(predicted_divergence(probe(), layout_with(policy), /*is_equalised=*/false), kBreaksModel);
  EXPECT_LT(predicted_divergence(probe(), layout_with(policy), /*is_equalised=*/true), kHarmsModel);
  policy.k.format = KvFormat::q4_0;  // was not tried: nothing is promised
  EXPECT_FALSE(predicted_divergence(probe(), layout_with(policy), true) < kBreaksModel);
}

class ProbeFile : public testing::Test {
 protected:
  const ModelHash model_{std::byte{9}};
  const std::vector<std::byte> bytes_ = bytes_of(probe(), model_);
};

TEST_F(ProbeFile, ComesBackAsItWas) {
  const auto back = parse_probe(bytes_, "file", model_);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, probe());
}

TEST_F(ProbeFile, IsRefusedWhereAnyByteIsAnother) {
  for (size_t at = 0; at < bytes_.size(); ++at) {
    std::vector<std::byte> damaged = bytes_;
    damaged[at] ^= std::byte{0x10};
    EXPECT_FALSE(parse_probe(damaged, "file", model_)) << at;
  }
  for (size_t n = 0; n < bytes_.size(); ++n)
    EXPECT_FALSE(parse_probe(std::span(bytes_).first(n), "file", model_));
}

TEST_F(ProbeFile, IsOfOneModel) {
  const auto other = parse_probe(bytes_, "file", ModelHash{std::byte{8}});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("another model"), std::string::npos);
}

}  // namespace
}  // namespace parlance
