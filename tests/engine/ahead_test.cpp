// Steps that are queued before it is known what the ones before them yield: answers are the same with them
// and without, wherever they end, whoever comes or goes meanwhile, and also where other tokens are drawn than
// was thought.
#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <thread>

#include "engine/scheduler.h"
#include "support/damaged_gguf.h"
#include "support/tiny_pair.h"

namespace parlance {
namespace {

class Ahead : public test::TinyPair {
 protected:
  void SetUp() override {
    model_ = load({.n_layer = 2});
    ASSERT_TRUE(model_);
  }

  static SessionOptions options(bool goes_ahead, int n_seq = 4) {
    return {.n_ctx = 256, .n_batch = 64, .n_seq = n_seq, .goes_ahead = goes_ahead};
  }

  static GenerateOptions terms(int64_t n, std::optional<uint64_t> seed = {}) {
    GenerateOptions terms;
    terms.max_tokens = n;
    terms.ignore_eos = true;
    terms.sampling.temperature = seed ? 1.1f : 0.0f;
    terms.sampling.seed = seed.value_or(0);
    return terms;
  }

  static GenerateResult answer(const std::shared_ptr<Context>& context, const std::vector<Token>& prompt,
                               const GenerateOptions& terms) {
    const auto request = *Request::start(context, prompt, terms);
    while (request->next()) {
    }
    const auto result = request->result();
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : GenerateResult{};
  }

  std::vector<Token> alone(const std::vector<Token>& prompt, const GenerateOptions& terms,
                           SessionOptions kind = options(false)) const {
    kind.goes_ahead = false;
    kind.n_seq = 1;
    kind.n_cache = 0;
    return answer(make_context(*model_, kind), prompt, terms).tokens;
  }

  static void expect_all_pages_free(const std::shared_ptr<Context>& context) {
    context->tree().evict({INT32_MAX, INT32_MAX});
    for (const PageKind kind : kPageKinds) {
      if (context->pools()[kind].n_pages() > 0) {
        EXPECT_GE(context->pools()[kind].n_free() + 1, context->pools()[kind].n_pages());
      }
    }
  }

