// A smaller model that drafts: what it proposes is what it would write, however it came to know the text.
#include "engine/model_drafter.h"

#include <algorithm>
#include <random>

#include "engine/scheduler.h"
#include "support/tiny_pair.h"

namespace parlance {
namespace {

class ModelDrafts : public test::TinyPair {
 protected:
  void SetUp() override {
    target_ = load({.n_layer = 2});
    drafter_ = load({.n_layer = 2, .unlike = 0.04f});
    ASSERT_TRUE(target_ && drafter_);
  }

  std::vector<Token> plain_tokens(const std::vector<Token>& prompt, const GenerateOptions& options) const {
    return plain(*target_, prompt, options).tokens;
  }

  // What the drafter proposes behind the sequence's text.
  static Draft draft_of(Drafter& drafter, Sequence& sequence, int64_t most) {
    DraftSampler sampler({.temperature = 0}, DraftRule::exact);
    sampler.begin(0);
    DraftJob job{.sequence = &sequence, .most = most, .sampler = &sampler};
    DraftJob* const jobs[] = {&job};
    EXPECT_TRUE(drafter.draft(jobs));
    return job.draft;
  }

  std::shared_ptr<const TextModel> target_, drafter_;
};

// A drafter that is the model itself: all is taken, and a step yields as many tokens as it can.
TEST_F(ModelDrafts, OfTheModelItselfAreAllTaken) {
  const auto session = test::make_session(*target_, {.n_ctx = 256, .draft_model = target_});
  for (const int64_t most : {1, 2, 5, 16, 31}) {
    GenerateOptions options = always(most, 1 + 6 * (most + 1));
    const auto result = generate(*session, text(20, static_cast<unsigned>(most)), options);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->draft.n_drafted, result->draft.n_accepted);
    EXPECT_EQ(result->draft.n_steps, 1 + 6);  // the prompt's, whose token nobody drafts
    EXPECT_EQ(result->tokens, plain_tokens(text(20, static_cast<unsigned>(most)), options));
  }
}

// The same where states cannot be cut, of a model that drafts for itself.
TEST_F(ModelDrafts, OfAHybridModelItselfAreAllTaken) {
  PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf");
  const auto hybrid = load(test::fixtures_root() / "text/models/qwen35.gguf");
  ASSERT_TRUE(hybrid);
  const auto session = test::make_session(*hybrid, {.n_ctx = 128, .n_batch = 16, .draft_model = hybrid});
  for (const int64_t most : {1, 4, 15}) {
    for (unsigned seed = 0; seed < 3; ++seed) {
      GenerateOptions options = always(most, 1 + 4 * (most + 1));
      const auto prompt = text(20 + seed, seed / 2);
      const GenerateResult result = answer(*session, prompt, options);
      EXPECT_EQ(result.draft.n_drafted, result.draft.n_accepted);
      EXPECT_EQ(result.tokens, plain(*hybrid, prompt, options).tokens);
    }
  }
}

TEST_F(ModelDrafts, LeaveTheAnswerAsItIs) {
  const auto session = test::make_session(*target_, {.n_ctx = 256, .draft_model = drafter_});
  int64_t n_drafted = 0, n_accepted = 0;
  for (const int64_t most : {1, 3, 8, 31}) {
    for (unsigned seed = 0; seed < 6; ++seed) {
      GenerateOptions options = always(most);
      options.sampling.temperature = seed % 2 == 0 ? 0.0f : 1.0f;
      options.sampling.seed = seed;
      options.sampling.presence_penalty = seed % 3 == 0 ? 1.0f : 0.0f;
      const auto prompt = text(5 + 20 * seed, seed);
      const auto result = generate(*session, prompt, options);
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->tokens, plain_tokens(prompt, options)) << most << ", seed " << seed;
      n_drafted += result->draft.n_drafted;
      n_accepted += result->draft.n_accepted;
    }
  }
  EXPECT_GT(n_accepted, n_drafted / 20);  // some are taken, some are not
  EXPECT_LT(n_accepted, n_drafted * 19 / 20);
}

