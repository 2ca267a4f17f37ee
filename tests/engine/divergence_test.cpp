// A text that was saved, or that another sequence has computed, is gone on from at any of its positions.
#include <algorithm>
#include <cmath>
#include <random>

#include "engine/probe_cache.h"
#include "engine/session.h"
#include "kv/cache_choice.h"
#include "kv/policy.h"
#include "support/temporary_folder.h"
#include "support/tested_device.h"
#include "support/text_model.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

struct Case {
  std::string name;
  KvPolicy cache;
  int64_t stride = 1;      // of the positions at which texts part
  bool is_probed = false;  // formats by layer where there is a goal, and equalised keys
  bool is_tiny = false;    // the model: random weights, two layers
};

class Divergence : public testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kPage = 64;
  // What is forgiven on texts of random tokens, at which the model can only guess; keys that are not those of
  // the text cost nats.
  static constexpr double kForgiven = 0.3;

  void SetUp() override {
    const auto tiny = folder_.path() / "tiny.gguf";
    if (GetParam().is_tiny) test::write_tiny_model(tiny, {.n_layer = 2});
    loaded_ = test::load_text_model(
        GetParam().is_tiny ? tiny : test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf",
        test::make_tested_device({.n_threads = 2, .deterministic = true}));
    ASSERT_TRUE(loaded_.model);
    cache_ = GetParam().cache;
    if (GetParam().is_probed) settle();
    if (!test::knows(*loaded_.device, cache_)) GTEST_SKIP() << "a format that the device lacks";
  }

  void settle() {
    if (!can_equalise(loaded_.model->model().placement()))
      GTEST_SKIP() << "the device does not equalise keys";
    static const auto probe = probe_cache(
        *loaded_.model, probe_tokens(*loaded_.model, loaded_.model->tokenizer().encode(probe_text())), {});
    ASSERT_TRUE(probe) << probe.error().message;
    if (cache_.goal) {
      const KvLayout layout = kv_layout(loaded_.model->hyper_parameters(), {.cache = cache_});
      cache_ = choose_formats(*probe, layout, /*is_equalised=*/true);
    }
    cache_.equaliser = std::make_shared<const KvEqualiser>(probe->equaliser);
  }

  static std::vector<Token> text(int64_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Token> tokens(static_cast<size_t>(n));
    for (Token& token : tokens) token = static_cast<Token>(random() % 256);
    return tokens;
  }

  std::unique_ptr<Session> session(int n_seq = 1) const {
    return test::make_session(*loaded_.model, {.n_ctx = 512, .n_batch = 64, .cache = cache_, .n_seq = n_seq});
  }

  static std::vector<float> logits_of(Session& session, std::span<const Token> prompt) {
    const auto logits = session.set_prompt(prompt);
    EXPECT_TRUE(logits) << logits.error().message;
    return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
  }

  // Kullback-Leibler divergence of the distributions that two rows of logits stand for.
  static double divergence(std::span<const float> p, std::span<const float> q) {
    const auto log_sum = [](std::span<const float> x) {
      const double largest = *std::ranges::max_element(x);
      double sum = 0;
      for (const float value : x) sum += std::exp(static_cast<double>(value) - largest);
      return largest + std::log(sum);
    };
    const double p_sum = log_sum(p), q_sum = log_sum(q);
    double kl = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      const double log_p = static_cast<double>(p[i]) - p_sum, log_q = static_cast<double>(q[i]) - q_sum;
      kl += std::exp(log_p) * (log_p - log_q);
    }
    return kl;
  }

  // Without exact positions what is reused is what would be computed. With them, what lies before the window
  // is compressed earlier than it would be, which costs no more than the format itself does.
  void expect_same(std::span<const float> got, std::span<const float> cold, std::span<const float> exact,
                   int64_t position) const {
    if (!cache_.has_exact_pages()) {
      EXPECT_TRUE(std::ranges::equal(got, cold)) << "parted at " << position;
      return;
    }
    ASSERT_EQ(got.size(), cold.size());
    EXPECT_LE(divergence(exact, got), 2 * divergence(exact, cold) + kForgiven) << "parted at " << position;
  }

  const test::TemporaryFolder folder_;
  test::LoadedModel loaded_;
  KvPolicy cache_;
};

