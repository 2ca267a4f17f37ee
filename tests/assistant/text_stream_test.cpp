#include "assistant/text_stream.h"

#include <algorithm>
#include <semaphore>
#include <thread>

#include "assistant/regions.h"
#include "engine/generate.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

class TextStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(folder_ / "tiny.gguf");
    Choice choice;
    choice.files.folder = (folder_ / "tiny.gguf").string();
    choice.devices.n_threads = 1;
    choice.context.n_seq = 4;
    choice.context.n_batch = 32;
    choice.n_ctx = 256;
    regions_.emplace(choice);
    auto region = regions_->text.acquire();
    ASSERT_TRUE(region) << region.error().message;
    region_ = *region;
    options_.sampling.temperature = 0;
    options_.max_tokens = 12;
    options_.ignore_eos = true;
  }

  std::unique_ptr<TextStream> open(const Cancellation& whole = {}) const {
    auto stream = TextStream::open(region_, whole);
    EXPECT_TRUE(stream) << stream.error().message;
    return stream ? *std::move(stream) : nullptr;
  }
  static std::vector<Token> text(int n, int first = 7) {
    std::vector<Token> tokens;
    for (int i = 0; i < n; ++i) tokens.push_back((31 * i + first) % 256);
    return tokens;
  }
  // What the stream says to the end of its answer.
  static AnswerPiece rest_of(TextStream& stream) {
    AnswerPiece all;
    while (const auto piece = stream.next()) {
      all.text += piece->text;
      all.tokens.insert(all.tokens.end(), piece->tokens.begin(), piece->tokens.end());
    }
    return all;
  }

  const test::TemporaryFolder folder_;
  std::optional<Regions> regions_;
  std::shared_ptr<TextRegion> region_;
  GenerateOptions options_;
};

TEST_F(TextStreamTest, AnswersPieceByPiece) {
  const auto prompt = text(40);
  const auto expected = generate(open()->session(), prompt, options_);
  ASSERT_TRUE(expected) << expected.error().message;
  const auto stream = open();
  EXPECT_FALSE(stream->next()) << "nothing was asked";
  EXPECT_EQ(stream->result().error().code, ErrorCode::invalid_argument);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(stream->answer(prompt, options_));
    EXPECT_TRUE(stream->is_answering());
    EXPECT_EQ(stream->result().error().code, ErrorCode::busy);
    const AnswerPiece said = rest_of(*stream);
    EXPECT_EQ(said.text, expected->text);
    EXPECT_EQ(said.tokens, expected->tokens);
    EXPECT_FALSE(stream->is_answering());
    EXPECT_FALSE(stream->next() || stream->poll());
    const auto result = stream->result();
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->tokens, expected->tokens);
    EXPECT_EQ(result->finish_reason, FinishReason::length);
  }
}