TEST_F(ModelDrafts, EndWhereTheDrafterIsUnsure) {
  const auto context = make_context(*target_, {.n_ctx = 256, .draft_model = drafter_});
  const auto sequence = *Sequence::open(context);
  for (unsigned seed = 0; seed < 20; ++seed) {
    sequence->truncate(0);
    ASSERT_TRUE(sequence->append(text(30, seed)));
    ModelDrafter drafter(make_context(*drafter_, {.n_ctx = 256}), target_->model().n_vocab());
    DraftSampler sampler({.temperature = 0}, DraftRule::exact);
    const Draft all = draft_of(drafter, *sequence, 12);
    for (const float least : {0.05f, 0.3f, 0.9f}) {
      sampler.begin(0);
      DraftJob job{.sequence = sequence.get(), .most = 12, .least_probability = least, .sampler = &sampler};
      DraftJob* const jobs[] = {&job};
      ASSERT_TRUE(drafter.draft(jobs));
      const auto end = std::ranges::find_if(all.probabilities, [&](float p) { return p < least; });
      EXPECT_EQ(job.draft.n_tokens(), end - all.probabilities.begin());
    }
  }
}

// A text that grows, is cut, becomes another one and comes back: what was read before is as good as what is
// read now, also where there is not enough memory for all texts.
TEST_F(ModelDrafts, AreThoseOfAFreshReading) {
  std::mt19937 random(3);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
  for (const int64_t n_cache : {0, 320}) {
    const auto context = make_context(*target_, {.n_ctx = 256, .n_seq = 3});
    ModelDrafter lasting(
        make_context(*drafter_, {.n_ctx = 256, .n_batch = 32, .n_seq = 3, .n_cache = n_cache}),
        target_->model().n_vocab());
    std::vector<std::unique_ptr<Sequence>> sequences;
    for (int i = 0; i < 3; ++i) sequences.push_back(*Sequence::open(context));
    int n_compared = 0;
    for (int round = 0; round < 60; ++round) {
      DraftSampler sampler({.temperature = 0}, DraftRule::exact);
      std::vector<DraftJob> jobs;
      for (const auto& sequence : sequences) {
        switch (below(6)) {
          case 0:
            sequence->truncate(0);
            ASSERT_TRUE(sequence->append(text(1 + below(200), static_cast<unsigned>(below(3)))));
            break;
          case 1:
            sequence->truncate(1 + below(std::max<int64_t>(1, sequence->n_tokens())));
            break;
          case 2:
            continue;
          default:
            if (sequence->n_tokens() > 200) continue;
            ASSERT_TRUE(sequence->append(text(1 + below(9), static_cast<unsigned>(below(1000)))));
        }
        if (sequence->n_tokens() == 0) continue;
        jobs.push_back({.sequence = sequence.get(), .most = 1 + below(8), .sampler = &sampler});
      }
      std::vector<DraftJob*> listed;
      for (DraftJob& job : jobs) listed.push_back(&job);
      if (below(3) == 0) {
        ASSERT_TRUE(lasting.read(listed));
      }
      ASSERT_TRUE(lasting.draft(listed));
      for (const DraftJob& job : jobs) {
        ModelDrafter fresh(make_context(*drafter_, {.n_ctx = 256, .n_seq = 3}), target_->model().n_vocab());
        // The sampler is shared by all of them, and greedy without penalties: it remembers nothing.
        const Draft expected = draft_of(fresh, *job.sequence, job.most);
        if (n_cache > 0 && job.draft.n_tokens() < job.most) continue;  // there was no memory for it
        EXPECT_EQ(job.draft.tokens, expected.tokens);
        EXPECT_EQ(job.draft.probabilities, expected.probabilities);
        ++n_compared;
      }
    }
    EXPECT_GT(n_compared, 100);
  }
}

