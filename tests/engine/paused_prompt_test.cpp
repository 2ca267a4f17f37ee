// Prompts that go through the layers between the steps of an answer: whatever happens between two of their
// layers, everybody's numbers are those of computing alone, and all memory comes back.
#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "engine/drafter.h"
#include "engine/generate.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "support/random_tokens.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_drafter.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

constexpr int kPausedLayers = 4;

// A model with attention only, and one with recurrent states, which cannot be cut.
class PausedPrompt : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf");
    std::filesystem::path path = test::fixtures_root() / "text/models/qwen35.gguf";
    if (!GetParam()) {
      path = folder_ / "tiny.gguf";
      test::write_tiny_model(path, {.n_layer = kPausedLayers});
    }
    loaded_ = test::load_text_model(path, CpuOptions{.n_threads = 1, .deterministic = true});
    ASSERT_TRUE(loaded_.model);
  }

  SessionOptions options(int n_seq = 4) const {
    SessionOptions options{.n_ctx = 256, .n_batch = 64, .n_seq = n_seq};
    options.n_layers_at_once = 1;
    options.takes_embeddings = true;
    return options;
  }

  std::shared_ptr<Context> make_context(const SessionOptions& options) const {
    auto context = Context::create(*loaded_.model, options);
    EXPECT_TRUE(context) << context.error().message;
    return context ? *std::move(context) : nullptr;
  }

  static GenerateOptions saying(int64_t n, const Cancellation& ticket = {}) {
    GenerateOptions options;
    options.sampling.temperature = 0;
    options.max_tokens = n;
    options.ignore_eos = true;
    options.work.cancellation = ticket;
    return options;
  }

  static std::unique_ptr<Request> start(const std::shared_ptr<Context>& context, std::vector<Token> prompt,
                                        const GenerateOptions& options) {
    auto request = Request::start(context, std::move(prompt), options);
    EXPECT_TRUE(request) << request.error().message;
    return request ? *std::move(request) : nullptr;
  }

  // An answer that is being written, in whose midst prompts come.
  static std::unique_ptr<Request> start_answer(const std::shared_ptr<Context>& context, int64_t n_tokens) {
    auto answer = start(context, test::random_tokens(9, 1), saying(n_tokens));
    for (int step = 0; step < 3; ++step) context->scheduler().step();
    EXPECT_TRUE(answer->poll());
    return answer;
  }

  static void finish(Context& context, const Request& request) {
    for (int step = 0; step < 2000 && !request.has_ended(); ++step) context.scheduler().step();
    EXPECT_TRUE(request.has_ended());
  }

  static std::vector<Token> tokens_of(const Request& request) {
    const auto result = request.result();
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->tokens : std::vector<Token>();
  }

  std::vector<Token> alone(const std::vector<Token>& prompt, int64_t n_tokens) const {
    const auto result = generate(*test::make_session(*loaded_.model, options(1)), prompt, saying(n_tokens));
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->tokens : std::vector<Token>();
  }

  // When nobody holds anything any more.
  static void expect_all_pages_back(Context& context) {
    context.tree().evict({INT32_MAX, INT32_MAX});
    for (const PageKind kind : kPageKinds) {
      const bool is_written =
          kind == context.layout().page_rules().written;  // recorded steps' filler has one
      EXPECT_EQ(context.pools()[kind].n_free() + (is_written ? 1 : 0), context.pools()[kind].n_pages());
    }
  }

  // `event` before each step in turn of those in which a prompt is computed beside an answer; both then say
  // what they say alone.
  template <class Event>
  void expect_nothing_disturbed(const Event& event) const {
    const auto prompt = test::random_tokens(40, 2);
    const auto said = alone(prompt, 4), answered = alone(test::random_tokens(9, 1), 200);
    for (int at = 0, is_over = 0; !is_over; ++at) {
      SCOPED_TRACE(testing::Message() << "before step " << at);
      ASSERT_LT(at, 100);
      const auto context = make_context(options());
      auto answer = start_answer(context, 200);
      auto request = start(context, prompt, saying(4));
      for (int step = 0; step < at; ++step) context->scheduler().step();
      is_over = request->poll().has_value();
      event(context);
      finish(*context, *request);
      finish(*context, *answer);
      EXPECT_EQ(tokens_of(*request), said);
      EXPECT_EQ(tokens_of(*answer), answered);
      request.reset();
      answer.reset();
      expect_all_pages_back(*context);
      if (HasFailure()) return;
    }
  }

  test::TemporaryFolder folder_;
  test::LoadedModel loaded_;
};

