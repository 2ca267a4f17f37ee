// Answers to prompts that a session has computed before: nothing is computed twice, and they say what answers
// to the same prompt say that come alone.
#include <algorithm>

#include "engine/generate.h"
#include "engine/request.h"
#include "support/random_tokens.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace parlance {
namespace {

// A model with attention only, and one with recurrent states, which cannot be cut.
class KnownLogits : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf");
    loaded_ = test::load_text_model(
        GetParam() ? test::fixtures_root() / "text/models/qwen35.gguf"
                   : test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf",
        CpuOptions{.n_threads = 2, .deterministic = true});
    ASSERT_TRUE(loaded_.model);
    options_.max_tokens = 6;
    options_.ignore_eos = true;
    options_.sampling.temperature = 0;
  }

  std::unique_ptr<Session> open() const {
    return test::make_session(*loaded_.model, {.n_ctx = 256, .n_batch = 16});
  }
  static SchedulerStats stats(const Session& session) { return session.context().scheduler().stats(); }

  std::vector<Token> fresh(const std::vector<Token>& prompt) const {
    const auto result = generate(*open(), prompt, options_);
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->tokens : std::vector<Token>();
  }
  void expect_fresh(Session& session, const std::vector<Token>& prompt) const {
    const auto result = generate(session, prompt, options_);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->tokens, fresh(prompt));
    EXPECT_EQ(result->n_prompt, std::ssize(prompt));
  }

  test::LoadedModel loaded_;
  GenerateOptions options_;
};

INSTANTIATE_TEST_SUITE_P(Models, KnownLogits, testing::Bool());

TEST_P(KnownLogits, LikeliestTokensAreThoseOfTheLogits) {
  const auto open_for_three = [&] {
    return test::make_session(*loaded_.model, {.n_ctx = 256, .n_batch = 16, .n_outputs = 3});
  };
  const auto session = open_for_three(), twin = open_for_three();
  const auto prompt = test::random_tokens(20, 1), more = test::random_tokens(5, 2);
  ASSERT_TRUE(session->set_prompt(prompt) && twin->set_prompt(prompt));
  const auto logits = twin->append(more, 3);
  const auto likeliest = session->append_for_likeliest(more, 3);
  ASSERT_TRUE(logits && likeliest);
  ASSERT_EQ(likeliest->size(), 3u);
  const size_t n_logits = logits->size() / 3;
  for (size_t i = 0; i < 3; ++i) {
    const auto row = logits->subspan(i * n_logits, n_logits);
    EXPECT_EQ((*likeliest)[i], std::max_element(row.begin(), row.end()) - row.begin());
  }
  const int64_t n_tokens = std::ssize(session->tokens());
  EXPECT_FALSE(session->append_for_likeliest(more, 4));
  EXPECT_EQ(std::ssize(session->tokens()), n_tokens);
}

TEST_P(KnownLogits, NothingIsComputedTwice) {
  for (const int64_t n : {1, 2, 15, 16, 17, 40}) {
    SCOPED_TRACE(n);
    const auto prompt = test::random_tokens(n, 1);
    const auto alone = open(), session = open();
    const auto expected = generate(*alone, prompt, options_);
    ASSERT_TRUE(expected && session->set_prompt(prompt));
    const SchedulerStats before = stats(*session);
    EXPECT_EQ(before.n_tokens, static_cast<uint64_t>(n));
    const auto result = generate(*session, prompt, options_);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->tokens, expected->tokens);
    EXPECT_EQ(result->n_prompt_cached, n);
    EXPECT_EQ(result->draft.n_steps, expected->draft.n_steps);
    EXPECT_EQ(stats(*session).n_tokens, stats(*alone).n_tokens);
    EXPECT_EQ(stats(*session).n_steps, stats(*alone).n_steps);
    EXPECT_EQ(session->tokens(), alone->tokens());
  }
}

// The first token comes when it is known, not with the next step's.
TEST_P(KnownLogits, TheFirstTokenDoesNotWait) {
  const auto prompt = test::random_tokens(20, 2);
  const auto session = open();
  ASSERT_TRUE(session->set_prompt(prompt));
  const uint64_t n_steps = stats(*session).n_steps;
  const auto request = Request::start(*session, prompt, options_);
  ASSERT_TRUE(request);
  const auto piece = (*request)->next();
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->tokens.size(), 1u);
  EXPECT_EQ(stats(*session).n_steps, n_steps);
}

// Also an answer that ends with its first token, or before.
TEST_P(KnownLogits, ShortAnswers) {
  const auto prompt = test::random_tokens(20, 3);
  for (const int64_t most : {0, 1}) {
    options_.max_tokens = most;
    const auto session = open();
    ASSERT_TRUE(session->set_prompt(prompt));
    expect_fresh(*session, prompt);
    EXPECT_EQ(session->tokens(), prompt) << "what the last token is followed by is not asked for";
    expect_fresh(*session, prompt);
  }
}