TEST_F(ModelDrafts, ManyAnswersInLittleMemory) {
  for (const int64_t n_cache : {0, 320, 192}) {
    SessionOptions options{
        .n_ctx = 256, .n_batch = 48, .n_seq = 4, .n_cache = n_cache, .draft_model = drafter_};
    const auto context = make_context(*target_, options);
    std::vector<std::unique_ptr<Request>> requests;
    std::vector<GenerateOptions> terms;
    for (unsigned i = 0; i < 9; ++i) {
      terms.push_back(always(1 + i, 30));
      terms.back().sampling.temperature = i % 2 == 0 ? 0.0f : 1.0f;
      terms.back().sampling.seed = i;
      terms.back().draft.is_on = i != 4;
      terms.back().draft.is_required = false;
      requests.push_back(*Request::start(context, text(70 + i % 3, i % 3), terms.back()));
    }
    context->scheduler().wait(
        [&] { return std::ranges::all_of(requests, [](const auto& r) { return r->has_ended(); }); });
    for (unsigned i = 0; i < 9; ++i) {
      const auto result = requests[i]->result();
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->tokens, plain_tokens(text(70 + i % 3, i % 3), terms[i])) << i;
    }
  }
}

// What one text begins with is not read again for another.
TEST_F(ModelDrafts, BeginningsAreShared) {
  if (&tested_device() != &device_) GTEST_SKIP() << "only the CPU's operations are watched";
  const auto context = make_context(*target_, {.n_ctx = 256, .n_seq = 2});
  ModelDrafter drafter(make_context(*drafter_, {.n_ctx = 256, .n_batch = 16, .n_seq = 2}),
                       target_->model().n_vocab());
  const auto first = *Sequence::open(context), second = *Sequence::open(context);
  ASSERT_TRUE(first->append(text(200, 1)));
  ASSERT_TRUE(second->append(text(201, 1)));
  int n_first = 0, n_second = 0;
  device_.on_operation = [&] { ++n_first; };
  ASSERT_EQ(draft_of(drafter, *first, 1).n_tokens(), 1);
  device_.on_operation = [&] { ++n_second; };
  ASSERT_EQ(draft_of(drafter, *second, 1).n_tokens(), 1);
  device_.on_operation = {};
  EXPECT_LT(n_second, n_first / 4);
}

// Between any two operations, of the model's and of its drafter's: what was said is the beginning of what
// would have been said, and going on says the rest.
TEST_F(ModelDrafts, CancelledAnywhere) {
  const auto prompt = text(20, 5);
  const GenerateOptions options = always(4, 14);
  const std::vector<Token> whole = plain_tokens(prompt, options);
  const SessionOptions kind{.n_ctx = 64, .draft_model = drafter_};
  cancel_before_each_operation(
      *target_, kind, prompt, options, [&](const GenerateResult& said, Session& session) {
        ASSERT_LE(said.tokens.size(), whole.size());
        ASSERT_TRUE(std::equal(said.tokens.begin(), said.tokens.end(), whole.begin()));
        const std::vector<Token>& kept = session.tokens();
        ASSERT_TRUE(std::equal(kept.begin(), kept.begin() + std::min(std::ssize(kept), std::ssize(prompt)),
                               prompt.begin()));
        ASSERT_EQ(answer(session, prompt, options).tokens, whole);
      });
}

TEST_F(ModelDrafts, TextsWithRowsInPlaceOfTokensHaveNone) {
  const auto context = make_context(*target_, {.n_ctx = 64, .takes_embeddings = true});
  const auto sequence = *Sequence::open(context);
  const std::vector<float> row(64, 0.5f);
  const std::vector<Token> tokens = {1, kEmbedded, 2};
  ASSERT_TRUE(sequence->append(tokens, {row, 1}));
  ModelDrafter drafter(make_context(*drafter_, {.n_ctx = 64}), target_->model().n_vocab());
  EXPECT_EQ(draft_of(drafter, *sequence, 4).n_tokens(), 0);
}

}  // namespace
}  // namespace parlance
