#include "engine/generate.h"

#include <algorithm>
#include <semaphore>
#include <thread>

#include "base/parameter.h"
#include "support/tested_device.h"
#include "support/text_model.h"

namespace parlance {
namespace {

// A recorded model with a real vocabulary.
class Generate : public testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("text/models/qwen3-q8_0.gguf");
    loaded_ = test::load_text_model(test::fixtures_root() / "text/models/qwen3-q8_0.gguf",
                                    test::make_tested_device());
    ASSERT_TRUE(loaded_.model);
    session_ = test::make_session(*loaded_.model, {.n_ctx = 128, .n_batch = 16});
    ASSERT_TRUE(session_);
  }

  GenerateResult run(std::vector<Token> prompt, const GenerateOptions& options, const OnText& on_text = {}) {
    auto result = generate(*session_, prompt, options, on_text);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : GenerateResult{};
  }

  static GenerateOptions warm(uint64_t seed) {
    GenerateOptions options;
    options.sampling.temperature = 1.5f;
    options.sampling.top_p = 1;
    options.sampling.min_p = 0;
    options.sampling.top_k = 0;
    options.sampling.seed = seed;
    options.max_tokens = 24;
    options.ignore_eos = true;
    return options;
  }

  test::LoadedModel loaded_;
  std::unique_ptr<Session> session_;
};

TEST_F(Generate, SameSeedSameText) {
  const auto first = run({1, 2, 3}, warm(7));
  const auto again = run({1, 2, 3}, warm(7));
  const auto other = run({1, 2, 3}, warm(8));
  EXPECT_EQ(first.tokens.size(), 24u);
  EXPECT_EQ(first.tokens, again.tokens);
  EXPECT_EQ(first.text, again.text);
  EXPECT_NE(first.tokens, other.tokens);
  EXPECT_EQ(first.finish_reason, FinishReason::length);
}

TEST_F(Generate, StreamedPiecesAreTheText) {
  std::string streamed;
  const auto result = run({5, 6}, warm(3), [&](std::string_view piece) { streamed += piece; });
  EXPECT_EQ(streamed, result.text);
}

TEST_F(Generate, StopTextEndsTheAnswerAndIsNotPartOfIt) {
  const auto whole = run({1, 2, 3}, warm(7));
  ASSERT_GT(whole.text.size(), 8u);
  // Start at a whole code point, somewhere in the middle of the answer.
  size_t at = whole.text.size() / 2;
  while (at > 0 && (static_cast<unsigned char>(whole.text[at]) & 0xc0) == 0x80) --at;
  auto options = warm(7);
  options.stop = {whole.text.substr(at)};
  const auto stopped = run({1, 2, 3}, options);
  EXPECT_EQ(stopped.finish_reason, FinishReason::stop);
  EXPECT_EQ(stopped.text, whole.text.substr(0, whole.text.find(options.stop[0])));
}

TEST_F(Generate, ContextLimitEndsTheAnswer) {
  auto options = warm(1);
  options.max_tokens = -1;
  const auto result = run(std::vector<Token>(100, 9), options);
  EXPECT_EQ(result.finish_reason, FinishReason::context);
  EXPECT_EQ(result.tokens.size(), 29u);  // the last one needs no room in the cache
}

TEST_F(Generate, PromptBeyondTheContextIsRefusedInWords) {
  const auto result = generate(*session_, std::vector<Token>(129, 9), {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("129 tokens"), std::string::npos) << result.error().message;
  EXPECT_NE(result.error().message.find(mark_of(Parameter::ctx_size)), std::string::npos)
      << result.error().message;
}

TEST_F(Generate, EmptyPromptAndForeignTokensAreRefused) {
  EXPECT_FALSE(generate(*session_, std::vector<Token>{}, {}));
  EXPECT_FALSE(generate(*session_, std::vector<Token>{1, 1 << 20}, {}));
  EXPECT_FALSE(generate(*session_, std::vector<Token>{-1}, {}));
}

TEST_F(Generate, KeptPrefixGivesTheSameLogits) {
  std::vector<Token> prompt(60);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<Token>(10 + 3 * i % 200);
  const auto fresh = test::make_session(*loaded_.model, {.n_ctx = 128, .n_batch = 16});
  const auto expected_view = fresh->set_prompt(prompt);
  ASSERT_TRUE(expected_view);
  const std::vector<float> expected(expected_view->begin(), expected_view->end());

  // The session has seen the first 48 tokens, then something else.
  std::vector<Token> other(prompt.begin(), prompt.begin() + 48);
  other.insert(other.end(), {1, 2, 3, 4});
  ASSERT_TRUE(session_->set_prompt(other));
  const auto result = session_->set_prompt(prompt);
  ASSERT_TRUE(result);
  EXPECT_EQ(session_->tokens(), prompt);
  EXPECT_EQ(std::vector<float>(result->begin(), result->end()), expected);
}

TEST_F(Generate, CancelEndsTheAnswerAndKeepsTheSession) {
  auto options = warm(1);
  options.max_tokens = 100;
  const CancellationSource source;
  options.work.cancellation = source.ticket();
  int n_pieces = 0;
  const auto result = run({1, 2}, options, [&](std::string_view) {
    if (++n_pieces == 3) source.cancel();
  });
  EXPECT_EQ(result.finish_reason, FinishReason::cancelled);
  EXPECT_LT(result.tokens.size(), 100u);
  EXPECT_EQ(run({1, 2, 3}, warm(7)).tokens.size(), 24u);
}

TEST_F(Generate, CancelFromAnotherThread) {
  auto options = warm(1);
  options.max_tokens = 100;
  options.ignore_eos = true;
  for (const int at : {1, 2, 7}) {
    const CancellationSource source;
    options.work.cancellation = source.ticket();
    std::binary_semaphore is_wanted(0), is_done(0);
    std::jthread canceller([&] {
      is_wanted.acquire();
      source.cancel();
      is_done.release();
    });
    int n_pieces = 0;
    const auto result = run({1, 2}, options, [&](std::string_view) {
      if (++n_pieces != at) return;
      is_wanted.release();
      is_done.acquire();
    });
    EXPECT_EQ(result.finish_reason, FinishReason::cancelled);
    EXPECT_LT(result.tokens.size(), 100u);
  }
  EXPECT_EQ(run({1, 2, 3}, warm(7)).tokens.size(), 24u);
}

TEST_F(Generate, ThreadCountDoesNotChangeTheText) {
  const auto two = run({1, 2, 3}, warm(7));
  const auto other =
      test::load_text_model(test::fixtures_root() / "text/models/qwen3-q8_0.gguf", {.n_threads = 1});
  const auto session = test::make_session(*other.model, {.n_ctx = 128, .n_batch = 16});
  const auto one = generate(*session, std::vector<Token>{1, 2, 3}, warm(7));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->tokens, two.tokens);
}

}  // namespace
}  // namespace parlance
