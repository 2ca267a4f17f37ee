// Drafts change how fast an answer comes and nothing else: greedy answers are the same to the bit, drawn ones
// as likely, whatever drafts, whatever else is computed, wherever a text was cut or an answer was stopped.
#include <algorithm>
#include <array>
#include <random>

#include "engine/block_drafter.h"
#include "engine/scheduler.h"
#include "support/chi_squared.h"
#include "support/tiny_pair.h"

namespace parlance {
namespace {

class LosslessDrafting : public test::TinyPair {
 protected:
  void SetUp() override {
    target_ = load({.n_layer = 3});
    like_ = load({.n_layer = 3, .unlike = 0.04f});
    block_ = load_block_drafter(*target_);
    ASSERT_TRUE(target_ && like_ && block_);
  }

  // Every kind of drafter, and all at once.
  std::vector<SessionOptions> kinds(SessionOptions options) const {
    std::vector<SessionOptions> all(4, options);
    all[0].draft_model = like_;
    all[1].drafter = block_;
    all[2].looks_up = true;
    all[3].looks_up = true;
    all[3].drafter = block_;
    all[3].draft_model = like_;
    return all;
  }

  static void finish(Context& context, const std::vector<std::unique_ptr<Request>>& requests) {
    context.scheduler().wait(
        [&] { return std::ranges::all_of(requests, [](const auto& r) { return r->has_ended(); }); });
  }

