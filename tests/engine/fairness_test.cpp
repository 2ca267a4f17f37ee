// Who is urgent does not wait for a crowd that is not, and no crowd keeps the others out for long.
#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "engine/context.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "support/tested_device.h"
#include "support/text_model.h"
#include "support/watched_device.h"

namespace parlance {
namespace {

using Requests = std::vector<std::unique_ptr<Request>>;

class FairnessTest : public testing::Test {
 protected:
  void SetUp() override {
    loaded_ = test::load_text_model(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf",
                                    test::make_tested_device({.n_threads = 2, .deterministic = true}));
    ASSERT_TRUE(loaded_.model);
    open({});
  }
  void open(SessionOptions options) {
    options.n_ctx = 256;
    options.n_batch = 64;
    options.n_seq = kSequences;
    options.n_waiting = kMost - kSequences;
    auto context = Context::create(*loaded_.model, options);
    ASSERT_TRUE(context) << context.error().message;
    context_ = *std::move(context);
  }

  static std::vector<Token> text(unsigned seed) {
    std::vector<Token> tokens;
    for (unsigned i = 0; i < 20; ++i) tokens.push_back(static_cast<Token>((seed * 31 + i * 7) % 250));
    return tokens;
  }
  Result<std::unique_ptr<Request>> start(Priority priority, unsigned seed, int64_t n_tokens = 40,
                                         const Cancellation& cancellation = {}) const {
    GenerateOptions options;
    options.work.cancellation = cancellation;
    options.max_tokens = n_tokens;
    options.ignore_eos = true;
    options.sampling.temperature = 0;
    options.work.priority = priority;
    return Request::start(context_, text(seed), options);
  }
  // More than there are sequences for.
  Requests crowd(Priority priority, unsigned n = kMost, int64_t n_tokens = 40) const {
    Requests requests;
    for (unsigned i = 0; i < n; ++i) requests.push_back(*start(priority, 100 + i, n_tokens));
    for (int i = 0; i < 5; ++i) context_->scheduler().step();
    return requests;
  }
  // Steps until its first token; none where it takes more than 50.
  std::optional<int> steps_to_first_token(Request& request) const {
    for (int n = 1; n <= 50; ++n) {
      context_->scheduler().step();
      if (request.poll()) return n;
    }
    return std::nullopt;
  }
  std::vector<Token> finish(Request& request) const {
    while (!request.has_ended()) context_->scheduler().step();
    const auto result = request.result();
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->tokens : std::vector<Token>();
  }

