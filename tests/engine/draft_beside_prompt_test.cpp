// A draft that is verified in the step of its prompt: the prompt's numbers are those of a prompt alone, and
// the draft's those of tokens that come one by one, bit for bit.
#include <thread>

#include "engine/request.h"
#include "kernels/cpu/cpu_device.h"
#include "support/random_tokens.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_model.h"
#include "support/watched_device.h"

namespace parlance::test {
namespace {

constexpr int64_t kBatch = 64;

SessionOptions options_with(KvFormat format, int n_seq = 1) {
  SessionOptions options{.n_ctx = kTinyContext, .n_batch = kBatch, .n_seq = n_seq, .n_outputs = 40};
  options.cache.k = options.cache.v = KvCoding{.format = format};
  options.batches_as_alone = true;
  options.drafts_beside_prompts = true;
  return options;
}

using Rows = std::vector<std::vector<float>>;

// Computes what the session lacks in steps of the scheduler's; yields the logits of the last n_outputs
// tokens, of which the last n_beside are a draft.
Rows compute(Session& session, int64_t n_outputs, int64_t n_beside) {
  class LogitsTask final : public Task {
   public:
    LogitsTask(Sequence& sequence, int64_t n_outputs, int64_t n_beside) : Task(sequence, {}) {
      n_outputs_ = n_outputs;
      n_beside_ = n_beside;
    }
    Rows rows;

   private:
    void take(std::span<const float> all, int64_t n) override {
      for (int64_t i = 0; i < n; ++i) {
        const auto row = all.subspan(static_cast<size_t>(i) * all.size() / static_cast<size_t>(n),
                                     all.size() / static_cast<size_t>(n));
        rows.emplace_back(row.begin(), row.end());
      }
    }
    bool computed() override { return false; }
    void end(Result<void> outcome) override { EXPECT_TRUE(outcome) << outcome.error().message; }
  };
  LogitsTask task(session.sequence(), n_outputs, n_beside);
  Scheduler& scheduler = session.context().scheduler();
  EXPECT_TRUE(scheduler.post(task));
  scheduler.wait([&] { return task.is_done(); });
  return task.rows;
}

// The prompt's numbers, and those of each of the draft's tokens behind it, which come one by one.
Rows compute_alone(Session& session, std::span<const Token> prompt, std::span<const Token> draft) {
  session.truncate(0);
  EXPECT_TRUE(session.sequence().append(prompt));
  Rows rows = compute(session, 1, 0);
  for (const Token& token : draft) {
    EXPECT_TRUE(session.sequence().append({&token, 1}));
    rows.push_back(compute(session, 1, 0).front());
  }
  return rows;
}

Token largest_of(const std::vector<float>& row) {
  return static_cast<Token>(std::max_element(row.begin(), row.end()) - row.begin());
}

class DraftBesidePrompt : public testing::TestWithParam<Isa> {
 protected:
  LoadedModel load(DType matrices = DType::f32) {
    const auto path = folder_ / "tiny.gguf";
    write_tiny_model(path, {.n_layer = 2, .matrices = matrices});
    return load_text_model(path, CpuOptions{.n_threads = 2, .isa = name_of(GetParam())});
  }

