// Answers that are sampled from the highest logits are those that all logits give, whoever else is in the
// step, with drafts and without; all logits come to the host only where they are needed.
#include <algorithm>
#include <cmath>

#include "engine/scheduler.h"
#include "support/tiny_pair.h"

namespace parlance {
namespace {

class TopLogitsOfAnswers : public test::TinyPair {
 protected:
  void SetUp() override {
    target_ = load({.n_layer = 2});
    like_ = load({.n_layer = 2, .unlike = 0.04f});
    ASSERT_TRUE(target_ && like_);
  }

  static GenerateOptions drawn(uint64_t seed, int64_t n = 30) {
    GenerateOptions options = always(1, n);
    options.draft = {.is_on = false};
    options.sampling = {.seed = seed};
    return options;
  }

  // Of everything that may come together.
  std::vector<GenerateOptions> mixture() const {
    std::vector<GenerateOptions> all;
    for (uint64_t i = 0; i < 12; ++i) all.push_back(drawn(i));
    all[0].sampling.temperature = 0;
    all[2].sampling = {.temperature = 1.2f, .top_k = 0, .top_p = 0.9f, .min_p = 0, .seed = 2};
    all[3].sampling = {.temperature = 1.0f, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 3};
    all[4].sampling.presence_penalty = 1.5f;
    all[4].sampling.repetition_penalty = 1.1f;
    all[5].sampling.logit_bias = {{65, 3.0f}, {66, -INFINITY}};
    all[6].sampling.logit_bias = {{65, -1.0f}, {66, -INFINITY}};
    all[7].n_top_logprobs = 3;
    all[8].grammar = grammar();
    all[9].grammar = grammar();
    all[9].sampling.temperature = 0;
    all[10].sampling.top_k = 200;
    all[11].min_tokens = 20;
    all[11].ignore_eos = false;
    all[11].sampling.temperature = 0;
    return all;
  }

  std::shared_ptr<TokenMasks> grammar() const {
    const auto grammar = Grammar::from_regex("[a-p ]{1,60}");
    EXPECT_TRUE(grammar);
    return *TokenMasks::make(*grammar, target_->token_trie());
  }

  // The same answer where likelihoods are asked for, too, which all logits are needed for.
  GenerateResult by_all_logits(const std::vector<Token>& prompt, GenerateOptions options,
                               SessionOptions kind = {}, std::vector<TokenLogprobs>* logprobs = nullptr) {
    options.n_top_logprobs = options.n_top_logprobs.value_or(0);
    kind.n_ctx = 160;
    kind.n_seq = 1;
    const auto context = make_context(*target_, kind);
    const auto request = *Request::start(context, prompt, options);
    while (const auto piece = request->next()) {
      if (logprobs) logprobs->insert(logprobs->end(), piece->logprobs.begin(), piece->logprobs.end());
    }
    const auto result = request->result();
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_GE(context->scheduler().stats().n_whole_rows, result->tokens.size());
    return result ? *result : GenerateResult{};
  }

  std::shared_ptr<const TextModel> target_, like_;
};

TEST_F(TopLogitsOfAnswers, AreEnoughForWhatIsUsual) {
  const auto context = make_context(*target_, {.n_ctx = 160});
  for (uint64_t seed = 0; seed < 4; ++seed) {
    GenerateOptions options = drawn(seed);
    if (seed == 1) options.sampling.presence_penalty = 1.5f;
    if (seed == 2) options.sampling.top_k = 20;
    if (seed == 3) options.sampling = {.temperature = 0, .logit_bias = {{65, -INFINITY}}};
    const auto prompt = text(30, static_cast<unsigned>(seed));
    const auto request = *Request::start(context, prompt, options);
    while (request->next()) {
    }
    ASSERT_TRUE(request->result());
    EXPECT_EQ(request->result()->tokens, by_all_logits(prompt, options).tokens);
  }
  EXPECT_EQ(context->scheduler().stats().n_whole_rows, 0u);
}

TEST_F(TopLogitsOfAnswers, OfAnyKindBesideEachOther) {
  const std::vector<GenerateOptions> terms = mixture();
  std::vector<GenerateResult> alone;
  std::vector<TokenLogprobs> logprobs_alone;
  const auto prompt_of = [&](size_t i) {
    return text(20 + 5 * (static_cast<int64_t>(i) % 4), static_cast<unsigned>(i));
  };
  for (size_t i = 0; i < terms.size(); ++i)
    alone.push_back(
        by_all_logits(prompt_of(i), terms[i], {}, terms[i].n_top_logprobs ? &logprobs_alone : nullptr));
  for (const int64_t n_batch : {19, 160}) {
    const auto context = make_context(*target_, {.n_ctx = 160, .n_batch = n_batch, .n_seq = 12});
    std::vector<std::unique_ptr<Request>> requests;
    for (size_t i = 0; i < terms.size(); ++i) {
      requests.push_back(*Request::start(context, prompt_of(i), terms[i]));
      for (size_t step = 0; step < i % 3; ++step) context->scheduler().step();
    }
    size_t n_tokens = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      std::vector<TokenLogprobs> logprobs;
      while (const auto piece = requests[i]->next())
        logprobs.insert(logprobs.end(), piece->logprobs.begin(), piece->logprobs.end());
      const auto result = requests[i]->result();
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->tokens, alone[i].tokens) << i << " in steps of " << n_batch;
      n_tokens += result->tokens.size();
      if (!terms[i].n_top_logprobs) continue;
      ASSERT_EQ(logprobs.size(), logprobs_alone.size());
      for (size_t j = 0; j < logprobs.size(); ++j) {
        EXPECT_EQ(logprobs[j].said.logprob, logprobs_alone[j].said.logprob);
        EXPECT_EQ(logprobs[j].top.size(), 3u);
      }
    }
    // Most rows of four answers: of logprobs, of a raised logit, of a long list, and of all tokens.
    EXPECT_LT(context->scheduler().stats().n_whole_rows, n_tokens * 6 / 10);
    EXPECT_GT(context->scheduler().stats().n_whole_rows, n_tokens / 5);
  }
}

// Rows of drafts, by both rules, and in trees.
TEST_F(TopLogitsOfAnswers, OfDrafts) {
  for (const DraftRule rule : {DraftRule::exact, DraftRule::sampling}) {
    const SessionOptions kind{.n_ctx = 160, .n_seq = 4, .draft_model = like_};
    const auto context = make_context(*target_, kind);
    std::vector<std::unique_ptr<Request>> requests;
    std::vector<GenerateOptions> terms;
    for (uint64_t i = 0; i < 4; ++i) {
      GenerateOptions options = always(1 + 2 * static_cast<int64_t>(i), 40);
      options.draft.rule = rule;
      options.sampling = {.temperature = i == 3 ? 0.0f : 0.8f, .presence_penalty = 0.2f, .seed = i};
      if (i == 2) options.sampling.top_k = 0;
      terms.push_back(options);
      requests.push_back(*Request::start(context, text(25, static_cast<unsigned>(i)), options));
    }
    int64_t n_accepted = 0;
    for (uint64_t i = 0; i < 4; ++i) {
      while (requests[i]->next()) {
      }
      const auto result = requests[i]->result();
      ASSERT_TRUE(result) << result.error().message;
      n_accepted += result->draft.n_accepted;
      EXPECT_EQ(result->tokens, by_all_logits(text(25, static_cast<unsigned>(i)), terms[i], kind).tokens)
          << name_of(rule) << " " << i;
    }
    EXPECT_GT(n_accepted, 0);
  }
}

}  // namespace
}  // namespace parlance
