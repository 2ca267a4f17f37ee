// How likely a turn ends, by the bundled model: of whole questions and of beginnings.
#include "assistant/end_of_turn.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "assistant/conversation.h"
#include "support/text_model.h"

namespace parlance {
namespace {

class EndOfTurnTest : public testing::Test {
 protected:
  void SetUp() override {
    loaded_ = test::load_text_model(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf");
    ASSERT_TRUE(loaded_.model);
    auto context = Context::create(*loaded_.model, {.n_ctx = 512, .n_seq = 2});
    ASSERT_TRUE(context) << context.error().message;
    context_ = *std::move(context);
  }

  double probability_of(std::string_view words, std::vector<Message> before = {}) {
    const auto prompt = end_of_turn_prompt(*loaded_.model, std::move(before), words, false);
    EXPECT_TRUE(prompt && *prompt) << words;
    if (!prompt || !*prompt) return -1;
    auto asked = EndOfTurnRequest::start(context_, **prompt, {}, [this] {
      const std::lock_guard lock(mutex_);
      has_news_ = true;
      news_.notify_one();
    });
    EXPECT_TRUE(asked) << asked.error().message;
    while (!(*asked)->poll()) {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return std::exchange(has_news_, false); });
    }
    const auto probability = (*asked)->probability();
    EXPECT_TRUE(probability) << probability.error().message;
    return probability.value_or(-1);
  }

  test::LoadedModel loaded_;
  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::condition_variable news_;
  bool has_news_ = false;
};

TEST_F(EndOfTurnTest, WholeQuestionsAreLikelyToBeAll) {
  for (const char* words :
       {"What is 9 plus 8?", "Which city is Serbia's capital?", "Please convert 21 days to weeks.",
        "What day is 27 days after Friday?", "What currency does France use"}) {
    EXPECT_GT(probability_of(words), 0.4) << words;
  }
}

// Whatever mark the recogniser puts behind them.
TEST_F(EndOfTurnTest, HalfQuestionsAreNot) {
  for (const char* words : {"What is 9 plus", "What is 9 plus?", "Which city is?", "Please convert 21 days.",
                            "Which planet is seventh from?", "Tell me.", "It is 2:00 pm."}) {
    EXPECT_LT(probability_of(words), 0.05) << words;
  }
}

TEST_F(EndOfTurnTest, WhatWasSaidBeforeIsKnownAndStays) {
  auto session = Session::create(context_);
  ASSERT_TRUE(session);
  Conversation conversation(**session, "Be brief.", false);
  GenerateOptions options;
  options.sampling.temperature = 0;
  ASSERT_TRUE(conversation.ask("What is 9 plus 8?", options, {}));
  const std::vector<Token> tokens = (*session)->tokens();
  EXPECT_GT(probability_of("And what is 7 plus 8?", conversation.seen()), 0.4);
  EXPECT_EQ((*session)->tokens(), tokens);
  EXPECT_EQ(conversation.messages().size(), 2u);
}

TEST_F(EndOfTurnTest, NothingSaidIsNoQuestion) {
  for (const char* words : {"", " ", "...", "?"}) {
    const auto prompt = end_of_turn_prompt(*loaded_.model, {}, words, false);
    ASSERT_TRUE(prompt) << prompt.error().message;
    EXPECT_FALSE(*prompt);
  }
}

TEST_F(EndOfTurnTest, TellsThatTheContextIsFull) {
  std::string words;
  for (int i = 0; i < 600; ++i) words += "seven ";
  const auto prompt = end_of_turn_prompt(*loaded_.model, {}, words, false);
  ASSERT_TRUE(prompt && *prompt);
  const auto asked = EndOfTurnRequest::start(context_, **prompt, {}, [] {});
  if (asked) {
    while (!(*asked)->poll()) std::this_thread::yield();
    EXPECT_FALSE((*asked)->probability());
  }
}

}  // namespace
}  // namespace parlance