// Also where more is made of them than the likeliest token, and where drafts follow.
TEST_P(KnownLogits, AreAsGoodAsComputedOnes) {
  const auto prompt = test::random_tokens(20, 8);
  const auto repeating = [&] {
    auto text = prompt;
    text.insert(text.end(), prompt.begin(), prompt.end());
    return text;
  }();
  for (const int kind : {0, 1, 2, 3}) {
    SCOPED_TRACE(kind);
    GenerateOptions terms = options_;
    SessionOptions where{.n_ctx = 256, .n_batch = 16, .n_outputs = 8};
    if (kind == 0) terms.n_top_logprobs = 3;
    if (kind == 1) terms.min_tokens = 4;
    if (kind == 1) terms.stop_tokens = fresh(repeating);
    if (kind == 2) terms.sampling = {.temperature = 1, .seed = 5};
    if (kind == 3) where.looks_up = true;
    const auto pieces_of = [&](Session& session) {
      std::vector<std::pair<std::vector<Token>, std::vector<float>>> pieces;
      const auto request = Request::start(session, repeating, terms);
      EXPECT_TRUE(request);
      while (const auto piece = (*request)->next()) {
        std::vector<float> logprobs;
        for (const TokenLogprobs& one : piece->logprobs) {
          logprobs.push_back(one.said.logprob);
          for (const TokenLogprob& other : one.top) logprobs.push_back(other.logprob);
        }
        pieces.emplace_back(piece->tokens, logprobs);
      }
      EXPECT_TRUE((*request)->result());
      return pieces;
    };
    const auto cold = test::make_session(*loaded_.model, where),
               warm = test::make_session(*loaded_.model, where);
    ASSERT_TRUE(warm->set_prompt(repeating));
    const auto want = pieces_of(*cold);
    EXPECT_EQ(pieces_of(*warm), want);
    EXPECT_EQ(warm->tokens(), cold->tokens());
  }
}

// Whatever happened to the session in between, logits of another text are never taken for the prompt's.
TEST_P(KnownLogits, AreThePromptsOrNone) {
  const auto prompt = test::random_tokens(24, 4), other = test::random_tokens(24, 5);
  const test::TemporaryFolder folder;
  const auto first = [&](int64_t n) {
    return std::vector<Token>(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(n));
  };
  const auto prepared = [&] {
    auto session = open();
    EXPECT_TRUE(session->set_prompt(prompt));
    return session;
  };
  expect_fresh(*prepared(), other);
  expect_fresh(*prepared(), first(23));
  auto longer = prompt;
  longer.push_back(7);
  expect_fresh(*prepared(), longer);

  auto session = prepared();
  session->truncate(12);
  expect_fresh(*session, first(12));
  session = prepared();
  session->truncate(12);
  expect_fresh(*session, prompt);

  session = prepared();  // all of the tokens are there, and the last ones have not been computed
  session->truncate(20);
  ASSERT_TRUE(session->sequence().append(std::span(prompt).last(4)));
  expect_fresh(*session, prompt);

  session = prepared();
  ASSERT_TRUE(session->set_prompt(other));
  expect_fresh(*session, prompt);
  session = open();
  ASSERT_TRUE(session->append(first(20)) && session->append(std::span(prompt).last(4)));
  expect_fresh(*session, prompt);

  session = prepared();
  ASSERT_TRUE(session->save(folder / "prompt.kv"));
  expect_fresh(*session, prompt);
  session = open();
  ASSERT_TRUE(session->set_prompt(other) && session->restore(folder / "prompt.kv", {}));
  expect_fresh(*session, prompt);

  session = prepared();
  const CancellationSource source;
  GenerateOptions cancelled = options_;
  cancelled.work.cancellation = source.ticket();
  source.cancel();
  const auto nothing = generate(*session, prompt, cancelled);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->tokens.empty());
  expect_fresh(*session, prompt);
}

// Beside others who are more urgent, in a context that has too few pages for all.
TEST_P(KnownLogits, OthersMayTakeTheMemory) {
  const auto context =
      Context::create(*loaded_.model, {.n_ctx = 256, .n_batch = 16, .n_seq = 4, .n_cache = 64});
  ASSERT_TRUE(context) << context.error().message;
  options_.max_tokens = 60;
  options_.work.priority = Priority::background;
  const auto prompt = test::random_tokens(8, 6);
  const auto session = *Session::create(*context);
  ASSERT_TRUE(session->set_prompt(prompt));
  const auto request = *Request::start(*session, prompt, options_);
  options_.work.priority = Priority::interactive;
  std::vector<std::unique_ptr<Request>> others;
  for (unsigned seed = 7; seed < 10; ++seed)
    others.push_back(*Request::start(*context, test::random_tokens(8, seed), options_));
  while (request->next()) continue;
  const auto result = request->result();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->tokens, fresh(prompt));
  EXPECT_GT((*context)->scheduler().stats().n_preemptions, 0u);
}

}  // namespace
}  // namespace parlance
