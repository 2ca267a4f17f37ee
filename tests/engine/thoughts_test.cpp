// Thoughts that go on for too long are closed where the limit says, the same with drafts and without; whoever
// ends them earlier is left alone.
#include <algorithm>

#include "engine/generate.h"
#include "support/drafter.h"
#include "support/text_model.h"

namespace parlance {
namespace {

constexpr Token kClose = 7, kOther = 11;
constexpr int64_t kMost = 6;

class Thoughts : public testing::TestWithParam<bool> {  // with drafts, or without
 protected:
  void SetUp() override {
    loaded_ = test::load_text_model(test::demo_text());
    ASSERT_TRUE(loaded_.model);
    if (GetParam()) drafter_ = test::load_demo_drafter(loaded_.model->model());
    prompt_ = loaded_.model->tokenizer().encode(
        "<|im_start|>user\nTell me about the sea.<|im_end|>\n<|im_start|>assistant\n",
        {.add_special = true, .parse_special = true});
  }

  std::vector<Token> answer(std::optional<ThoughtLimit> limit, double temperature = 0,
                            const std::vector<Token>& said = {}) const {
    GenerateOptions options;
    options.max_tokens = 30;
    options.ignore_eos = true;
    options.sampling.temperature = static_cast<float>(temperature);
    options.sampling.seed = 3;
    options.thoughts = std::move(limit);
    options.said = said;
    options.draft.is_on = options.draft.is_required = GetParam();
    const auto session =
        test::make_session(*loaded_.model, {.n_ctx = 256, .looks_up = GetParam(), .drafter = drafter_});
    const auto result = generate(*session, prompt_, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? result->tokens : std::vector<Token>();
  }
  static ThoughtLimit limit(int64_t n_most) {
    return {
        .n_most = n_most, .is_open = true, .open = kOther, .close = kClose, .end = {kOther, kClose, kOther}};
  }
  // What comes of an answer whose thoughts are ended behind the first n tokens.
  static std::vector<Token> ended_behind(const std::vector<Token>& free, int64_t n) {
    std::vector<Token> tokens(free.begin(), free.begin() + n);
    tokens.insert(tokens.end(), {kOther, kClose, kOther});
    return tokens;
  }

  test::LoadedModel loaded_;
  std::shared_ptr<const Dflash> drafter_;
  std::vector<Token> prompt_;
};

TEST_P(Thoughts, AreEndedAtTheLimitAndTheModelGoesOn) {
  for (const double temperature : {0.0, 1.1}) {
    const auto free = answer({}, temperature);
    ASSERT_EQ(free.size(), 30u);
    for (const int64_t n : {0, 1, 6, 26, 27, 28, 29, 30, 31}) {
      SCOPED_TRACE(testing::Message() << n << " tokens at " << temperature);
      const auto tokens = answer(limit(n), temperature);
      ASSERT_EQ(tokens.size(), 30u);
      auto begin = n < 30 ? ended_behind(free, n) : free;
      begin.resize(std::min<size_t>(begin.size(), 30));
      EXPECT_TRUE(std::ranges::equal(begin, std::span(tokens).first(begin.size())));
      if (temperature == 0) {
        EXPECT_EQ(tokens, answer({}, 0, begin)) << "behind them the model says what it would";
      }
    }
  }
}

TEST_P(Thoughts, ThatEndInTimeAreLeftAlone) {
  const auto free = answer({});
  for (const int64_t at : {0, 3}) {
    ThoughtLimit ended = limit(kMost);
    ended.close = free[static_cast<size_t>(at)];
    EXPECT_EQ(answer(ended), free);
  }
}

TEST_P(Thoughts, BeginWithTheirMarkOrWithThePrompt) {
  const auto free = answer({});
  ThoughtLimit opened = limit(kMost);
  opened.is_open = false;
  EXPECT_EQ(answer(opened), free) << "there are none";
  opened.open = free[0];
  const auto begin = ended_behind(free, 1 + kMost), tokens = answer(opened);
  EXPECT_TRUE(std::ranges::equal(begin, std::span(tokens).first(begin.size())));
  opened.open = free[4];
  if (std::ranges::find(free, free[4]) == free.begin() + 4) {
    EXPECT_EQ(answer(opened), free) << "in the middle of an answer it is no mark";
  }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutDrafts, Thoughts, testing::Bool());

}  // namespace
}  // namespace parlance