INSTANTIATE_TEST_SUITE_P(Models, PausedPrompt, testing::Bool());

// Of any length, up to the context's, and in any cache.
TEST_P(PausedPrompt, IsComputedAsAloneToTheLastBit) {
  std::vector<KvPolicy> caches{{}, {.k = {.format = KvFormat::q8_0}, .v = {.format = KvFormat::q8_0}}};
  caches.push_back({.k = {.format = KvFormat::q8_0}, .v = {.format = KvFormat::q8_0}});
  caches.back().n_sink = caches.back().n_recent = 64;
  for (const KvPolicy& cache : caches) {
    for (const int n_layers : {0, 1, 3}) {
      SessionOptions own = options();
      own.cache = cache;
      own.n_layers_at_once = n_layers;
      const auto context = make_context(own);
      const auto answer = start_answer(context, 200);
      const auto session = *Session::create(context);
      for (const int64_t n : {1, 16, 33, 40, 150, 256}) {
        SCOPED_TRACE(testing::Message() << n << " tokens, " << n_layers << " layers at once");
        const auto prompt = test::random_tokens(n, static_cast<unsigned>(n));
        const auto lonely = test::make_session(*loaded_.model, own);
        const auto want = lonely->set_prompt(prompt), got = session->set_prompt(prompt);
        ASSERT_TRUE(want && got);
        // What a window leaves exact depends on where a prompt was cut.
        if (cache.n_recent == 0) {
          EXPECT_TRUE(std::ranges::equal(*want, *got));
        }
        ASSERT_FALSE(answer->has_ended());
      }
      finish(*context, *answer);
      if (cache.k.format == KvFormat::f16) {
        EXPECT_EQ(tokens_of(*answer), alone(test::random_tokens(9, 1), 200));
      }
    }
  }
}

TEST_P(PausedPrompt, WhoWatchesTheStepsSeesItOnce) {
  const auto context = make_context(options());
  uint64_t n_reports = 0, n_rows = 0;
  context->scheduler().watch([&](const StepReport& step) {
    ++n_reports;
    n_rows += static_cast<uint64_t>(step.n_rows);
    EXPECT_GT(step.n_sequences, 0);
    EXPECT_GT(step.ms, 0);
  });
  const auto answer = start_answer(context, 200);
  const auto request = start(context, test::random_tokens(40, 3), saying(1));
  finish(*context, *request);
  finish(*context, *answer);
  const SchedulerStats stats = context->scheduler().stats();
  EXPECT_EQ(n_reports, stats.n_steps);
  EXPECT_EQ(n_rows, stats.n_tokens);
}

TEST_P(PausedPrompt, LetsAnswersStepBetweenItsLayers) {
  const auto context = make_context(options());
  const auto answer = start_answer(context, 200);
  while (answer->poll()) {
  }
  const auto request = start(context, test::random_tokens(16, 3), saying(1));
  finish(*context, *request);
  const int64_t n_layer = loaded_.model->hyper_parameters().n_layer;
  int64_t n_said = 0;
  while (answer->poll()) ++n_said;
  EXPECT_GE(n_said, n_layer - 1);
  EXPECT_LE(n_said, n_layer);
  // With nobody beside it, all of a batch goes through all layers in one step.
  finish(*context, *answer);
  const uint64_t n_steps = context->scheduler().stats().n_steps;
  finish(*context, *start(context, test::random_tokens(64, 4), saying(1)));
  EXPECT_EQ(context->scheduler().stats().n_steps, n_steps + 1);
}

// What has been begun is finished at once when nobody waits any more.
TEST_P(PausedPrompt, GoesOnAloneWhenAnswersEnd) {
  for (int at = 0; at < 2 * kPausedLayers; ++at) {
    const auto context = make_context(options());
    auto answer = start_answer(context, 200);
    const auto request = start(context, test::random_tokens(70, 5), saying(3));
    for (int step = 0; step < at; ++step) context->scheduler().step();
    answer.reset();  // is cancelled
    finish(*context, *request);
    EXPECT_EQ(tokens_of(*request), alone(test::random_tokens(70, 5), 3)) << at;
  }
}