  std::shared_ptr<const TextModel> target_, like_;
  std::shared_ptr<const Dflash> block_;
};

// 10,000 tokens of each kind of drafter: drafts of any length, 1 to 8 answers at once beside the prompts of
// others, in steps of any size, of sessions that were cut anywhere before.
TEST_F(LosslessDrafting, GreedyAnswersAreTheSame) {
  std::mt19937 random(11);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
  for (const SessionOptions& kind : kinds({.n_ctx = 160, .n_seq = 8})) {
    int64_t n_tokens = 0, n_accepted = 0, n_rejected = 0;
    while (n_tokens < 10000) {
      SessionOptions options = kind;
      options.n_batch = std::array{17, 48, 160}[static_cast<size_t>(below(3))];
      const auto context = make_context(*target_, options);
      const int64_t n_answers = 1 + below(8);
      std::vector<std::unique_ptr<Session>> sessions;
      std::vector<std::vector<Token>> prompts;
      std::vector<GenerateOptions> terms;
      std::vector<std::unique_ptr<Request>> requests;
      for (int64_t i = 0; i < n_answers; ++i) {
        sessions.push_back(*Session::create(context));
        const auto known = text(1 + below(60), static_cast<unsigned>(below(4)));
        ASSERT_TRUE(sessions.back()->set_prompt(known));
        sessions.back()->truncate(below(std::ssize(known) + 1));
        prompts.push_back(text(1 + below(90), static_cast<unsigned>(below(4))));
        terms.push_back(always(1 + below(31), 20 + below(50)));
        terms.back().draft.is_required = false;
        terms.back().draft.least_probability = below(3) == 0 ? 0.1f : 0.0f;
      }
      for (size_t i = 0; i < sessions.size(); ++i) {
        requests.push_back(*Request::start(*sessions[i], prompts[i], terms[i]));
        for (int64_t step = below(4); step > 0; --step) context->scheduler().step();
      }
      finish(*context, requests);
      for (size_t i = 0; i < requests.size(); ++i) {
        const auto result = requests[i]->result();
        ASSERT_TRUE(result) << result.error().message;
        ASSERT_EQ(result->tokens, plain(*target_, prompts[i], terms[i], 160).tokens);
        n_tokens += std::ssize(result->tokens);
        n_accepted += result->draft.n_accepted;
        n_rejected += result->draft.n_rejected();
      }
    }
    EXPECT_GT(n_rejected, 0);
    EXPECT_TRUE(n_accepted > 0 || kind.drafter);  // a random block drafter is hardly ever right
  }
}

// Of 20,000 tokens, how often each run of four comes, of which the last three are drafted.
test::Counts<std::array<Token, 4>> runs(Session& session, const std::vector<Token>& prompt,
                                        GenerateOptions options, uint64_t seed,
                                        int64_t* n_accepted = nullptr) {
  constexpr int kRuns = 5000;
  test::Counts<std::array<Token, 4>> counts;
  options.max_tokens = 4;
  options.ignore_eos = true;
  for (uint64_t i = 0; i < kRuns; ++i) {
    options.sampling.seed = seed * 1000003 + i;
    const auto result = generate(session, prompt, options);
    EXPECT_TRUE(result);
    if (!result || result->tokens.size() != 4) return {};
    std::array<Token, 4> run;
    std::ranges::copy(result->tokens, run.begin());
    ++counts[run];
    if (n_accepted) *n_accepted += result->draft.n_accepted;
  }
  return counts;
}

TEST_F(LosslessDrafting, DrawnAnswersAreAsLikely) {
  const auto target = load({.n_embd = 32, .n_ff = 32}),
             like = load({.n_embd = 32, .n_ff = 32, .unlike = 0.1f});
  const auto block = load_block_drafter(*target, {.n_embd = 32, .n_layer = 1, .target_layers = {0}});
  ASSERT_TRUE(target && like && block);
  const std::vector<Token> prompt = {0, 1, 2, 3, 0, 0, 2, 1, 1, 3, 3, 2};  // has what may be looked up
  GenerateOptions options;
  options.sampling = {
      .temperature = 1.5f, .top_k = 0, .top_p = 1, .min_p = 0, .presence_penalty = 0.5f, .penalty_last_n = 2};
  // Four tokens only, so that drafters that know nothing are right at times.
  for (Token token = 4; token < test::kTinyVocabulary; ++token)
    options.sampling.logit_bias.emplace_back(token, -INFINITY);
  const auto without = test::make_session(*target, {.n_ctx = 32});
  const auto by_any =
      test::make_session(*target, {.n_ctx = 32, .looks_up = true, .drafter = block, .draft_model = like});
  const auto by_model = test::make_session(*target, {.n_ctx = 32, .draft_model = like});
  const auto by_block = test::make_session(*target, {.n_ctx = 32, .drafter = block});
  for (const uint64_t seed : {1, 2, 3}) {
    const auto expected = runs(*without, prompt, options, seed);
    const auto p_of = [&](Session& session, DraftRule rule, int64_t* n_accepted) {
      GenerateOptions drafted = options;
      drafted.draft = {.most = 3, .rule = rule, .is_required = true};
      return test::p_value_of_two(runs(session, prompt, drafted, seed + 10, n_accepted), expected);
    };
    int64_t n_exact = 0, n_sampling = 0, n_block = 0;
    EXPECT_GT(p_of(*by_model, DraftRule::exact, &n_exact), 0.001) << seed;
    EXPECT_GT(p_of(*by_model, DraftRule::sampling, &n_sampling), 0.001) << seed;
    EXPECT_GT(p_of(*by_block, DraftRule::sampling, &n_block), 0.001) << seed;
    EXPECT_GT(p_of(*by_any, DraftRule::sampling, nullptr), 0.001) << seed;
    EXPECT_GT(n_sampling, n_exact);
    EXPECT_GT(std::min(n_exact, n_block), 1000);
  }
}

// By the sampling rule too a seed gives one answer: alone, beside others, in steps of any size, again.
TEST_F(LosslessDrafting, ASeedGivesOneAnswer) {
  for (const SessionOptions& kind : kinds({.n_ctx = 160, .n_seq = 8})) {
    std::vector<GenerateOptions> terms;
    std::vector<std::vector<Token>> prompts, alone;
    for (unsigned i = 0; i < 8; ++i) {
      terms.push_back(always(1 + 3 * i, 40));
      terms.back().draft.is_required = i % 3 == 0 && !kind.looks_up;
      terms.back().draft.rule = DraftRule::sampling;
      terms.back().draft.least_probability = i % 4 == 3 ? 0.05f : 0.0f;
      terms.back().draft.least = i == 5 ? 2 : 0;
      terms.back().sampling = {.temperature = 0.8f, .presence_penalty = 0.2f, .seed = i};
      prompts.push_back(text(20 + 9 * (i % 4), i % 3));
      const auto result = answer(*test::make_session(*target_, kind), prompts.back(), terms.back());
      alone.push_back(result.tokens);
    }
    for (const int64_t n_batch : {24, 160}) {
      SessionOptions options = kind;
      options.n_batch = n_batch;
      const auto context = make_context(*target_, options);
      std::vector<std::unique_ptr<Request>> requests;
      for (size_t i = 0; i < terms.size(); ++i) {
        requests.push_back(*Request::start(context, prompts[i], terms[i]));
        for (size_t step = 0; step < i % 3; ++step) context->scheduler().step();
      }
      finish(*context, requests);
      for (size_t i = 0; i < requests.size(); ++i) {
        const auto result = requests[i]->result();
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_EQ(result->tokens, alone[i]) << i << " in steps of " << n_batch;
      }
    }
  }
}

// Between any two operations of the model and of whatever drafts: what is kept of the answer is the beginning
// of the whole one, and going on says the rest.
TEST_F(LosslessDrafting, CancelledAnywhere) {
  const auto prompt = text(20, 5);
  const GenerateOptions options = always(4, 12);
  const std::vector<Token> whole = plain(*target_, prompt, options, 64).tokens;
  for (const SessionOptions& kind : kinds({.n_ctx = 64})) {
    if (kind.looks_up && !kind.drafter) continue;  // nothing to look up
    cancel_before_each_operation(
        *target_, kind, prompt, options, [&](const GenerateResult& said, Session& session) {
          ASSERT_LE(said.tokens.size(), whole.size());
          ASSERT_TRUE(std::equal(said.tokens.begin(), said.tokens.end(), whole.begin()));
          std::vector<Token> text = prompt;
          text.insert(text.end(), whole.begin(), whole.end());
          const std::vector<Token>& kept = session.tokens();
          ASSERT_LE(kept.size(), prompt.size() + said.tokens.size());
          ASSERT_TRUE(std::equal(kept.begin(), kept.end(), text.begin()));
          if (!said.tokens.empty()) {
            ASSERT_GE(kept.size() + 1, prompt.size() + said.tokens.size());
          }
          // On from what is kept, as if it had been the prompt.
          std::vector<Token> so_far = prompt;
          so_far.insert(so_far.end(), said.tokens.begin(), said.tokens.end());
          GenerateOptions rest = options;
          rest.max_tokens = std::ssize(whole) - std::ssize(said.tokens);
          rest.draft.is_required = false;
          const GenerateResult more = answer(session, so_far, rest);
          ASSERT_EQ(more.tokens, std::vector<Token>(whole.begin() + std::ssize(said.tokens), whole.end()));
        });
  }
}

// The same of an answer whose drafts are drawn: it ends early, and says nothing else until then.
TEST_F(LosslessDrafting, CancelledAnywhereWhileDraftsAreDrawn) {
  const auto prompt = text(20, 5);
  GenerateOptions options = always(4, 12);
  options.draft.rule = DraftRule::sampling;
  options.sampling = {.temperature = 0.7f, .seed = 3};
  const SessionOptions kind{.n_ctx = 64, .draft_model = like_};
  const std::vector<Token> whole = answer(*test::make_session(*target_, kind), prompt, options).tokens;
  cancel_before_each_operation(
      *target_, kind, prompt, options, [&](const GenerateResult& said, Session& session) {
        ASSERT_LE(said.tokens.size(), whole.size());
        ASSERT_TRUE(std::equal(said.tokens.begin(), said.tokens.end(), whole.begin()));
        ASSERT_EQ(answer(session, prompt, options).tokens, whole);
      });
}

// What a block drafter knows of a text is the same whether it listened to it at once, in pieces, through
// drafts that were taken back, or again.
TEST_F(LosslessDrafting, BlockDraftsAreThoseOfAFreshText) {
  std::mt19937 random(4);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
  const auto draft = [&](Session& session) {
    Sequence& sequence = session.sequence();
    EXPECT_TRUE(sequence.append(std::vector<Token>{9}));
    const Scheduler::Pause pause(session.context().scheduler());
    BlockDrafter drafter(session.context(), pause.runner());
    DraftSampler sampler({.temperature = 0}, DraftRule::exact);
    sampler.begin(0);
    DraftJob job{.sequence = &sequence, .most = 5, .sampler = &sampler};
    DraftJob* const jobs[] = {&job};
    EXPECT_TRUE(drafter.draft(jobs));
    EXPECT_EQ(job.draft.n_tokens(), 5);
    sequence.truncate(sequence.n_tokens() - 1);
    return job.draft.probabilities;
  };
  const auto session = test::make_session(*target_, {.n_ctx = 160, .n_batch = 16, .drafter = block_});
  for (int round = 0; round < 60; ++round) {
    switch (below(3)) {
      case 0:
        session->truncate(below(session->sequence().n_tokens() + 1));
        break;
      case 1: {
        const auto prompt = text(1 + below(70), static_cast<unsigned>(below(3)));
        GenerateOptions options = always(1 + below(5), 2 + below(40));
        options.draft.is_required = false;  // the context may end at once
        answer(*session, prompt, options);
        break;
      }
      default:
        if (session->sequence().n_tokens() > 120) break;
        ASSERT_TRUE(session->append(text(1 + below(20), static_cast<unsigned>(below(9)))));
    }
    if (session->sequence().n_computed() == 0) continue;
    session->truncate(session->sequence().n_computed());
    const auto fresh = test::make_session(*target_, {.n_ctx = 160, .drafter = block_});
    ASSERT_TRUE(fresh->set_prompt(session->tokens()));
    EXPECT_EQ(draft(*session), draft(*fresh)) << "round " << round;
  }
}

}  // namespace
}  // namespace parlance
