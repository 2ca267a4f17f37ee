// Scores of a model of random weights: nothing that it says is right, but all of it is counted.
#include "eval/answers.h"

#include <cmath>

#include "eval/answer_perplexity.h"
#include "eval/cache_quality.h"
#include "eval/device_comparison.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

class Answers : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(folder_ / "tiny.gguf");
    loaded_ = test::load_text_model(folder_ / "tiny.gguf", {.n_threads = 1});
    ASSERT_TRUE(loaded_.model);
    options_.sampling.temperature = 0;
    options_.max_tokens = 4;
  }
  std::unique_ptr<Session> open(int64_t n_ctx = 512) const {
    return test::make_session(*loaded_.model, {.n_ctx = n_ctx, .n_batch = 32});
  }
  static EvalQuestion question(const std::string& id, const std::string& category, const std::string& text,
                               const std::string& answer) {
    return {id, category, {{"user", text}}, {answer}};
  }

  test::TemporaryFolder folder_;
  test::LoadedModel loaded_;
  GenerateOptions options_;
  const std::vector<EvalQuestion> questions_{question("1", "a", "hello", "no such answer"),
                                             question("2", "b", "who", "nor this one"),
                                             question("3", "a", "what is he", "he")};
};

TEST_F(Answers, AreCountedByCategory) {
  const auto session = open();
  int n_lines = 0;
  const EvalWatch watch{.cancellation = {}, .on_progress = [&](const std::string& line) {
                          ++n_lines;
                          EXPECT_NE(line.find("/3"), std::string::npos) << line;
                        }};
  const auto scores = score_answers(questions_, options_, *session, watch);
  ASSERT_TRUE(scores) << scores.error().message;
  EXPECT_EQ(n_lines, 3);
  EXPECT_EQ(scores->total.n, 3);
  EXPECT_EQ(scores->by_category.at("a").n, 2);
  EXPECT_EQ(scores->by_category.at("b").n, 1);
  EXPECT_EQ(scores->total.n_right + std::ssize(scores->wrong), 3);

  // What it said is the right answer now.
  std::vector<EvalQuestion> known;
  for (const WrongAnswer& wrong : scores->wrong) {
    known.push_back(*wrong.question);
    known.back().answers.push_back(wrong.reply);
  }
  ASSERT_FALSE(known.empty());
  const auto again = score_answers(known, options_, *session, {});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->total.share(), 1);
  EXPECT_TRUE(again->wrong.empty());
}

TEST_F(Answers, AreAsLikelyAsTheModelFindsThem) {
  const auto measured = measure_perplexity(questions_, *open(), {});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(measured->n_questions, 3);
  EXPECT_GT(measured->n_tokens, 20);
  EXPECT_GT(measured->perplexity(), 1.0);
  EXPECT_NEAR(measured->perplexity(), std::exp(measured->nats / static_cast<double>(measured->n_tokens)),
              1e-9);
}

TEST_F(Answers, OfOneModelAreTheSameTwice) {
  const auto comparison = compare_replies(questions_, options_, *open(), *open(), {});
  ASSERT_TRUE(comparison) << comparison.error().message;
  EXPECT_EQ(comparison->n_questions, 3);
  EXPECT_GT(comparison->n_tokens, 0);
  EXPECT_TRUE(comparison->differences.empty() && comparison->is_explained());
}

TEST_F(Answers, ACacheThatIsTheFirstOneLosesNothing) {
  KvPolicy q8;
  q8.k.format = q8.v.format = KvFormat::q8_0;
  const auto results = measure_cache_quality(*loaded_.model, {.n_ctx = 512, .n_batch = 32}, {questions_, ""},
                                             {{"plain", {}}, {"again", {}}, {"eight bits", q8}}, {});
  ASSERT_TRUE(results) << results.error().message;
  ASSERT_EQ(results->size(), 3u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*results)[i].kl_mean, 0) << (*results)[i].name;
    EXPECT_EQ((*results)[i].top1, 1);
    EXPECT_EQ((*results)[i].perplexity_ratio, 1);
  }
  EXPECT_EQ((*results)[2].name, "eight bits");
  EXPECT_GT((*results)[2].kl_mean, 0);
  EXPECT_LT((*results)[2].bits_per_value, (*results)[0].bits_per_value);
}

TEST_F(Answers, WhatDoesNotFitIsNamed) {
  auto questions = questions_;
  questions[1].messages[0].content.assign(300, 'x');
  const auto small = open(128);
  const auto expect_named = [](const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_NE(error.message.find("question 2"), std::string::npos) << error.message;
  };
  expect_named(score_answers(questions, options_, *small, {}).error());
  expect_named(measure_perplexity(questions, *small, {}).error());
  expect_named(compare_replies(questions, options_, *small, *open(128), {}).error());
}

TEST_F(Answers, StopWhenTheirTicketIsCancelled) {
  const CancellationSource source;
  const EvalWatch watch{.cancellation = source.ticket()};
  source.cancel();
  EXPECT_EQ(score_answers(questions_, options_, *open(), watch).error().code, ErrorCode::cancelled);
  EXPECT_EQ(measure_perplexity(questions_, *open(), watch).error().code, ErrorCode::cancelled);
  EXPECT_EQ(compare_replies(questions_, options_, *open(), *open(), watch).error().code,
            ErrorCode::cancelled);
}

}  // namespace
}  // namespace parlance