  static constexpr int kSequences = 2, kMost = 8;  // that are open, and with those that wait
  test::LoadedModel loaded_;
  std::shared_ptr<Context> context_;
};

TEST_F(FairnessTest, ACrowdInTheBackgroundDelaysNobodyByMoreThanTwoSteps) {
  std::vector<std::vector<Token>> alone;
  for (int i = 0; i < kMost; ++i)
    alone.push_back(finish(**start(Priority::background, static_cast<unsigned>(100 + i))));
  context_->tree().evict({INT32_MAX, INT32_MAX});
  const Requests crowd = this->crowd(Priority::background);
  for (const unsigned seed : {1u, 2u, 3u}) {
    const auto urgent = *start(Priority::interactive, seed, 3);
    const auto n = steps_to_first_token(*urgent);
    ASSERT_TRUE(n);
    EXPECT_LE(*n, 2);
    const auto realtime = *start(Priority::realtime, seed + 10, 3);
    EXPECT_LE(steps_to_first_token(*realtime).value_or(99), 2);
    finish(*urgent);
  }
  // Those that were put aside say what they say alone.
  for (size_t i = 0; i < crowd.size(); ++i) EXPECT_EQ(finish(*crowd[i]), alone[i]) << i;
}

// Put aside before any of its steps, and cancelled there or not: what it says is what it says alone, and
// nothing is left behind. With pages that are shared, compressed and not, with drafts, and with states that
// cannot be cut.
TEST_F(FairnessTest, AnAnswerPutAsideAtAnyStepIsTheSame) {
  test::LoadedModel hybrid;
  if (const auto path = test::fixtures_root() / "text/models/qwen35.gguf"; std::filesystem::exists(path))
    hybrid = test::load_text_model(path, test::make_tested_device({.n_threads = 2, .deterministic = true}));
  struct Case {
    const TextModel* model;
    KvFormat k, v;
    bool looks_up, goes_ahead = false;
  };
  for (const Case& one : {Case{loaded_.model.get(), KvFormat::f16, KvFormat::f16, false},
                          {loaded_.model.get(), KvFormat::f16, KvFormat::f16, false, true},
                          {loaded_.model.get(), KvFormat::q8_0, KvFormat::tbq4_0, true},
                          {hybrid.model.get(), KvFormat::f16, KvFormat::f16, false},
                          {hybrid.model.get(), KvFormat::f16, KvFormat::f16, true}}) {
    if (!one.model) continue;
    SessionOptions options{.n_ctx = 128,
                           .n_batch = 8,
                           .n_seq = 1,
                           .n_waiting = 4,
                           .looks_up = one.looks_up,
                           .goes_ahead = one.goes_ahead};
    options.cache.k.format = one.k;
    options.cache.v.format = one.v;
    const auto context = Context::create(*one.model, options);
    ASSERT_TRUE(context) << context.error().message;
    context_ = *context;
    constexpr int64_t kAnswer = 8;
    const std::vector<Token> alone = finish(**start(Priority::background, 5, kAnswer));
    for (int n_before = 0; n_before < 14; ++n_before) {
      for (const bool is_cancelled : {false, true}) {
        SCOPED_TRACE(testing::Message() << name_of(one.k) << ", " << n_before << " steps, " << is_cancelled);
        if (n_before % 2 == 0) context_->tree().evict({INT32_MAX, INT32_MAX});  // else it is still known
        const CancellationSource source;
        const auto patient = *start(Priority::background, 5, kAnswer, source.ticket());
        for (int i = 0; i < n_before; ++i) context_->scheduler().step();
        const auto urgent = *start(Priority::realtime, 9, 2);
        context_->scheduler().step();
        if (is_cancelled) source.cancel();
        EXPECT_EQ(finish(*urgent).size(), 2u);
        const std::vector<Token> said = finish(*patient);
        if (is_cancelled) {
          ASSERT_LE(said.size(), alone.size());
          EXPECT_TRUE(std::ranges::equal(said, std::span(alone).first(said.size())));
        } else {
          EXPECT_EQ(said, alone);
        }
      }
    }
    // A step that is queued already comes before who is urgent.
    EXPECT_GT(context_->scheduler().stats().n_preemptions, one.goes_ahead ? 8u : 10u);
    context_->tree().evict({INT32_MAX, INT32_MAX});
    EXPECT_EQ(context_->pools()[PageKind::main].n_free() + 1, context_->pools()[PageKind::main].n_pages());
    const auto again = start(Priority::interactive, 5, 1);  // the one sequence is free
    EXPECT_EQ(finish(**again).size(), 1u);
    context_ = nullptr;
  }
}

// The crowd promises to compute the very text that somebody who is urgent asks for, and has not begun.
TEST_F(FairnessTest, NobodyWaitsForWhatLessUrgentOnesHaveNotBegun) {
  const Requests crowd = this->crowd(Priority::background);
  const auto urgent = *start(Priority::interactive, 100 + kMost - 1, 3);
  EXPECT_LE(steps_to_first_token(*urgent).value_or(99), 2);
}

TEST_F(FairnessTest, ACrowdOfTheUrgentLetsOthersPassWithinASecond) {
  open({.n_layers_at_once = 1});  // a prompt takes many steps of the crowd's answers
  for (const Priority crowded : {Priority::realtime, Priority::interactive}) {
    const Requests crowd = this->crowd(crowded, kMost - 1, 200);
    const auto patient = *start(Priority::background, 1, 40);
    const auto began = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    bool has_token = false;
    double longest_step = 0;
    while (!has_token && seconds() < 20) {
      const double before = seconds();
      context_->scheduler().step();
      has_token = patient->poll().has_value();
      ASSERT_FALSE(crowd.back()->has_ended()) << "the crowd is too small for this test";
      std::this_thread::sleep_for(std::chrono::milliseconds(40));  // the crowd's answers last
      longest_step = std::max(longest_step, seconds() - before);
    }
    EXPECT_TRUE(has_token);
    const auto queue = context_->scheduler().stats().queues[static_cast<size_t>(Priority::background)];
    EXPECT_GT(queue.most_idle_s, 0.4);
    EXPECT_LT(queue.most_idle_s, 0.5 + 3 * longest_step) << "it is favoured from the next step on";
  }
}

// Where a step takes longer than anybody's patience, as when a device compiles its kernels or is slow.
TEST_F(FairnessTest, WhoIsServedInEveryStepIsNotStarvingHoweverLongTheyTake) {
  auto watched = std::make_unique<test::WatchedDevice>();
  bool is_slow = false;
  watched->on_operation = [&] {
    if (std::exchange(is_slow, false)) std::this_thread::sleep_for(std::chrono::milliseconds(550));
  };
  const auto loaded = test::load_text_model(
      test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf", std::move(watched));
  auto context = Context::create(*loaded.model, {.n_ctx = 256, .n_batch = 64, .n_seq = 1, .n_waiting = 1});
  ASSERT_TRUE(context) << context.error().message;
  context_ = *std::move(context);
  const auto patient = *start(Priority::background, 1);
  const auto step = [&] {
    is_slow = true;
    context_->scheduler().step();
  };
  step();
  step();
  const auto urgent = *start(Priority::interactive, 2, 3);
  int n_steps = 0;
  for (bool has_token = false; !has_token && n_steps < 5; ++n_steps) {
    step();
    has_token = urgent->poll().has_value();
  }
  EXPECT_LE(n_steps, 2);
  context_ = nullptr;  // before the model
}

TEST_F(FairnessTest, ACrowdInTheBackgroundTakesNobodysPlaceInTheQueue) {
  const Requests crowd = this->crowd(Priority::background);
  const auto refused = start(Priority::background, 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
  Requests urgent;
  for (int i = 0; i < kMost; ++i) {
    auto one = start(Priority::interactive, static_cast<unsigned>(i), 2);
    ASSERT_TRUE(one) << one.error().message;
    urgent.push_back(*std::move(one));
  }
  EXPECT_FALSE(start(Priority::interactive, 50));
  EXPECT_TRUE(start(Priority::realtime, 50));
  for (const auto& one : urgent) finish(*one);
}

}  // namespace
}  // namespace parlance
