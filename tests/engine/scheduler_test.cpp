// Any mix of sequences: each says what it says alone, to the last bit.
#include "engine/scheduler.h"

#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include "engine/generate.h"
#include "engine/request.h"
#include "support/tested_device.h"
#include "support/text_model.h"

namespace parlance {
namespace {

struct Wanted {
  std::vector<Token> prompt;
  GenerateOptions options;
  int starts_at = 0;  // step
  int cancelled_at = -1;
};

class SchedulerTest : public testing::Test {
 protected:
  void SetUp() override {
    loaded_ = test::load_text_model(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf",
                                    test::make_tested_device({.n_threads = 2, .deterministic = true}));
    ASSERT_TRUE(loaded_.model);
  }

  std::shared_ptr<Context> make_context(const SessionOptions& options) const {
    auto context = Context::create(*loaded_.model, options);
    EXPECT_TRUE(context) << context.error().message;
    return context ? *std::move(context) : nullptr;
  }

  static KvPolicy policy(KvFormat k, KvFormat v) { return {.k = {.format = k}, .v = {.format = v}}; }

  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  std::vector<Token> text(int64_t n, unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<Token> tokens(static_cast<size_t>(n));
    for (Token& token : tokens) token = static_cast<Token>(random() % 500);
    return tokens;
  }

  // A prompt that may begin as others do.
  std::vector<Token> prompt() {
    std::vector<Token> tokens = text(below(24), static_cast<unsigned>(below(3)));
    const auto rest = text(1 + below(12), static_cast<unsigned>(100 + below(1000)));
    tokens.insert(tokens.end(), rest.begin(), rest.end());
    return tokens;
  }

  Wanted wanted() {
    Wanted wanted{.prompt = prompt(), .options = {}};
    wanted.options.max_tokens = 1 + below(8);
    wanted.options.ignore_eos = true;
    wanted.options.sampling.temperature = below(2) == 0 ? 0.0f : 1.2f;
    wanted.options.sampling.seed = random_();
    wanted.options.work.priority = static_cast<Priority>(below(3));
    wanted.starts_at = static_cast<int>(below(12));
    if (below(4) == 0) wanted.cancelled_at = wanted.starts_at + static_cast<int>(below(8));
    return wanted;
  }

  std::vector<Token> alone(const Wanted& wanted, SessionOptions options) const {
    options.n_seq = 1;
    options.n_cache = 0;
    options.n_batch = 512;
    const auto session = test::make_session(*loaded_.model, options);
    const auto result = generate(*session, wanted.prompt, wanted.options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->tokens : std::vector<Token>();
  }

  // Runs all of them in one context, step by step, and compares each with itself alone.
  void expect_each_as_alone(const std::vector<Wanted>& all, const SessionOptions& options,
                            uint64_t* n_preemptions = nullptr) {
    const auto context = make_context(options);
    std::vector<std::unique_ptr<Request>> requests(all.size());
    std::vector<CancellationSource> sources(all.size());
    for (int step = 0; step < 5000; ++step) {
      bool is_over = true;
      for (size_t i = 0; i < all.size(); ++i) {
        if (step == all[i].starts_at) {
          GenerateOptions terms = all[i].options;
          terms.work.cancellation = sources[i].ticket();
          auto request = Request::start(context, all[i].prompt, terms);
          ASSERT_TRUE(request) << request.error().message;
          requests[i] = *std::move(request);
        }
        if (step == all[i].cancelled_at) sources[i].cancel();
        is_over = is_over && requests[i] && requests[i]->has_ended();
      }
      if (is_over) break;
      context->scheduler().step();
    }
    for (size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "request " << i << ", prompt of " << all[i].prompt.size());
      ASSERT_TRUE(requests[i] && requests[i]->has_ended());
      const auto result = requests[i]->result();
      ASSERT_TRUE(result) << result.error().message;
      std::string streamed;
      while (const auto piece = requests[i]->poll()) streamed += piece->text;
      EXPECT_EQ(streamed, result->text);
      const std::vector<Token> expected = alone(all[i], options);
      if (result->finish_reason == FinishReason::cancelled) {
        ASSERT_LE(result->tokens.size(), expected.size());
        EXPECT_TRUE(std::ranges::equal(result->tokens, std::span(expected).first(result->tokens.size())));
      } else {
        EXPECT_EQ(result->tokens, expected);
      }
    }
    if (n_preemptions) *n_preemptions += context->scheduler().stats().n_preemptions;
    requests.clear();
    context->tree().evict({INT32_MAX, INT32_MAX});
    EXPECT_EQ(context->pools()[PageKind::main].n_free() + 1, context->pools()[PageKind::main].n_pages());
  }