TEST_P(PausedPrompt, RowsInPlaceOfTokens) {
  const int64_t n_embd = loaded_.model->hyper_parameters().n_embd;
  std::vector<float> rows(static_cast<size_t>(30 * n_embd));
  std::mt19937 random(6);
  for (float& value : rows) value = std::normal_distribution<float>(0, 0.05f)(random);
  std::vector<Token> prompt = test::random_tokens(50, 6);
  std::fill_n(prompt.begin() + 10, 30, kEmbedded);
  const Embeddings embeddings{.rows = rows, .first = 10};
  const auto lonely = test::make_session(*loaded_.model, options(1));
  const auto context = make_context(options());
  const auto answer = start_answer(context, 100);
  const auto session = *Session::create(context);
  for (const auto* const one : {&lonely, &session})
    ASSERT_TRUE((*one)->set_prompt(test::random_tokens(20, 7)));
  const auto want = lonely->append(prompt, 1, embeddings), got = session->append(prompt, 1, embeddings);
  ASSERT_TRUE(want && got);
  EXPECT_TRUE(std::ranges::equal(*want, *got));
  const auto want_pooled = lonely->embed(test::random_tokens(60, 8), Pooling::last);
  const auto pooled = session->embed(test::random_tokens(60, 8), Pooling::last);
  ASSERT_TRUE(want_pooled && pooled);
  EXPECT_EQ(*want_pooled, *pooled);
}

// Its session goes on as if nothing had been, and the answer too.
TEST_P(PausedPrompt, MayBeCancelledBetweenAnyTwoLayers) {
  const auto prompt = test::random_tokens(40, 2);
  const auto lonely = test::make_session(*loaded_.model, options(1));
  ASSERT_TRUE(lonely->set_prompt(test::random_tokens(30, 9)));
  const auto logits = lonely->set_prompt(prompt);
  ASSERT_TRUE(logits);
  const std::vector<float> want(logits->begin(), logits->end());
  const auto answered = alone(test::random_tokens(9, 1), 100);
  for (int at = 0, is_over = 0; !is_over; ++at) {
    SCOPED_TRACE(testing::Message() << "before step " << at);
    ASSERT_LT(at, 100);
    const auto context = make_context(options());
    auto answer = start_answer(context, 100);
    auto session = *Session::create(context);
    ASSERT_TRUE(session->set_prompt(test::random_tokens(30, 9)));
    const CancellationSource source;
    auto request = *Request::start(*session, prompt, saying(4, source.ticket()));
    for (int step = 0; step < at; ++step) context->scheduler().step();
    is_over = request->poll().has_value();
    source.cancel();
    finish(*context, *request);
    EXPECT_EQ(request->result()->finish_reason, FinishReason::cancelled);
    const auto got = session->set_prompt(prompt);
    ASSERT_TRUE(got);
    EXPECT_TRUE(std::ranges::equal(*got, want));
    finish(*context, *answer);
    EXPECT_EQ(tokens_of(*answer), answered);
    request.reset();
    answer.reset();
    session.reset();
    expect_all_pages_back(*context);
    if (HasFailure()) return;
  }
}

TEST_P(PausedPrompt, MayRunOutOfTime) {
  const auto context = make_context(options());
  const auto answer = start_answer(context, 200);
  GenerateOptions late = saying(4);
  late.work.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  const auto request = start(context, test::random_tokens(40, 2), late);
  for (int step = 0; step < 4; ++step) context->scheduler().step();
  std::this_thread::sleep_until(*late.work.deadline);
  finish(*context, *request);
  ASSERT_FALSE(request->result());
  EXPECT_EQ(request->result().error().code, ErrorCode::timed_out);
  finish(*context, *answer);
  EXPECT_EQ(tokens_of(*answer), alone(test::random_tokens(9, 1), 200));
}