  std::shared_ptr<const TextModel> model_;
};

// Of greedy and drawn answers; most steps are queued ahead, all but those that begin a page.
TEST_F(Ahead, SaysTheSame) {
  for (const auto& seed :
       {std::optional<uint64_t>(), std::optional<uint64_t>(5), std::optional<uint64_t>(6)}) {
    const auto context = make_context(*model_, options(true));
    const auto prompt = text(30, 1);
    const auto said = answer(context, prompt, terms(200, seed)).tokens;
    EXPECT_EQ(said, alone(prompt, terms(200, seed)));
    const SchedulerStats stats = context->scheduler().stats();
    EXPECT_GE(stats.n_ahead, 190u);
    EXPECT_LE(stats.n_in_vain, 1u);
  }
}

// What follows the end is of nobody: the next prompt goes on from any place of the answer as if it had not
// been computed.
TEST_F(Ahead, EndsAnywhere) {
  const auto prompt = text(20, 2);
  const auto whole = alone(prompt, terms(60));
  for (size_t end = 0; end < whole.size(); ++end) {
    SCOPED_TRACE(end);
    const auto context = make_context(*model_, options(true, 1));
    GenerateOptions stops = terms(60);
    const bool is_new = std::find(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(end), whole[end]) ==
                        whole.begin() + static_cast<ptrdiff_t>(end);
    is_new ? stops.stop_tokens.push_back(whole[end]) : void(stops.max_tokens = static_cast<int64_t>(end));
    const auto said = answer(context, prompt, stops).tokens;
    ASSERT_TRUE(std::ranges::equal(said, std::span(whole).first(end)));
    std::vector<Token> longer = prompt;
    longer.insert(longer.end(), said.begin(), said.end());
    longer.push_back(7);
    ASSERT_EQ(answer(context, longer, terms(10)).tokens, alone(longer, terms(10)));
    expect_all_pages_free(context);
  }
}

TEST_F(Ahead, IsCancelledAnywhere) {
  SessionOptions kind = options(true, 1);
  const auto prompt = text(60, 3);
  const auto expected = alone(prompt, terms(8));
  const auto again = alone(text(62, 3), terms(4));
  cancel_before_each_operation(
      *model_, kind, prompt, terms(8), [&](const GenerateResult& said, Session& session) {
        ASSERT_LE(said.tokens.size(), expected.size());
        ASSERT_TRUE(std::ranges::equal(said.tokens, std::span(expected).first(said.tokens.size())));
        ASSERT_EQ(TinyPair::answer(session, text(62, 3), terms(4)).tokens, again);
      });
}

// Answers begin and end at any step of others, some of them cancelled, with too little memory for all.
TEST_F(Ahead, AnyMixEqualsEachAlone) {
  std::mt19937 random(4);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  uint64_t n_ahead = 0;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    SessionOptions kind = options(true, 1 + static_cast<int>(below(5)));
    if (round % 3 == 1) kind.n_cache = 200;
    if (round % 3 == 2) kind.cache = {.k = {.format = KvFormat::q8_0}, .v = {.format = KvFormat::tbq4_0}};
    if (round % 4 == 3) kind.cache.n_recent = 64;
    if (!test::knows(tested_device(), kind.cache)) continue;
    const auto context = make_context(*model_, kind);
    struct One {
      std::vector<Token> prompt;
      GenerateOptions terms;
      int64_t starts_at, cancelled_at;
      CancellationSource source;
      std::unique_ptr<Request> request;
    };
    std::vector<One> all(static_cast<size_t>(2 + below(5)));
    for (One& one : all) {
      one.prompt = text(1 + below(70), static_cast<unsigned>(below(4)));
      one.terms = terms(1 + below(80));
      if (below(2) == 0) one.terms = terms(1 + below(80), random());
      if (below(4) == 0) one.terms.sampling.presence_penalty = 1;
      if (below(5) == 0) one.terms.min_tokens = 10;
      if (below(5) == 0) one.terms.said = text(5, 9);
      one.terms.work.priority = static_cast<Priority>(below(3));
      one.starts_at = below(60);
      one.cancelled_at = below(4) == 0 ? one.starts_at + below(60) : -1;
    }
    bool is_over = false;
    for (int64_t step = 0; !is_over && step < 5000; ++step) {
      is_over = true;
      for (One& one : all) {
        if (step == one.starts_at) {
          GenerateOptions terms = one.terms;
          terms.work.cancellation = one.source.ticket();
          one.request = *Request::start(context, one.prompt, terms);
        }
        if (step == one.cancelled_at) one.source.cancel();
        is_over = is_over && one.request && one.request->has_ended();
      }
      if (!is_over) context->scheduler().step();
    }
    for (One& one : all) {
      ASSERT_TRUE(one.request && one.request->has_ended());
      const auto result = one.request->result();
      ASSERT_TRUE(result) << result.error().message;
      auto expected = alone(one.prompt, one.terms, kind);
      if (result->finish_reason == FinishReason::cancelled) {
        ASSERT_LE(result->tokens.size(), expected.size());
        expected.resize(result->tokens.size());
      }
      EXPECT_EQ(result->tokens, expected);
    }
    n_ahead += context->scheduler().stats().n_ahead;
    all.clear();
    expect_all_pages_free(context);
  }
  EXPECT_GT(n_ahead, 200u);
}

// Where the device draws other tokens than the sampler, the steps behind them count for nothing.
TEST_F(Ahead, WhatWasThoughtWronglyIsLost) {
  if (&tested_device() != &device_) GTEST_SKIP() << "only the CPU's operations are watched";
  const auto prompt = text(30, 5);
  const auto expected = alone(prompt, terms(100, 8));
  std::mt19937 random(1);
  device_.on_drawn = [&](int32_t& token) {
    if (random() % 3 == 0) token = static_cast<int32_t>(random() % 250);
  };
  const auto context = make_context(*model_, options(true));
  const auto said = answer(context, prompt, terms(100, 8)).tokens;
  device_.on_drawn = {};
  EXPECT_EQ(said, expected);
  const SchedulerStats stats = context->scheduler().stats();
  EXPECT_GT(stats.n_ahead, 30u);
  EXPECT_GT(stats.n_in_vain, 15u);
}

// A token that makes numbers of none: the step behind it, which was queued before, is of nobody.
TEST_F(Ahead, WhatIsNoNumberEndsTheAnswer) {
  std::vector<int32_t> next(test::kTinyVocabulary);
  for (size_t i = 0; i < next.size(); ++i) next[i] = static_cast<int32_t>((i + 1) % next.size());
  const auto plain = folder_.path() / "plain.gguf", damaged = folder_.path() / "damaged.gguf";
  test::write_tiny_model(plain, {.n_embd = 288, .n_layer = 2, .next = next});
  const std::vector<Token> prompt{20, 30, 40};
  for (int32_t i = 1; i < 7; ++i) {
    SCOPED_TRACE(i);
    test::damage_gguf(plain, damaged, "token_embd.weight", 40 + i, std::numeric_limits<float>::quiet_NaN());
    const auto model = load(damaged);
    ASSERT_TRUE(model);
    std::vector<std::string> errors;
    for (const bool goes_ahead : {false, true}) {
      const auto context = make_context(*model, options(goes_ahead));
      for (int round = 0; round < 2; ++round) {
        const auto request = *Request::start(context, prompt, terms(20));
        while (request->next()) {
        }
        const auto result = request->result();
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, ErrorCode::corrupt_file);
        errors.push_back(result.error().message);
      }
      EXPECT_EQ(answer(context, {100, 101}, terms(5)).tokens, (std::vector<Token>{102, 103, 104, 105, 106}));
      expect_all_pages_free(context);
    }
    for (const std::string& error : errors) EXPECT_EQ(error, errors.front());
  }
}