TEST_F(TextStreamTest, WhatIsPrefilledIsNotComputedAgain) {
  const auto stream = open();
  const auto prompt = text(90);
  const auto first = stream->prefill(std::span(prompt).first(70));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->n_tokens, 70);
  EXPECT_EQ(first->n_known, 0);
  const auto second = stream->prefill(prompt);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->n_known, 70);
  ASSERT_TRUE(stream->answer(prompt, options_));
  rest_of(*stream);
  EXPECT_EQ(stream->result()->n_prompt_cached, 90);
  ASSERT_TRUE(stream->answer(prompt, options_));
  rest_of(*stream);
  EXPECT_EQ(stream->result()->n_prompt_cached, 89) << "all but the last token, when others came in between";
  EXPECT_EQ(stream->prefill({}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(stream->prefill(text(300)).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(stream->answer(text(300), options_).error().code, ErrorCode::invalid_argument);
}

TEST_F(TextStreamTest, IsMadeByItselfForThoseWhoListen) {
  const auto stream = open();
  std::counting_semaphore<> news(0);
  ASSERT_TRUE(stream->answer(text(20), options_, [&] { news.release(); }));
  std::vector<Token> tokens;
  while (stream->is_answering()) {
    news.acquire();
    while (const auto piece = stream->poll())
      tokens.insert(tokens.end(), piece->tokens.begin(), piece->tokens.end());
  }
  while (const auto piece = stream->poll())
    tokens.insert(tokens.end(), piece->tokens.begin(), piece->tokens.end());
  EXPECT_EQ(tokens, stream->result()->tokens);
  EXPECT_EQ(tokens.size(), 12u);
}

TEST_F(TextStreamTest, ACancelEndsWhatIsComputedAndNothingLater) {
  const CancellationSource source;
  const auto stream = open(source.ticket());
  options_.max_tokens = -1;
  const auto prompt = text(20);
  stream->cancel();  // nothing is computed: without effect
  ASSERT_TRUE(stream->answer(prompt, options_));
  ASSERT_TRUE(stream->next());
  std::thread other([&] { stream->cancel(); });
  other.join();
  rest_of(*stream);
  const auto result = stream->result();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->finish_reason, FinishReason::cancelled);
  EXPECT_GE(result->tokens.size(), 1u);
  EXPECT_LT(result->tokens.size(), 200u) << "the context would have held more";

  options_.max_tokens = 3;
  ASSERT_TRUE(stream->answer(prompt, options_));
  EXPECT_EQ(rest_of(*stream).tokens.size(), 3u);
  source.cancel();  // the whole: nothing more is computed
  EXPECT_EQ(stream->prefill(text(50)).error().code, ErrorCode::cancelled);
}

TEST_F(TextStreamTest, AnotherQuestionEndsTheAnswer) {
  const auto stream = open();
  options_.max_tokens = -1;
  ASSERT_TRUE(stream->answer(text(20), options_));
  ASSERT_TRUE(stream->next());
  const auto prefilled = stream->prefill(text(30, 9));
  ASSERT_TRUE(prefilled) << prefilled.error().message;
  EXPECT_FALSE(stream->is_answering());
  EXPECT_FALSE(stream->next());
  EXPECT_EQ(stream->session().tokens(), text(30, 9));
}

TEST_F(TextStreamTest, GoesOnFromAFile) {
  const auto file = folder_ / "stream.kv";
  const auto prompt = text(100);
  const auto stream = open();
  ASSERT_TRUE(stream->prefill(prompt));
  ASSERT_TRUE(stream->answer(prompt, options_));
  ASSERT_TRUE(stream->next());
  EXPECT_EQ(stream->save(file).error().code, ErrorCode::busy);
  EXPECT_EQ(stream->restore(file, prompt).error().code, ErrorCode::busy);
  rest_of(*stream);
  const auto saved = stream->save(file);
  ASSERT_TRUE(saved) << saved.error().message;
  const auto tokens = stream->session().tokens();

  regions_.emplace([&] {
    Choice choice;
    choice.files.folder = (folder_ / "tiny.gguf").string();
    choice.n_ctx = 256;
    choice.context.n_batch = 32;
    choice.context.n_seq = 2;
    choice.devices.n_threads = 1;
    return choice;
  }());
  region_ = *regions_->text.acquire();  // another context, which knows nothing
  const auto other = open();
  const auto done = other->restore(file, tokens);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(other->session().tokens(), tokens);
  const auto prefilled = other->prefill(tokens);
  ASSERT_TRUE(prefilled);
  EXPECT_EQ(prefilled->n_known, std::ssize(tokens) - 1);

  const auto third = open();
  ASSERT_TRUE(third->restore(file)) << "whatever it has";
  EXPECT_EQ(third->session().tokens(), tokens);
}

// The model stays for those who use it, and goes with the last of them.
TEST_F(TextStreamTest, KeepsItsModel) {
  auto stream = open();
  const std::weak_ptr<TextRegion> region = region_;
  region_.reset();
  regions_->evict(Region::text);
  EXPECT_FALSE(regions_->is_acquired(Region::text));
  ASSERT_TRUE(stream->answer(text(20), options_));
  EXPECT_EQ(rest_of(*stream).tokens.size(), 12u);
  EXPECT_FALSE(region.expired());
  stream.reset();
  EXPECT_TRUE(region.expired());
}

TEST_F(TextStreamTest, AreAsManyAsTheRegionHasSequences) {
  std::vector<std::unique_ptr<TextStream>> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(open());
  EXPECT_FALSE(TextStream::open(region_));
  streams.pop_back();
  EXPECT_TRUE(TextStream::open(region_));
}

}  // namespace
}  // namespace parlance