// Everything may go away at any time.
TEST_P(PausedPrompt, MayBeLeftBehind) {
  for (int at = 0; at < 12; ++at) {
    auto context = make_context(options());
    const auto answer = start_answer(context, 200);
    const auto request = start(context, test::random_tokens(40, 2), saying(4));
    for (int step = 0; step < at; ++step) context->scheduler().step();
    context.reset();
  }
}

TEST_P(PausedPrompt, OthersAreSavedForkedAndForgottenMeanwhile) {
  const auto beginning = test::random_tokens(100, 10);
  const auto lonely = test::make_session(*loaded_.model, options(1));
  ASSERT_TRUE(lonely->set_prompt(beginning));
  const auto logits = lonely->append(test::random_tokens(3, 11));
  ASSERT_TRUE(logits);
  const std::vector<float> want(logits->begin(), logits->end());
  lonely->truncate(100);
  ASSERT_TRUE(lonely->set_prompt(beginning));
  ASSERT_TRUE(lonely->save(folder_ / "other.kv"));
  expect_nothing_disturbed([&](const std::shared_ptr<Context>& context) {
    const auto session = *Session::create(context);
    ASSERT_TRUE(session->restore(folder_ / "other.kv", beginning));
    const auto twin = session->fork();
    ASSERT_TRUE(twin && session->save(folder_ / "again.kv"));
    context->tree().evict({INT32_MAX, INT32_MAX});
    session->truncate(0);
    const auto got = (*twin)->append(test::random_tokens(3, 11));
    ASSERT_TRUE(got);
    EXPECT_TRUE(std::ranges::equal(*got, want));
  });
}

// Two ask for the same beginning: the second waits for the first, and computes it if the first goes away.
TEST_P(PausedPrompt, IsWaitedForByThoseWhoBeginTheSame) {
  const auto stem = test::random_tokens(80, 12);
  auto longer = stem;
  longer.insert(longer.end(), {1, 2, 3});
  const auto said = alone(longer, 4);
  for (const bool is_cancelled : {false, true}) {
    for (int at = 1; at < 4 * kPausedLayers; at += 2) {
      SCOPED_TRACE(testing::Message() << at << (is_cancelled ? ", cancelled" : ""));
      const auto context = make_context(options());
      auto answer = start_answer(context, 200);
      const CancellationSource source;
      auto first = start(context, stem, saying(2, source.ticket()));
      for (int step = 0; step < at; ++step) context->scheduler().step();
      auto second = start(context, longer, saying(4));
      context->scheduler().step();
      if (is_cancelled) source.cancel();
      finish(*context, *second);
      EXPECT_EQ(tokens_of(*second), said);
      if (!is_cancelled && !GetParam()) {
        EXPECT_GE(second->result()->n_prompt_cached, 79);
      }
      first.reset();
      second.reset();
      answer.reset();
      expect_all_pages_back(*context);
    }
  }
}

// The answer needs a page while the prompt is between any two layers, and nobody else has one to give.
TEST_P(PausedPrompt, LosesItsMemoryToAnswers) {
  const auto prompt = test::random_tokens(70, 13);
  const auto said = alone(prompt, 4);
  uint64_t n_preemptions = 0;
  for (int64_t n_before = 40; n_before < 64; ++n_before) {
    SCOPED_TRACE(n_before);
    SessionOptions own = options(2);
    own.n_cache = 64;  // and a page for each of them: one fewer than both need
    const auto context = make_context(own);
    auto answer = start(context, test::random_tokens(n_before, 14), saying(60));
    for (int step = 0; step < 2; ++step) context->scheduler().step();
    auto request = start(context, prompt, saying(4));
    finish(*context, *request);
    EXPECT_EQ(tokens_of(*request), said);
    finish(*context, *answer);
    EXPECT_EQ(tokens_of(*answer), alone(test::random_tokens(n_before, 14), 60));
    n_preemptions += context->scheduler().stats().n_preemptions;
    request.reset();
    answer.reset();
    expect_all_pages_back(*context);
  }
  EXPECT_GT(n_preemptions, 0u);
}