TEST_P(Divergence, AtEveryPositionOfAPage) {
  const auto file = folder_.path() / "text.kv";
  const auto saved_text = text(5 * kPage + 17, 1);
  const auto computed = session();
  logits_of(*computed, saved_text);
  ASSERT_TRUE(computed->save(file));

  const auto exact_session = test::make_session(*loaded_.model, {.n_ctx = 512, .n_batch = 64});
  const auto known = session(2);
  const auto second = Session::create(known->shared_context());
  ASSERT_TRUE(second);
  for (int64_t position = 2 * kPage; position <= 3 * kPage; position += GetParam().stride) {
    std::vector<Token> prompt(saved_text.begin(), saved_text.begin() + position);
    const auto rest = text(9, 100 + static_cast<unsigned>(position));
    prompt.insert(prompt.end(), rest.begin(), rest.end());
    const auto cold = logits_of(*session(), prompt);
    std::vector<float> exact;
    if (cache_.has_exact_pages()) {
      exact_session->truncate(0);
      exact = logits_of(*exact_session, prompt);
    }

    const auto restored = session();
    const auto done = restored->restore(file, prompt);
    ASSERT_TRUE(done) << done.error().message;
    expect_same(logits_of(*restored, prompt), cold, exact, position);
    EXPECT_GE(restored->n_reused(), 2 * kPage);

    logits_of(*known, saved_text);
    expect_same(logits_of(**second, prompt), cold, exact, position);

    logits_of(*known, saved_text);  // and the session's own, cut
    known->truncate(position);
    const auto appended = known->append(rest);
    ASSERT_TRUE(appended);
    expect_same(*appended, cold, exact, position);
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const KvFormat format : {KvFormat::f32, KvFormat::f16, KvFormat::bf16, KvFormat::q8_0, KvFormat::q4_0,
                                KvFormat::tbq3_0, KvFormat::tbq4_0, KvFormat::tbq3_tcq}) {
    all.push_back({std::string(name_of(format)), {.k = {.format = format}, .v = {.format = format}}});
  }
  for (const char* preset : {"small", "balanced", "exact"}) all.push_back({preset, *cache_preset(preset)});
  all.push_back(
      {"sinks",
       {.k = {.format = KvFormat::tbq4_0}, .v = {.format = KvFormat::tbq4_0}, .n_sink = 64, .n_recent = 64}});
  const KvPolicy mixed{
      .k = {.format = KvFormat::tbq3_0},
      .v = {.format = KvFormat::tbq4_0},
      .layers = {{0, KvFormat::q8_0, KvFormat::tbq3_0}, {-1, KvFormat::f16, KvFormat::q8_0}}};
  all.push_back({"layers", mixed});
  all.push_back({"equalised_layers", mixed, 1, true});
  all.push_back({"probed_balanced", *cache_preset("balanced"), 1, true});
  all.push_back({"probed_small", *cache_preset("small"), 1, true});
  // Every position for one cache of each kind; for the others some, both ends
  // of the page among them. Where what is reused is what would be computed, to the bit, any model shows it.
  for (Case& one : all) {
    const bool is_of_its_kind = one.name == "balanced" || one.name == "equalised_layers";
    if (!is_of_its_kind) one.stride = 8;
  }
  for (const KvFormat format : {KvFormat::f16, KvFormat::tbq4_0}) {
    all.push_back({std::string(name_of(format)) + "_tiny",
                   {.k = {.format = format}, .v = {.format = format}},
                   1,
                   false,
                   true});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Caches, Divergence, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace parlance
