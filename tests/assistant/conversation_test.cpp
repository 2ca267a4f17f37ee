#include "assistant/conversation.h"

#include <functional>

#include "base/parameter.h"
#include "support/fixtures.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

class ConversationTest : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(folder_ / "tiny.gguf");
    loaded_ = test::load_text_model(folder_ / "tiny.gguf", {.n_threads = 1});
    ASSERT_TRUE(loaded_.model);
    session_ = test::make_session(*loaded_.model, {.n_ctx = 256, .n_batch = 64});
    ASSERT_TRUE(session_);
    options_.sampling.temperature = 0;
    options_.max_tokens = 8;
    options_.ignore_eos = true;
  }

  const test::TemporaryFolder folder_;
  test::LoadedModel loaded_;
  std::unique_ptr<Session> session_;
  GenerateOptions options_;
};

TEST_F(ConversationTest, KeepsQuestionsAndAnswers) {
  Conversation conversation(*session_, "Be brief.", false);
  const auto first = conversation.ask("Hello", options_, {});
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(conversation.ask("And?", options_, {}));
  ASSERT_EQ(conversation.messages().size(), 4u);
  EXPECT_EQ(conversation.messages()[0].role, "user");
  EXPECT_EQ(conversation.messages()[1].role, "assistant");
  EXPECT_EQ(conversation.messages()[1].content, first->result.text);
  EXPECT_EQ(conversation.undo(), "And?");
  EXPECT_EQ(conversation.undo(), "Hello");
  EXPECT_EQ(conversation.undo(), "");
  EXPECT_TRUE(conversation.messages().empty());
}

TEST_F(ConversationTest, RemembersTheSystemMessageWhenCleared) {
  Conversation conversation(*session_, "Be brief.", false);
  ASSERT_TRUE(conversation.ask("Hello", options_, {}));
  conversation.clear();
  EXPECT_EQ(conversation.system(), "Be brief.");
  EXPECT_TRUE(conversation.messages().empty());
}

TEST_F(ConversationTest, LeavesOutTheOldestTurnsWhenTheContextIsFull) {
  Conversation conversation(*session_, "Be brief.", false);
  size_t n_left_out = 0;
  for (int i = 0; i < 8; ++i) {
    const auto answer = conversation.ask("Question number " + std::to_string(i), options_, {});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->n_left_out % 2, 0u);
    n_left_out += answer->n_left_out;
    EXPECT_LE(answer->result.n_prompt, 256);
  }
  EXPECT_GT(n_left_out, 0u);
  EXPECT_EQ(conversation.messages().size(), 16u);  // all are kept for /save
}

TEST_F(ConversationTest, ForgetsAQuestionThatDoesNotFit) {
  Conversation conversation(*session_, "", false);
  ASSERT_TRUE(conversation.ask("Hello", options_, {}));
  const auto answer = conversation.ask(std::string(1000, 'x'), options_, {});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("256"), std::string::npos) << answer.error().message;
  EXPECT_NE(answer.error().message.find(mark_of(Parameter::ctx_size)), std::string::npos)
      << answer.error().message;
  EXPECT_EQ(conversation.messages().size(), 2u);
  const auto next = conversation.ask("Still there?", options_, {});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->n_left_out, 0u);
}

TEST_F(ConversationTest, KeepsWhatWasSaidBeforeItWasStopped) {
  Conversation conversation(*session_, "", false);
  options_.max_tokens = 100;
  const CancellationSource source;
  options_.work.cancellation = source.ticket();
  int n_pieces = 0;
  const auto answer = conversation.ask("Hello", options_, [&](std::string_view) {
    if (++n_pieces == 3) source.cancel();
  });
  options_.work.cancellation = {};
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->result.finish_reason, FinishReason::cancelled);
  ASSERT_EQ(conversation.messages().size(), 2u);
  EXPECT_EQ(conversation.messages()[1].content, answer->result.text);
  ASSERT_TRUE(conversation.ask("Go on", options_, {}));
}

TEST_F(ConversationTest, RemembersAsMuchOfAnAnswerAsIsWanted) {
  Conversation conversation(*session_, "", false);
  ASSERT_TRUE(conversation.ask("Hello", options_, {}));
  conversation.shorten_answer("Well");
  ASSERT_EQ(conversation.messages().size(), 2u);
  EXPECT_EQ(conversation.messages()[1].content, "Well");
  ASSERT_TRUE(conversation.ask("And?", options_, {}));
  conversation.shorten_answer("");
  EXPECT_EQ(conversation.messages().size(), 2u);
}

TEST_F(ConversationTest, MakesRoomForManyTurnsAtOnce) {
  Conversation conversation(*session_, "Be brief.", false);
  ASSERT_TRUE(conversation.ask("Hello", options_, {}));
  const auto before = session_->tokens();
  const auto enough = conversation.make_room(0.6, 0.3);
  ASSERT_TRUE(enough);
  EXPECT_FALSE(*enough);
  EXPECT_EQ(session_->tokens(), before);
  int n_computed_anew = 0;
  for (int i = 0; i < 12; ++i) {
    const auto answer = conversation.ask("Question " + std::to_string(i % 10), options_, {});
    ASSERT_TRUE(answer) << answer.error().message;
    if (answer->result.n_prompt_cached * 2 < answer->result.n_prompt) ++n_computed_anew;
    const auto made = conversation.make_room(0.6, 0.3);
    ASSERT_TRUE(made) << made.error().message;
    if (*made) {
      ASSERT_TRUE(session_->set_prompt(**made));
    }
    EXPECT_LE(session_->tokens().size(), 0.6 * 256);
  }
  EXPECT_EQ(n_computed_anew, 0);
}

TEST_F(ConversationTest, IsSavedAndRestored) {
  Conversation conversation(*session_, "Be \"brief\".", false);
  ASSERT_TRUE(conversation.ask("Hällo\n", options_, {}));
  const std::string saved = conversation.to_json();
  Conversation other(*session_, "", false);
  const auto restored = other.restore(saved);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(other.system(), "Be \"brief\".");
  ASSERT_EQ(other.messages().size(), 2u);
  EXPECT_EQ(other.messages()[0].content, "Hällo\n");
  EXPECT_EQ(other.to_json(), saved);
}

TEST_F(ConversationTest, StaysAsItWasWhenAFileIsBad) {
  Conversation conversation(*session_, "Be brief.", false);
  ASSERT_TRUE(conversation.ask("Hello", options_, {}));
  const std::string before = conversation.to_json();
  for (const char* bad :
       {"", "{}", "[]", "{\"messages\": 1}", "{\"messages\": [{}]}", "{\"messages\": [{\"role\": \"user\"}]}",
        "{\"messages\": [{\"role\": \"assistant\", \"content\": \"a\"}]}"}) {
    EXPECT_FALSE(conversation.restore(bad)) << bad;
    EXPECT_EQ(conversation.to_json(), before);
  }
}

}  // namespace
}  // namespace parlance