// Its device may be lost when drafts are made for the answer, and when its own next piece is read.
TEST_P(PausedPrompt, EndsWithItsDevice) {
  class LostDrafter final : public Drafter {
   public:
    explicit LostDrafter(const bool& is_lost) : is_lost_(is_lost) {}
    std::string_view name() const override { return "lost"; }
    Result<void> read(std::span<DraftJob* const>) override { return outcome(); }
    Result<void> draft(std::span<DraftJob* const>) override { return outcome(); }

   private:
    Result<void> outcome() const {
      if (is_lost_) return fail(ErrorCode::device_failed, "fragile: the device was lost; start again");
      return {};
    }
    const bool& is_lost_;
  };
  for (int at = 0; at < 2 * kPausedLayers; ++at) {
    SCOPED_TRACE(at);
    bool is_lost = false;
    SessionOptions own = options();
    own.n_outputs = 8;
    own.replaces_drafter = [&](std::unique_ptr<Drafter>) { return std::make_unique<LostDrafter>(is_lost); };
    const auto context = make_context(own);
    EXPECT_TRUE(context->can_pause());
    auto answer = start_answer(context, 200);
    auto request = start(context, test::random_tokens(40, 2), saying(4));
    for (int step = 0; step < at; ++step) context->scheduler().step();
    is_lost = true;
    finish(*context, *request);
    finish(*context, *answer);
    for (const auto* const ended : {&request, &answer}) {
      ASSERT_FALSE((*ended)->result());
      EXPECT_EQ((*ended)->result().error().code, ErrorCode::device_failed);
    }
    request.reset();
    answer.reset();
    expect_all_pages_back(*context);
  }
}

// Where a pass cannot pause, prompts come in small pieces within the answers' steps.
TEST(PausedPromptKinds, OnlyWhereNothingElseTakesPartInAPass) {
  const test::TemporaryFolder folder;
  test::write_tiny_model(folder / "tiny.gguf", {.n_layer = kPausedLayers});
  ASSERT_TRUE(test::write_tiny_drafter(folder / "drafter.gguf", {}));
  const GgufFile drafter_file = *GgufFile::open(folder / "drafter.gguf");
  const auto loaded = test::load_text_model(folder / "tiny.gguf");
  ASSERT_TRUE(loaded.model);
  const auto second = *make_cpu_device({.n_threads = 1});
  const auto split = TextModel::load(*GgufFile::open(folder / "tiny.gguf"),
                                     Placement(*loaded.device, *second, kPausedLayers, 2));
  ASSERT_TRUE(split);
  auto drafter = Dflash::load(drafter_file, loaded.model->model());
  ASSERT_TRUE(drafter) << drafter.error().message;
  SessionOptions by_block, by_model, by_lookup;
  by_block.drafter = *std::move(drafter);
  by_model.draft_model = std::shared_ptr<const TextModel>(loaded.model.get(), [](const TextModel*) {});
  by_lookup.looks_up = true;
  struct Kind {
    const TextModel& model;
    SessionOptions options;
    bool can_pause;
  };
  for (const Kind& kind : {Kind{*loaded.model, {}, true}, Kind{*loaded.model, by_lookup, true},
                           Kind{*loaded.model, by_block, false}, Kind{*loaded.model, by_model, false},
                           Kind{**split, {}, false}}) {
    SessionOptions own = kind.options;
    own.n_ctx = 256;
    own.n_batch = 64;
    own.n_seq = 2;
    own.n_layers_at_once = 1;
    const auto context = Context::create(kind.model, own);
    ASSERT_TRUE(context) << context.error().message;
    EXPECT_EQ((*context)->can_pause(), kind.can_pause);
    GenerateOptions options;
    options.sampling.temperature = 0;
    options.ignore_eos = true;
    options.max_tokens = 5;
    const auto alone =
        generate(*test::make_session(*loaded.model, {.n_ctx = 256}), test::random_tokens(70, 2), options);
    options.max_tokens = 100;
    const auto answer = *Request::start(*context, test::random_tokens(9, 1), options);
    for (int step = 0; step < 3; ++step) (*context)->scheduler().step();
    options.max_tokens = 5;
    const auto request = *Request::start(*context, test::random_tokens(70, 2), options);
    while (request->next()) {
    }
    ASSERT_TRUE(request->result() && alone);
    EXPECT_EQ(request->result()->tokens, alone->tokens);
  }
}

}  // namespace
}  // namespace parlance
