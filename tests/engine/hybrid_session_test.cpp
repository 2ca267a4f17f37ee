// Sessions of models whose recurrent states cannot be cut: whatever was forgotten or cancelled before, the
// logits are those of a fresh computation.
#include <algorithm>
#include <random>

#include "engine/noise.h"
#include "engine/session.h"
#include "support/tested_device.h"
#include "support/text_model.h"

namespace parlance {
namespace {

// With AVX-512, f16 weights meet a few tokens in f32 and many as 16-bit integers, so that logits depend on
// how tokens are grouped. Here they must not: what is forgotten and computed again is tested, to the last
// bits.
CpuOptions exact_cpu(int n_threads) {
  const auto isa = choose_isa();
  const bool rounds_f16 = isa && name_of(*isa).starts_with("avx512");
  return {.n_threads = n_threads, .isa = rounds_f16 ? "avx2" : ""};
}

class HybridSession : public testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf");
    loaded_ = test::load_text_model(test::fixtures_root() / "text/models/qwen35.gguf",
                                    test::make_tested_device(exact_cpu(2)));
    ASSERT_TRUE(loaded_.model);
    session_ = make_session();
    ASSERT_TRUE(session_);
  }

  std::unique_ptr<Session> make_session() const {
    return test::make_session(*loaded_.model,
                              {.n_ctx = kContext,
                               .n_batch = 32,
                               .cache = {.k = {.format = KvFormat::f32}, .v = {.format = KvFormat::f32}}});
  }

  std::vector<Token> random_tokens(int64_t n) {
    std::vector<Token> tokens(static_cast<size_t>(n));
    for (Token& token : tokens) token = static_cast<Token>(random_() % 300);
    return tokens;
  }
  int64_t random_below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  // Sums in another order differ in the last bits only.
  void expect_fresh(const Result<std::span<const float>>& logits, const std::vector<Token>& tokens) const {
    ASSERT_TRUE(logits) << logits.error().message;
    EXPECT_EQ(session_->tokens(), tokens);
    const auto fresh = make_session();
    const auto expected = fresh->append(tokens);
    ASSERT_TRUE(expected) << expected.error().message;
    for (size_t i = 0; i < expected->size(); ++i) ASSERT_NEAR((*logits)[i], (*expected)[i], 1e-4f) << i;
  }

  static constexpr int64_t kContext = 1024;
  test::LoadedModel loaded_;
  std::unique_ptr<Session> session_;
  std::mt19937 random_{3};
};

TEST_F(HybridSession, ForgettingAndAppendingEqualsAFreshComputation) {
  std::vector<Token> tokens;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const int64_t kept = random_below(3) == 0 ? static_cast<int64_t>(tokens.size())
                                              : random_below(static_cast<int64_t>(tokens.size()) + 1);
    const bool is_long = random_below(4) == 0;
    const int64_t n_new = 1 + random_below(is_long ? 400 : 20);
    if (kept + n_new > kContext) {
      tokens.clear();
      session_->truncate(0);
      continue;
    }
    tokens.resize(static_cast<size_t>(kept));
    const auto added = random_tokens(n_new);
    tokens.insert(tokens.end(), added.begin(), added.end());
    if (random_below(2) == 0) {
      expect_fresh(session_->set_prompt(tokens), tokens);
    } else {
      session_->truncate(kept + random_below(2));  // a second, shorter one follows
      session_->truncate(kept);
      expect_fresh(session_->append(added), tokens);
    }
  }
}

TEST_F(HybridSession, TheSamePromptAgainComputesItsEndOnly) {
  const auto prompt = random_tokens(600);
  expect_fresh(session_->set_prompt(prompt), prompt);
  const auto tokens_computed = [&] { return session_->context().scheduler().stats().n_tokens; };
  const uint64_t before = tokens_computed();
  expect_fresh(session_->set_prompt(prompt), prompt);
  EXPECT_LE(tokens_computed() - before, 16u) << "a snapshot stands a few tokens before the end";
}

TEST_F(HybridSession, OnlyAttentionLayersTakeACache) {
  const HyperParameters& hp = loaded_.model->hyper_parameters();
  ASSERT_EQ(hp.n_layer, 4);
  EXPECT_EQ(hp.n_layers_of(LayerKind::attention), 1);
  EXPECT_EQ(session_->kv_bytes_per_token(),
            static_cast<size_t>(hp.n_head_kv * (hp.head_dim_k + hp.head_dim_v)) * sizeof(float));
  const DeltaNetParameters& net = hp.delta_net;
  EXPECT_EQ(session_->state_bytes(),
            static_cast<size_t>(3 * (net.head_dim * net.n_inner() + (net.n_tap - 1) * net.n_channel())) *
                sizeof(float));
}

TEST_F(HybridSession, NoiseCanBeGoneBackTo) {
  ASSERT_TRUE(fill_with_noise(*session_, 500));
  EXPECT_EQ(session_->tokens().size(), 500u);
  const auto more = random_tokens(40);
  std::vector<float> first;
  for (int round = 0; round < 2; ++round) {
    session_->truncate(500);
    const auto logits = session_->append(more);
    ASSERT_TRUE(logits) << logits.error().message;
    if (round == 0) first.assign(logits->begin(), logits->end());
    EXPECT_EQ(std::vector<float>(logits->begin(), logits->end()), first);
  }
}

// Every split of the layers over two devices computes what one device computes, parts of recurrent layers
// only included.
TEST_F(HybridSession, SplitModelsSayTheSame) {
  const auto path = test::fixtures_root() / "text/models/qwen35.gguf";
  const auto prompt = random_tokens(100);
  const auto logits = session_->set_prompt(prompt);
  ASSERT_TRUE(logits);
  const std::vector<float> expected(logits->begin(), logits->end());
  for (int64_t n = 0; n <= 4; ++n) {
    SCOPED_TRACE(n);
    const auto host = *make_cpu_device(exact_cpu(1)), device = *make_cpu_device(exact_cpu(2));
    const auto model = TextModel::load(*GgufFile::open(path), Placement(*device, *host, 4, n));
    ASSERT_TRUE(model) << model.error().message;
    const auto session = test::make_session(
        **model, {.n_ctx = kContext,
                  .n_batch = 32,
                  .cache = {.k = {.format = KvFormat::f32}, .v = {.format = KvFormat::f32}}});
    for (const int64_t kept : {0, 95, 50}) {
      session->truncate(kept);
      const auto split = session->set_prompt(prompt);
      ASSERT_TRUE(split) << split.error().message;
      for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR((*split)[i], expected[i], 1e-4f);
    }
  }
}

}  // namespace
}  // namespace parlance