  test::LoadedModel loaded_;
  std::mt19937 random_{11};
};

TEST_F(SchedulerTest, AnyMixEqualsEachAlone) {
  for (const KvPolicy& cache :
       {policy(KvFormat::f16, KvFormat::f16), policy(KvFormat::q8_0, KvFormat::tbq4_0),
        policy(KvFormat::tbq3_tcq, KvFormat::tbq3_0)}) {
    if (!test::knows(*loaded_.device, cache)) continue;
    SCOPED_TRACE(std::string(name_of(cache.k.format)) + " " + std::string(name_of(cache.v.format)));
    const int64_t n_batch = 4 + below(24);
    std::vector<Wanted> all;
    for (int64_t n = 3 + below(6); n > 0; --n) all.push_back(wanted());
    SessionOptions options{
        .n_ctx = 256, .n_batch = n_batch, .cache = cache, .n_seq = 1 + static_cast<int>(below(16))};
    for (options.n_layers_at_once = 0; options.n_layers_at_once < 2; ++options.n_layers_at_once)
      expect_each_as_alone(all, options);
  }
}

// Too few pages for all: some give up theirs and compute their text again.
TEST_F(SchedulerTest, WhoLosesItsPagesSaysTheSame) {
  uint64_t n_preemptions = 0;
  {
    std::vector<Wanted> all;
    for (int i = 0; i < 4; ++i) {
      all.push_back(wanted());
      all.back().prompt = text(6 + below(4), static_cast<unsigned>(3000 + i));
      all.back().options.max_tokens = 62;
      all.back().cancelled_at = -1;
    }
    expect_each_as_alone(all,
                         {.n_ctx = 256,
                          .n_batch = 64,
                          .cache = policy(KvFormat::q8_0, KvFormat::q8_0),
                          .n_seq = 4,
                          .n_cache = 64},
                         &n_preemptions);
  }
  EXPECT_GT(n_preemptions, 0u);
}

TEST_F(SchedulerTest, UrgentRequestsAreServedFirst) {
  const auto context = make_context({.n_ctx = 512, .n_batch = 8, .n_seq = 4});
  const auto start = [&](Priority priority, unsigned seed) {
    GenerateOptions options;
    options.max_tokens = 1;
    options.work.priority = priority;
    return *Request::start(context, text(60, seed), options);
  };
  const auto background = start(Priority::background, 1);
  context->scheduler().step();
  const auto interactive = start(Priority::interactive, 2);
  const auto realtime = start(Priority::realtime, 3);
  std::vector<const Request*> order;
  for (int step = 0; step < 100 && order.size() < 3; ++step) {
    for (const Request* request : {realtime.get(), interactive.get(), background.get()}) {
      if (request->has_ended() && std::ranges::find(order, request) == order.end()) order.push_back(request);
    }
    context->scheduler().step();
  }
  EXPECT_EQ(order, (std::vector<const Request*>{realtime.get(), interactive.get(), background.get()}));
}

// A second request for a text that is being computed waits for it; one that is more urgent makes the first as
// urgent.
TEST_F(SchedulerTest, ABeginningThatIsBeingComputedIsWaitedFor) {
  const auto context = make_context({.n_ctx = 512, .n_batch = 8, .n_seq = 3});
  GenerateOptions options;
  options.max_tokens = 1;
  options.ignore_eos = true;
  options.work.priority = Priority::background;
  const auto stem = text(80, 5);
  const auto first = *Request::start(context, stem, options);
  context->scheduler().step();
  options.work.priority = Priority::realtime;
  auto longer = stem;
  longer.insert(longer.end(), {1, 2, 3});
  const auto second = *Request::start(context, longer, options);
  options.work.priority = Priority::interactive;
  const auto other = *Request::start(context, text(80, 6), options);
  for (int step = 0; step < 200 && !second->has_ended(); ++step) context->scheduler().step();
  ASSERT_TRUE(second->has_ended());
  EXPECT_TRUE(first->has_ended());
  EXPECT_FALSE(other->has_ended());
  EXPECT_GE(second->result()->n_prompt_cached, 79);
}

TEST_F(SchedulerTest, TooManyRequestsAreRefusedInWords) {
  const auto context = make_context({.n_ctx = 64, .n_seq = 1, .n_waiting = 2});
  std::vector<std::unique_ptr<Request>> requests;
  for (unsigned i = 0; i < 3; ++i) {
    auto request = Request::start(context, text(10, i), {});
    ASSERT_TRUE(request) << request.error().message;
    requests.push_back(*std::move(request));
  }
  const auto refused = Request::start(context, text(10, 9), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::busy);
  EXPECT_NE(refused.error().message.find("later"), std::string::npos) << refused.error().message;
  while (requests.front()->next()) {
  }
  EXPECT_TRUE(requests.front()->result());
  EXPECT_TRUE(Request::start(context, text(10, 9), {}));
}

TEST_F(SchedulerTest, LateRequestsEndAndOthersGoOn) {
  const auto context = make_context({.n_ctx = 256, .n_batch = 16, .n_seq = 2});
  GenerateOptions late, patient;
  late.ignore_eos = patient.ignore_eos = true;
  late.work.deadline = std::chrono::steady_clock::now();
  patient.max_tokens = 5;
  const auto first = *Request::start(context, text(30, 1), late);
  const auto second = *Request::start(context, text(30, 2), patient);
  while (second->next()) {
  }
  ASSERT_TRUE(second->result());
  EXPECT_EQ(second->result()->tokens.size(), 5u);
  ASSERT_TRUE(first->has_ended());
  ASSERT_FALSE(first->result());
  EXPECT_EQ(first->result().error().code, ErrorCode::timed_out);
}

TEST_F(SchedulerTest, ATextThatNeverFitsIsAnError) {
  const auto context = make_context({.n_ctx = 256, .n_batch = 64, .n_seq = 2, .n_cache = 64});
  const auto request = *Request::start(context, text(230, 1), {});
  while (request->next()) {
  }
  ASSERT_FALSE(request->result());
  EXPECT_EQ(request->result().error().code, ErrorCode::out_of_memory);
  const auto session = *Session::create(context);
  EXPECT_TRUE(session->set_prompt(text(30, 2)));
}

// Many threads, each with requests and sessions of its own, while one of the scheduler's computes.
TEST_F(SchedulerTest, ManyThreadsShareAContext) {
  const SessionOptions options{.n_ctx = 256, .n_batch = 48, .n_seq = 6};
  const auto context = make_context(options);
  context->scheduler().start();
  std::vector<std::vector<Wanted>> wishes(3);
  std::vector<std::vector<std::vector<Token>>> said(wishes.size());
  for (auto& wish : wishes) {
    for (int i = 0; i < 2; ++i) {
      wish.push_back(wanted());
      wish.back().cancelled_at = -1;
    }
  }
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wishes.size(); ++t) {
    threads.emplace_back([&, t] {
      for (const Wanted& wish : wishes[t]) {
        const auto request = Request::start(context, wish.prompt, wish.options, [] {});
        if (!request) continue;
        while ((*request)->next()) {
        }
        said[t].push_back((*request)->result()->tokens);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < wishes.size(); ++t) {
    ASSERT_EQ(said[t].size(), wishes[t].size());
    for (size_t i = 0; i < said[t].size(); ++i) EXPECT_EQ(said[t][i], alone(wishes[t][i], options));
  }
}

}  // namespace
}  // namespace parlance
