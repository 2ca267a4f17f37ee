// The probe on small models, and what its equaliser does to their logits.
#include "engine/probe_cache.h"

#include <cmath>
#include <numeric>

#include "kv/cache_choice.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

class ProbeCache : public testing::Test {
 protected:
  void SetUp() override {
    const auto path = folder_.path() / "tiny.gguf";
    test::write_tiny_model(path, {.n_layer = 3});
    tiny_ = test::load_text_model(path);
    ASSERT_TRUE(tiny_.model);
    auto probe =
        probe_cache(*tiny_.model, probe_tokens(*tiny_.model, tiny_.model->tokenizer().encode(probe_text())),
                    {{KvFormat::q4_0}});
    ASSERT_TRUE(probe) << probe.error().message;
    probe_ = *std::move(probe);
  }

  // The logits behind 200 tokens, token by token at the end.
  std::vector<float> logits(const KvPolicy& policy) const {
    const auto session = test::make_session(*tiny_.model, {.n_ctx = 256, .n_batch = 64, .cache = policy});
    std::vector<Token> tokens;
    for (Token i = 0; i < 200; ++i) tokens.push_back((i * i + 7 * i) % 256);
    EXPECT_TRUE(session->append(std::span(tokens).first(190)));
    std::vector<float> last;
    for (size_t i = 190; i < tokens.size(); ++i) {
      const auto found = session->append({&tokens[i], 1});
      EXPECT_TRUE(found);
      if (found) last.assign(found->begin(), found->end());
    }
    return last;
  }

  static double distance(const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i) most = std::max(most, static_cast<double>(std::abs(a[i] - b[i])));
    return most;
  }

  test::TemporaryFolder folder_;
  test::LoadedModel tiny_;
  CacheProbe probe_;
};

TEST_F(ProbeCache, TriesTheUsualFormatsAndThoseThatAreAskedFor) {
  EXPECT_EQ(probe_.n_layer, 3);
  for (const KvFormat format : usual_cache_formats()) EXPECT_TRUE(probe_.tried(format));
  EXPECT_TRUE(probe_.tried(KvFormat::q4_0));
  EXPECT_FALSE(probe_.tried(KvFormat::qjl1_256));  // whose blocks this model's heads do not fill
  for (int64_t layer = 0; layer < 3; ++layer) {
    for (const bool is_equalised : {false, true}) {
      const auto three = probe_.losses(KvFormat::tbq3_0, layer, is_equalised);
      const auto eight = probe_.losses(KvFormat::q8_0, layer, is_equalised);
      ASSERT_EQ(three.size(), 1u);
      EXPECT_GT(three.front().from_keys, 0);
      EXPECT_GT(three.front().from_values, eight.front().from_values);
      EXPECT_GT(three.front().scores, eight.front().scores);
    }
  }
}

TEST_F(ProbeCache, SaysTheSameEveryTime) {
  const auto again =
      probe_cache(*tiny_.model, probe_tokens(*tiny_.model, tiny_.model->tokenizer().encode(probe_text())),
                  {{KvFormat::q4_0}});
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, probe_);
}

TEST_F(ProbeCache, EqualisedKeysGiveTheSameAnswers) {
  for (const int64_t window : {0, 256}) {
    // Keys in f32, or all in exact pages, so that hardly anything but the equaliser can make a difference.
    KvPolicy policy{.k = {.format = KvFormat::f32}, .v = {.format = KvFormat::q8_0}};
    policy.n_sink = policy.n_recent = window;
    if (window > 0) policy.k.format = KvFormat::q8_0;
    const std::vector<float> plain = logits(policy);
    policy.equaliser = std::make_shared<const KvEqualiser>(probe_.equaliser);
    const std::vector<float> equalised = logits(policy);
    EXPECT_NE(plain, equalised);  // it was there
    EXPECT_LT(distance(plain, equalised), window > 0 ? 5e-3 : 1e-4);
    policy.equalises = false;
    EXPECT_EQ(logits(policy), plain);
  }
}

TEST_F(ProbeCache, FormatsByLayerAreTakenByTheCache) {
  KvPolicy policy = *cache_preset("balanced");
  const KvLayout layout = kv_layout(tiny_.model->hyper_parameters(), {.cache = policy});
  const KvPolicy chosen = choose_formats(probe_, layout, true);
  const auto session = test::make_session(*tiny_.model, {.n_ctx = 256, .cache = chosen});
  ASSERT_TRUE(session);
  EXPECT_LE(bits_per_value(session->context().layout()), 5);
  std::vector<Token> tokens(200, 5);
  EXPECT_TRUE(session->append(tokens));
}

// Bytes that were written with other scales or other formats of a layer are never read.
TEST_F(ProbeCache, FilesAreOfUseOnlyWithTheSameScalesAndFormats) {
  KvPolicy policy{.k = {.format = KvFormat::q8_0}, .v = {.format = KvFormat::q8_0}};
  const KvPolicy plain = policy;
  policy.equaliser = std::make_shared<const KvEqualiser>(probe_.equaliser);
  std::vector<Token> tokens(150);
  std::iota(tokens.begin(), tokens.end(), 1);
  const auto path = folder_.path() / "session";
  const auto session_with = [&](const KvPolicy& cache) {
    return test::make_session(*tiny_.model, {.n_ctx = 256, .cache = cache});
  };
  const auto session = session_with(policy);
  ASSERT_TRUE(session->append(tokens));
  ASSERT_TRUE(session->save(path));
  EXPECT_TRUE(session_with(policy)->restore(path, {}));
  EXPECT_FALSE(session_with(plain)->restore(path, {}));
  for (size_t layer = 0; layer < 3; ++layer) {
    KvEqualiser other = probe_.equaliser;
    float& scale = other.layers[layer].scale.back();
    scale = std::nextafter(scale, 1e9f);
    KvPolicy changed = policy;
    changed.equaliser = std::make_shared<const KvEqualiser>(other);
    EXPECT_FALSE(session_with(changed)->restore(path, {})) << layer;
    other = probe_.equaliser;
    other.layers[layer].shift.front() += 1e-3f;
    changed.equaliser = std::make_shared<const KvEqualiser>(other);
    EXPECT_FALSE(session_with(changed)->restore(path, {})) << layer;
    changed = policy;
    changed.layers = {{static_cast<int64_t>(layer), KvFormat::tbq4_0, KvFormat::q8_0}};
    EXPECT_FALSE(session_with(changed)->restore(path, {})) << layer;
    changed.layers = {
        {static_cast<int64_t>(layer), KvFormat::q8_0, KvFormat::q8_0}};  // other words for the same
    EXPECT_TRUE(session_with(changed)->restore(path, {})) << layer;
  }
}

TEST(ProbeCacheOfHybrids, LooksAtAttentionLayersOnly) {
  PARLANCE_REQUIRE_FIXTURES("text");
  const auto loaded = test::load_text_model(test::fixtures_root() / "text" / "models" / "qwen35.gguf");
  ASSERT_TRUE(loaded.model);
  const auto probe = probe_cache(
      *loaded.model, probe_tokens(*loaded.model, loaded.model->tokenizer().encode(probe_text())), {});
  ASSERT_TRUE(probe) << probe.error().message;
  EXPECT_EQ(probe->n_layer, loaded.model->hyper_parameters().n_layers_of(LayerKind::attention));
  EXPECT_GT(probe->losses(KvFormat::tbq3_0, 0, true).front().from_keys, 0);
}

}  // namespace
}  // namespace parlance
