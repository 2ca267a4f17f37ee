// A row's bits do not depend on what else is in its step, however many rows that has and whatever type the
// weights have.
#include "engine/scheduler.h"
#include "support/tiny_pair.h"

namespace parlance {
namespace {

class AlikeRows : public test::TinyPair {
 protected:
  // The logits of each session's wanted rows, all sessions computed in one go.
  static std::vector<std::vector<float>> step(std::span<const std::unique_ptr<Session>> sessions) {
    const Scheduler::Pause pause(sessions.front()->context().scheduler());
    Runner& runner = pause.runner();
    std::vector<Slice> slices;
    for (const auto& session : sessions) {
      Sequence& sequence = session->sequence();
      slices.push_back({&sequence, sequence.n_missing(), 1});
      EXPECT_TRUE(runner.prepare(slices.back()));
    }
    const auto done = runner.run(slices, Wanted::logits, {});
    EXPECT_TRUE(done && *done);
    std::vector<std::vector<float>> logits;
    const size_t n = runner.outputs().size() / slices.size();
    for (size_t i = 0; i < slices.size(); ++i) {
      const auto own = runner.outputs().subspan(i * n, n);
      logits.emplace_back(own.begin(), own.end());
      slices[i].sequence->computed(slices[i].n_tokens);
    }
    return logits;
  }

  std::vector<std::unique_ptr<Session>> open(const TextModel& model, int n) {
    const auto context = make_context(model, {.n_ctx = 128, .n_batch = 128, .n_seq = n, .n_outputs = 32});
    std::vector<std::unique_ptr<Session>> sessions;
    for (int i = 0; i < n; ++i) sessions.push_back(*Session::create(context));
    return sessions;
  }
};

TEST_F(AlikeRows, AnswersBesideManyAndBesidePrompts) {
  for (const DType matrices : {DType::f32, DType::f16}) {
    SCOPED_TRACE(name_of(matrices));
    const auto model = load({.n_layer = 2, .matrices = matrices});
    ASSERT_TRUE(model);
    constexpr int kSessions = 24;
    // Their texts: a prompt each, computed one by one, then a token; the last two are prompts of many rows.
    const auto give = [](Session& session, int i, bool begins) {
      const int64_t n = i < kSessions - 2 ? 3 + i : 40;
      if (begins) return (void)session.set_prompt(text(n, static_cast<unsigned>(i)));
      ASSERT_TRUE(
          session.sequence().append(text(i < kSessions - 2 ? 1 : 20, static_cast<unsigned>(100 + i))));
    };
    const auto together = open(*model, kSessions);
    for (int i = 0; i < kSessions; ++i) give(*together[static_cast<size_t>(i)], i, true);
    for (int i = 0; i < kSessions; ++i) give(*together[static_cast<size_t>(i)], i, false);
    const auto got = step(together);
    for (int i = 0; i < kSessions; ++i) {
      const auto alone = open(*model, 1);
      give(*alone.front(), i, true);
      give(*alone.front(), i, false);
      EXPECT_EQ(step(alone).front(), got[static_cast<size_t>(i)]) << "session " << i;
    }
  }
}

// A draft is no longer than what is verified with the numbers of single tokens.
TEST_F(AlikeRows, DraftsAreNoLongerThanWhatIsComputedAlike) {
  const auto model = load({.n_layer = 2, .matrices = DType::f16});
  ASSERT_TRUE(model);
  const auto prompt = text(20, 5);
  SessionOptions options{.n_ctx = 256, .n_batch = 64};
  options.draft_model = model;
  const auto context = make_context(*model, options);
  const auto session = *Session::create(context);
  const int64_t most = Scheduler::Pause(context->scheduler()).runner().most_alike_rows();
  const GenerateResult drafted = answer(*session, prompt, always(31, 120));
  EXPECT_EQ(drafted.tokens, plain(*model, prompt, always(31, 120)).tokens);
  EXPECT_LE(drafted.draft.n_drafted, drafted.draft.n_verified * std::min<int64_t>(31, most - 1));
}

}  // namespace
}  // namespace parlance