  TemporaryFolder folder_;
};

// Prompts of rows that attention takes for few and for many, and longer than a step, so that this ends within
// the prompt, within the draft and between the two.
TEST_P(DraftBesidePrompt, EachHasTheBitsOfComingAlone) {
  const auto loaded = load();
  for (const KvFormat format : {KvFormat::f32, KvFormat::f16, KvFormat::q8_0, KvFormat::q4_0}) {
    const auto beside = *Session::create(*loaded.model, options_with(format));
    const auto alone = *Session::create(*loaded.model, options_with(format));
    ASSERT_EQ(beside->most_beside_prompt(), 32);
    for (const int64_t n_prompt : {1, 31, 32, 33, 50, 64, 65, 150}) {
      const std::vector<Token> prompt = random_tokens(n_prompt, static_cast<unsigned>(n_prompt));
      const std::vector<Token> draft = random_tokens(32, 99);
      const Rows want = compute_alone(*alone, prompt, draft);
      for (size_t n = 0; n <= draft.size(); n += n < 3 ? 1 : 7) {
        SCOPED_TRACE(testing::Message() << traits(format).name << ", " << n_prompt << " + " << n);
        beside->truncate(0);
        ASSERT_TRUE(beside->sequence().append(prompt));
        const auto known = std::span(draft).first(n);
        if (n > 0) {
          ASSERT_TRUE(beside->sequence().append(known));
        }
        const Rows got = compute(*beside, static_cast<int64_t>(n) + 1, static_cast<int64_t>(n));
        ASSERT_TRUE(got == Rows(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(n) + 1));
        if (n == draft.size()) continue;
        // Keys and values too: what comes next finds them.
        ASSERT_TRUE(beside->sequence().append({&draft[n], 1}));
        ASSERT_TRUE(compute(*beside, 1, 0).front() == want[n + 1]);
      }
    }
  }
}

// Several at once, beside an answer whose steps come between their layers.
TEST_P(DraftBesidePrompt, BesideOthers) {
  for (const DType matrices : {DType::f32, DType::f16}) {
    SCOPED_TRACE(name_of(matrices));
    const auto loaded = load(matrices);
    constexpr size_t kSpeakers = 3, kRounds = 6;
    const auto context = *Context::create(*loaded.model, options_with(KvFormat::f16, kSpeakers + 1));
    const auto prompt = [](size_t speaker, size_t round) {
      auto tokens = random_tokens(static_cast<int64_t>(20 + 17 * round + speaker), 5);
      tokens.front() = static_cast<Token>(kRounds * speaker + round);
      return tokens;
    };
    const std::vector<Token> draft = random_tokens(20, 3);
    GenerateOptions saying;
    saying.max_tokens = 400;
    saying.ignore_eos = true;
    const auto answer = *Request::start(context, {100, 101, 102}, saying);
    std::vector<std::vector<Token>> got(kSpeakers * kRounds);
    {
      std::vector<std::jthread> speakers;
      for (size_t speaker = 0; speaker < kSpeakers; ++speaker) {
        speakers.emplace_back([&, speaker] {
          const auto session = *Session::create(context);
          for (size_t round = 0; round < kRounds; ++round) {
            session->truncate(0);
            const auto tokens = session->append_with_draft(prompt(speaker, round), draft);
            ASSERT_TRUE(tokens) << tokens.error().message;
            got[kRounds * speaker + round].assign(tokens->begin(), tokens->end());
          }
        });
      }
    }
    const auto alone = *Session::create(*loaded.model, options_with(KvFormat::f16));
    for (size_t i = 0; i < got.size(); ++i) {
      alone->truncate(0);
      ASSERT_TRUE(alone->sequence().append(prompt(i / kRounds, i % kRounds)));
      std::vector<Token> want = {largest_of(compute(*alone, 1, 0).front())};
      for (const Token token : draft) want.push_back((*alone->append_for_likeliest({&token, 1}, 1)).front());
      EXPECT_EQ(got[i], want) << i;
    }
  }
}

// A device may round otherwise in large steps. Drafts are then in steps that are not, the prompt's rows in
// those that it would have alone: prompts up to what is alike with them and beyond it, that end before a
// batch does or behind it.
TEST_P(DraftBesidePrompt, InStepsWhoseRowsAreAlike) {
  constexpr int64_t kLargeBatch = 192;
  for (const DType matrices : {DType::f16, DType::q8_0, DType::q4_0}) {
    const auto loaded = load(matrices);
    SessionOptions options = options_with(KvFormat::f16);
    options.n_batch = kLargeBatch;
    const auto beside = *Session::create(*loaded.model, options);
    const auto alone = *Session::create(*loaded.model, options);
    const Scheduler& scheduler = beside->context().scheduler();
    const int64_t most = beside->context().most_alike_rows();
    if (most >= kLargeBatch) continue;  // always alike
    std::vector<int64_t> prompts = {1, kLargeBatch + 1, kLargeBatch + most - 3, kLargeBatch + most + 1};
    for (int64_t n = std::max<int64_t>(2, most - 17); n <= most + 2; ++n) prompts.push_back(n);
    for (int64_t n = kLargeBatch - 17; n <= kLargeBatch; n += 3) prompts.push_back(n);
    const std::vector<Token> draft = random_tokens(32, 99);
    for (const int64_t n_prompt : prompts) {
      const std::vector<Token> prompt = random_tokens(n_prompt, static_cast<unsigned>(n_prompt));
      const Rows want = compute_alone(*alone, prompt, draft);
      for (int64_t n = 1; n <= std::ssize(draft); n += n < 17 ? 1 : 15) {
        SCOPED_TRACE(testing::Message() << name_of(matrices) << ", " << n_prompt << " + " << n);
        beside->truncate(0);
        ASSERT_TRUE(beside->sequence().append(prompt));
        ASSERT_TRUE(beside->sequence().append(std::span(draft).first(static_cast<size_t>(n))));
        const uint64_t n_before = scheduler.stats().n_steps;
        const Rows got = compute(*beside, n + 1, n);
        ASSERT_TRUE(got == Rows(want.begin(), want.begin() + n + 1));
        if (n_prompt + n <= most) {
          EXPECT_EQ(scheduler.stats().n_steps - n_before, 1u);
        }
        if (n == std::ssize(draft)) continue;
        ASSERT_TRUE(beside->sequence().append({&draft[static_cast<size_t>(n)], 1}));
        ASSERT_TRUE(compute(*beside, 1, 0).front() == want[static_cast<size_t>(n) + 1]);
      }
    }
  }
}

// What memory holds must not depend on how many tokens a step has.
TEST_P(DraftBesidePrompt, NotWhereMemoryForgets) {
  const auto loaded = load();
  const auto plain = *Session::create(*loaded.model, SessionOptions{.n_ctx = 128, .n_outputs = 40});
  EXPECT_EQ(plain->most_beside_prompt(), 0);
  SessionOptions windowed = options_with(KvFormat::f16);
  windowed.cache.n_recent = 64;
  const auto forgetful = *Session::create(*loaded.model, windowed);
  EXPECT_EQ(forgetful->most_beside_prompt(), 0);
}

TEST_P(DraftBesidePrompt, ADraftThatIsTooLongIsRefused) {
  const auto loaded = load();
  const auto session = *Session::create(*loaded.model, options_with(KvFormat::f16));
  ASSERT_TRUE(session->set_prompt(random_tokens(5, 1)));
  const auto refused = session->append_with_draft(random_tokens(40, 2), random_tokens(33, 3));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  const auto wrong = session->append_with_draft(random_tokens(40, 2), std::vector<Token>{kTinyVocabulary});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(session->tokens(), random_tokens(5, 1));
}

// Where the draft's rows are in steps of the prompt, and where they have one of their own.
TEST(DraftBesidePromptCancel, AtEveryOperation) {
  const TemporaryFolder folder;
  write_tiny_model(folder / "tiny.gguf", {.n_layer = 2});
  WatchedDevice device;
  const auto model = *TextModel::load(folder / "tiny.gguf", device);
  const auto prompt = random_tokens(70, 2), draft = random_tokens(9, 3);
  std::vector<Token> want;
  std::vector<uint64_t> n_steps;
  for (const int64_t n_alike : {INT64_MAX, int64_t{5}}) {
    device.n_alike = n_alike;
    const auto session = *Session::create(*model, options_with(KvFormat::f16));
    int n_all = 0;
    device.on_operation = [&] { ++n_all; };
    const auto whole = *session->append_with_draft(prompt, draft);
    n_steps.push_back(session->context().scheduler().stats().n_steps);
    if (want.empty()) want.assign(whole.begin(), whole.end());
    EXPECT_TRUE(std::ranges::equal(whole, want));
    for (int at = 0; at < n_all; ++at) {
      SCOPED_TRACE(testing::Message() << n_alike << " alike, operation " << at);
      session->truncate(0);
      const CancellationSource source;
      int n = 0;
      device.on_operation = [&] {
        if (n++ == at) source.cancel();
      };
      const auto cancelled = session->append_with_draft(prompt, draft, {}, {.cancellation = source.ticket()});
      ASSERT_FALSE(cancelled);
      EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
      EXPECT_TRUE(session->tokens().empty());
      device.on_operation = {};
      const auto again = session->append_with_draft(prompt, draft);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_TRUE(std::ranges::equal(*again, want));
    }
    device.on_operation = {};
  }
  EXPECT_LT(n_steps.front(), n_steps.back());
}

INSTANTIATE_TEST_SUITE_P(Isas, DraftBesidePrompt, testing::ValuesIn(available_isas()),
                         [](const auto& isa) { return std::string(name_of(isa.param)); });

}  // namespace
}  // namespace parlance::test