// Whoever takes the pieces may come late: that is not what a step takes.
TEST_F(Ahead, WhoComesLateDoesNotMakeStepsLong) {
  constexpr std::chrono::milliseconds kLate{200};
  const auto context = make_context(*model_, options(true));
  std::vector<double> ms;
  context->scheduler().watch([&](const StepReport& report) { ms.push_back(report.ms); });
  const auto request = *Request::start(context, text(10, 7), terms(8));
  for (int step = 0; step < 6; ++step) {
    context->scheduler().step();
    if (step > 2) std::this_thread::sleep_for(kLate);
  }
  ASSERT_EQ(ms.size(), 6u);
  EXPECT_LT(*std::min_element(ms.begin() + 4, ms.end()), 0.9 * static_cast<double>(kLate.count()));
  EXPECT_GE(context->scheduler().stats().n_ahead, 3u);
}

// Nobody looks ahead who may be given other tokens, or another prompt would have to wait.
TEST_F(Ahead, OnlyWhereItIsLikely) {
  const auto n_ahead = [&](const GenerateOptions& terms, SessionOptions kind) {
    const auto context = make_context(*model_, kind);
    answer(context, text(30, 6), terms);
    return context->scheduler().stats().n_ahead;
  };
  EXPECT_EQ(n_ahead(terms(20), options(false)), 0u);
  GenerateOptions penalised = terms(20, 1);
  penalised.sampling.presence_penalty = 1;
  EXPECT_EQ(n_ahead(penalised, options(true)), 0u);
  GenerateOptions wants_logprobs = terms(20);
  wants_logprobs.n_top_logprobs = 1;
  EXPECT_EQ(n_ahead(wants_logprobs, options(true)), 0u);
  SessionOptions drafts = options(true);
  drafts.looks_up = true;
  EXPECT_EQ(n_ahead(terms(20), drafts), 0u);
  EXPECT_EQ(n_ahead(terms(20), options(true)), 18u);  // behind the first token, which the prompt yields
}

}  // namespace
}  // namespace parlance
