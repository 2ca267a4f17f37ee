#include "kv/policy.h"

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(KvPolicy, LayersAreCountedFromBothEnds) {
  const auto overrides = parse_layer_overrides("0,1,-1:q8_0;2:tbq4_0/f16");
  ASSERT_TRUE(overrides) << overrides.error().message;
  KvPolicy policy;
  policy.k.format = policy.v.format = KvFormat::tbq3_0;
  policy.layers = *overrides;
  const auto k = [&](int64_t layer) { return policy.layer(layer, 6).k.format; };
  EXPECT_EQ(k(0), KvFormat::q8_0);
  EXPECT_EQ(k(1), KvFormat::q8_0);
  EXPECT_EQ(k(2), KvFormat::tbq4_0);
  EXPECT_EQ(policy.layer(2, 6).v.format, KvFormat::f16);
  EXPECT_EQ(k(3), KvFormat::tbq3_0);
  EXPECT_EQ(k(5), KvFormat::q8_0);
}

TEST(KvPolicy, WhatIsNotUnderstoodIsNamed) {
  const auto message = [](std::string_view text) {
    const auto parsed = parse_layer_overrides(text);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_NE(message("0:q9").find("\"q9\""), std::string::npos);
  EXPECT_NE(message("x:q8_0").find("\"x\""), std::string::npos);
  EXPECT_NE(message("0,1").find("LAYERS:FORMAT"), std::string::npos);
  EXPECT_NE(message("0,:q8_0"), "x");
  EXPECT_EQ(message(""), "");
}

TEST(KvPolicy, PresetsAreFoundByName) {
  ASSERT_TRUE(cache_preset("balanced"));
  EXPECT_TRUE(cache_preset("balanced")->has_exact_pages());
  ASSERT_TRUE(cache_preset("exact"));
  EXPECT_EQ(cache_preset("exact")->k.format, KvFormat::f16);
  EXPECT_FALSE(cache_preset("tiny"));
}

}  // namespace
}  // namespace parlance
