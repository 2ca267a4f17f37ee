// Models whose recurrent states cannot be cut draft all the same: whatever was taken back, logits are those
// of a text that was never anything else, to the bit.
#include <algorithm>
#include <numeric>
#include <random>

#include "engine/generate.h"
#include "engine/scheduler.h"
#include "support/random_tokens.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_drafter.h"
#include "support/watched_device.h"

namespace parlance {
namespace {

constexpr int64_t kContext = 512;

class HybridDrafting : public testing::Test {
 protected:
  void SetUp() override { PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf"); }

  // With a drafter that listens to layers of both kinds.
  void load(Result<std::unique_ptr<Device>> device) {
    drafter_.reset();
    loaded_ = test::load_text_model(test::fixtures_root() / "text/models/qwen35.gguf", std::move(device));
    ASSERT_TRUE(loaded_.model);
    const auto path = folder_ / "drafter.gguf";
    const test::TinyDrafter shape{
        .n_vocab = 326, .block_size = 6, .mask_token = 325, .target_layers = {0, 2, 3}};
    ASSERT_TRUE(test::write_tiny_drafter(path, shape));
    file_ = std::make_unique<GgufFile>(*GgufFile::open(path));
    auto drafter = Dflash::load(*file_, loaded_.model->model());
    ASSERT_TRUE(drafter) << drafter.error().message;
    drafter_ = *std::move(drafter);
  }

  // Whose sums do not depend on how a text is cut.
  void load_exactly() { load(make_cpu_device({.n_threads = 2, .deterministic = true})); }

  SessionOptions drafting(int n_seq = 1) const {
    SessionOptions options{
        .n_ctx = kContext, .n_batch = 64, .n_outputs = 32, .looks_up = true, .drafter = drafter_};
    options.n_seq = n_seq;
    return options;
  }

  // A step of all that a sequence lacks: the logits of its last n_outputs tokens.
  static std::vector<float> step(Session& session, int64_t n_outputs) {
    const Scheduler::Pause pause(session.context().scheduler());
    Sequence& sequence = session.sequence();
    const Slice slice{&sequence, sequence.n_missing(), n_outputs};
    EXPECT_TRUE(pause.runner().prepare(slice));
    const auto done = pause.runner().run({&slice, 1}, Wanted::logits, {});
    EXPECT_TRUE(done && *done);
    sequence.computed(slice.n_tokens);
    return {pause.runner().outputs().begin(), pause.runner().outputs().end()};
  }

  // What the drafter says of the token behind the sequence's last one, which is not computed.
  static std::vector<float> proposal(Session& session) {
    const Scheduler::Pause pause(session.context().scheduler());
    Sequence& sequence = session.sequence();
    EXPECT_EQ(sequence.n_missing(), 1);
    EXPECT_TRUE(pause.runner().prepare({&sequence, 4, 0}));
    const Runner::Block block{&sequence, 4, 3};
    EXPECT_TRUE(pause.runner().draft({&block, 1}, Wanted::logits, {}));
    return {pause.runner().outputs().begin(), pause.runner().outputs().end()};
  }

  // Of each token of a text, computed one by one.
  std::vector<std::vector<float>> plain_logits(const std::vector<Token>& tokens) {
    const auto session = test::make_session(*loaded_.model, {.n_ctx = kContext});
    std::vector<std::vector<float>> all;
    for (const Token token : tokens) {
      const auto logits = session->append({&token, 1});
      EXPECT_TRUE(logits);
      all.emplace_back(logits->begin(), logits->end());
    }
    return all;
  }

  test::TemporaryFolder folder_;
  test::LoadedModel loaded_;
  std::unique_ptr<GgufFile> file_;
  std::shared_ptr<const Dflash> drafter_;
};

// Every length of a draft, every number of its tokens that is taken, on every instruction set; then one more
// token, and nothing is computed again.
TEST_F(HybridDrafting, AnyNumberOfDraftedTokensIsTakenBack) {
  for (const Isa isa : available_isas()) {
    load(make_cpu_device({.n_threads = 2, .isa = name_of(isa), .deterministic = true}));
    const std::vector<Token> tokens = test::random_tokens(50, 1);
    const auto plain = plain_logits(tokens);
    SessionOptions options = drafting();
    options.drafter = nullptr;  // whose blocks are shorter
    options.n_draft = kMostDrafted;
    const auto session = test::make_session(*loaded_.model, options);
    for (const int64_t n_draft : {1, 2, 3, 7, 8, 16, 31}) {
      for (int64_t n_taken = 0; n_taken <= n_draft; ++n_taken) {
        SCOPED_TRACE(testing::Message() << name_of(isa) << ": " << n_taken << " of " << n_draft);
        Sequence& sequence = session->sequence();
        sequence.truncate(0);
        for (int64_t i = 0; i < 5; ++i) ASSERT_TRUE(session->append({&tokens[static_cast<size_t>(i)], 1}));
        int64_t n = 5;  // tokens that are known
        for (int round = 0; round < 2 && n + 2 + n_draft < std::ssize(tokens); ++round) {
          ASSERT_TRUE(sequence.append({&tokens[static_cast<size_t>(n)], 1}));
          const auto first = tokens.begin() + n + 1;
          std::vector<Token> draft(first, first + n_draft);
          for (int64_t i = n_taken; i < n_draft; ++i) draft[static_cast<size_t>(i)] ^= 1;
          ASSERT_TRUE(sequence.append_draft(draft));
          const std::vector<float> rows = step(*session, 1 + n_draft);
          const size_t n_logits = plain.front().size();
          for (int64_t i = 0; i <= n_taken; ++i) {
            const auto row = std::span(rows).subspan(static_cast<size_t>(i) * n_logits, n_logits);
            ASSERT_TRUE(std::ranges::equal(row, plain[static_cast<size_t>(n + i)])) << "row " << i;
          }
          n += 1 + n_taken;
          sequence.truncate(n);
          ASSERT_EQ(sequence.n_computed(), n);
        }
        const auto logits = session->append({&tokens[static_cast<size_t>(n)], 1});
        ASSERT_TRUE(logits);
        ASSERT_TRUE(std::ranges::equal(*logits, plain[static_cast<size_t>(n)]));
      }
    }
  }
}

// A text and its draft that come in one step, as after memory was given up, part as if they came in two.
TEST_F(HybridDrafting, DraftsMayComeWithTheirText) {
  load_exactly();
  const std::vector<Token> tokens = test::random_tokens(60, 6);
  const auto plain = plain_logits(tokens);
  for (int64_t n_taken = 0; n_taken <= 5; ++n_taken) {
    const auto session = test::make_session(*loaded_.model, drafting());
    Sequence& sequence = session->sequence();
    ASSERT_TRUE(sequence.append(std::span(tokens).first(50)));
    std::vector<Token> draft(tokens.begin() + 50, tokens.begin() + 55);
    for (int64_t i = n_taken; i < 5; ++i) draft[static_cast<size_t>(i)] ^= 1;
    ASSERT_TRUE(sequence.append_draft(draft));
    step(*session, 6);
    sequence.truncate(50 + n_taken);
    ASSERT_EQ(sequence.n_computed(), 50 + n_taken);
    const auto logits = session->append({&tokens[static_cast<size_t>(50 + n_taken)], 1});
    ASSERT_TRUE(logits);
    ASSERT_TRUE(std::ranges::equal(*logits, plain[static_cast<size_t>(50 + n_taken)]));
  }
}

// Drafts, forks, files, prompts that others know, memory that is given up and steps that fail, in any order.
TEST_F(HybridDrafting, AnythingInAnyOrder) {
  load_exactly();
  const std::vector<Token> other_text = test::random_tokens(kContext, 9);
  for (unsigned round = 0; round < 6; ++round) {
    std::mt19937 random(round);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    const auto context = *Context::create(*loaded_.model, drafting(3));
    const auto reference = *Context::create(*loaded_.model, drafting(1));
    auto session = *Session::create(context);
    std::vector<Token> tokens;
    const auto check = [&](std::span<const float> logits) {
      const auto fresh = *Session::create(reference);
      const auto expected = fresh->set_prompt(tokens);
      ASSERT_TRUE(expected);
      ASSERT_EQ(session->tokens(), tokens);
      ASSERT_TRUE(std::ranges::equal(logits, *expected));
    };
    for (int i = 0; i < 60; ++i) {
      SCOPED_TRACE(testing::Message() << "round " << round << " operation " << i);
      const int64_t operation = tokens.empty() ? 0 : below(10);
      if (std::ssize(tokens) > kContext - 64) {
        tokens.resize(static_cast<size_t>(below(40)));
        session->truncate(std::ssize(tokens));
      }
      Sequence& sequence = session->sequence();
      if (operation == 0) {  // a prompt, perhaps one that begins as others do
        if (below(2) == 0) tokens.assign(other_text.begin(), other_text.begin() + 1 + below(200));
        const auto more = test::random_tokens(1 + below(40), random());
        tokens.insert(tokens.end(), more.begin(), more.end());
        const auto logits = session->set_prompt(tokens);
        ASSERT_TRUE(logits);
        check(*logits);
      } else if (operation <= 5) {  // a draft, of which some is taken
        if (sequence.n_missing() > 0) {
          ASSERT_TRUE(session->set_prompt(tokens));
        }
        tokens.push_back(static_cast<Token>(below(300)));
        ASSERT_TRUE(sequence.append({&tokens.back(), 1}));
        const std::vector<Token> draft = test::random_tokens(1 + below(5), random());
        if (below(2) == 0) {
          const std::vector<float> proposed = proposal(*session);
          const auto fresh = *Session::create(reference);
          ASSERT_TRUE(fresh->set_prompt(std::span(tokens).first(tokens.size() - 1)));
          ASSERT_TRUE(fresh->sequence().append({&tokens.back(), 1}));
          ASSERT_EQ(proposed, proposal(*fresh));
        }
        ASSERT_TRUE(sequence.append_draft(draft));
        const std::vector<float> rows = step(*session, 1 + std::ssize(draft));
        const int64_t n_taken = below(std::ssize(draft) + 1);
        tokens.insert(tokens.end(), draft.begin(), draft.begin() + n_taken);
        sequence.truncate(std::ssize(tokens));
        const size_t n_logits = rows.size() / (draft.size() + 1);
        check(std::span(rows).subspan(static_cast<size_t>(n_taken) * n_logits, n_logits));
      } else if (operation == 6) {
        auto twin = session->fork();
        ASSERT_TRUE(twin);
        session = *std::move(twin);
      } else if (operation == 7 && sequence.n_computed() > 0) {
        ASSERT_TRUE(session->save(folder_ / "text.kv"));
        session = *Session::create(context);
        const auto restored = session->restore(folder_ / "text.kv", tokens);
        ASSERT_TRUE(restored) << restored.error().message;
        tokens.resize(session->tokens().size());
      } else if (operation == 8) {
        tokens.resize(static_cast<size_t>(std::max<int64_t>(0, std::ssize(tokens) - below(50))));
        session->truncate(std::ssize(tokens));
      } else if (operation == 9) {
        below(2) == 0 ? sequence.give_up_memory() : sequence.failed();
      }
    }
  }
}

// A verification that is cancelled between any two operations leaves what is before it.
TEST_F(HybridDrafting, CancelledVerificationsLeaveNothing) {
  auto watched = std::make_unique<test::WatchedDevice>();
  test::WatchedDevice& device = *watched;
  load(std::move(watched));
  const std::vector<Token> tokens = test::random_tokens(40, 3), wrong = test::random_tokens(4, 4);
  const auto plain = plain_logits(tokens);
  for (int at = 0;; ++at) {
    SCOPED_TRACE(testing::Message() << "before operation " << at);
    const auto session = test::make_session(*loaded_.model, drafting());
    ASSERT_TRUE(session->set_prompt(std::span(tokens).first(20)));
    Sequence& sequence = session->sequence();
    ASSERT_TRUE(sequence.append({&tokens[20], 1}) && sequence.append_draft(wrong));
    step(*session, 5);
    sequence.truncate(22);  // a draft is behind it, of which one token was taken
    std::vector<Token> known(tokens.begin(), tokens.begin() + 21);
    known.push_back(wrong[0]);
    ASSERT_TRUE(sequence.append({&tokens[22], 1}) && sequence.append_draft(wrong));
    const CancellationSource source;
    const Cancellation ticket = source.ticket();
    int n = 0;
    device.on_operation = [&] {
      if (n++ == at) source.cancel();
    };
    bool is_done = false;
    {
      const Scheduler::Pause pause(session->context().scheduler());
      const Slice slice{&sequence, 5, 5};
      ASSERT_TRUE(pause.runner().prepare(slice));
      const auto done = pause.runner().run({&slice, 1}, Wanted::logits, {&ticket, 1});
      ASSERT_TRUE(done);
      is_done = *done;
    }
    device.on_operation = {};
    if (is_done) {
      ASSERT_GT(at, 20);
      break;
    }
    sequence.failed();
    sequence.truncate(22);
    known.push_back(tokens[22]);
    const auto logits = session->set_prompt(known);
    ASSERT_TRUE(logits);
    const auto fresh = test::make_session(*loaded_.model, {.n_ctx = kContext});
    ASSERT_TRUE(std::ranges::equal(*logits, *fresh->set_prompt(known)));
  }
}

// Answers of thousands of tokens in batches of 1 to 8, while others are at their prompts: those without
// drafts.
TEST_F(HybridDrafting, AnswersAreThoseWithoutDrafts) {
  load_exactly();
  const auto plain_context = *Context::create(*loaded_.model, {.n_ctx = kContext});
  int64_t n_drafted = 0, n_accepted = 0, n_tokens = 0;
  for (int n_seq = 1; n_seq <= 8; ++n_seq) {
    for (const bool has_model : {false, true}) {
      SessionOptions options = drafting(n_seq);
      if (!has_model) options.drafter = nullptr;
      options.n_outputs = 1;
      const auto context = *Context::create(*loaded_.model, options);
      std::vector<std::unique_ptr<Request>> requests;
      std::vector<std::vector<Token>> prompts;
      GenerateOptions terms;
      terms.ignore_eos = true;
      // Of three words only, so that much of what is looked up comes true.
      terms.sampling.logit_bias = {{65, 100.0f}, {66, 100.0f}, {67, 100.0f}};
      for (int i = 0; i < n_seq + 1; ++i) {  // one waits for a sequence
        prompts.push_back(test::random_tokens(5 + 40 * i, static_cast<unsigned>(10 * n_seq + i)));
        terms.sampling.temperature = i % 3 == 2 ? 0.7f : 0.0f;
        terms.max_tokens = 100 + 20 * i;
        terms.draft.is_required = has_model;
        terms.draft.most = 1 + (i * 5 + n_seq) % 31;
        auto request = Request::start(context, prompts.back(), terms);
        ASSERT_TRUE(request) << request.error().message;
        requests.push_back(*std::move(request));
      }
      context->scheduler().wait(
          [&] { return std::ranges::all_of(requests, [](const auto& r) { return r->has_ended(); }); });
      for (int i = 0; i < n_seq + 1; ++i) {
        const auto result = requests[static_cast<size_t>(i)]->result();
        ASSERT_TRUE(result) << result.error().message;
        terms.sampling.temperature = i % 3 == 2 ? 0.7f : 0.0f;
        terms.max_tokens = 100 + 20 * i;
        terms.draft = {.is_on = false};
        const auto session = *Session::create(plain_context);
        const auto expected = generate(*session, prompts[static_cast<size_t>(i)], terms);
        ASSERT_TRUE(expected);
        ASSERT_EQ(result->tokens, expected->tokens) << n_seq << " answers, number " << i;
        n_drafted += result->draft.n_drafted;
        n_accepted += result->draft.n_accepted;
        n_tokens += std::ssize(result->tokens);
      }
    }
  }
  EXPECT_GT(n_tokens, 10'000);
  EXPECT_GT(n_accepted, n_tokens / 4);
  EXPECT_GT(n_drafted - n_accepted, n_tokens / 4);
}

// Parts on several devices take tokens back each for itself.
TEST_F(HybridDrafting, SplitModelsDraftFromTheText) {
  load_exactly();
  const auto prompt = test::random_tokens(30, 5);
  GenerateOptions terms;
  terms.ignore_eos = true;
  terms.max_tokens = 150;
  terms.sampling.temperature = 0;
  terms.sampling.logit_bias = {{65, 100.0f}, {66, 100.0f}, {67, 100.0f}};
  terms.draft.is_on = false;
  const auto plain = generate(*test::make_session(*loaded_.model, {.n_ctx = kContext}), prompt, terms);
  ASSERT_TRUE(plain);
  terms.draft = {.is_required = true};
  for (int64_t n = 0; n <= 4; ++n) {
    const auto host = *make_cpu_device({.n_threads = 1, .deterministic = true});
    const auto device = *make_cpu_device({.n_threads = 2, .deterministic = true});
    const auto path = test::fixtures_root() / "text/models/qwen35.gguf";
    const auto model = TextModel::load(*GgufFile::open(path), Placement(*device, *host, 4, n));
    ASSERT_TRUE(model) << model.error().message;
    const auto session = test::make_session(**model, {.n_ctx = kContext, .looks_up = true});
    const auto drafted = generate(*session, prompt, terms);
    ASSERT_TRUE(drafted) << drafted.error().message;
    EXPECT_EQ(drafted->tokens, plain->tokens) << n;
    EXPECT_GT(drafted->draft.n_accepted, 20) << n;
  }
}

// What is kept for drafts is there where something drafts, and is counted.
TEST_F(HybridDrafting, MemoryIsTakenWhereSomethingDrafts) {
  load_exactly();
  const auto plain = *Context::create(*loaded_.model, {.n_ctx = kContext});
  EXPECT_EQ(plain->n_kept_inputs(), 0);
  EXPECT_EQ(plain->recurrent_bytes(), 2 * plain->state_bytes());  // one slot fills up recorded steps
  EXPECT_EQ(plain->draft_bytes(), 0u);
  const auto with = *Context::create(*loaded_.model, drafting(3));
  const HyperParameters& hp = loaded_.model->hyper_parameters();
  const RecurrentLayout layout = recurrent_layout(hp, 3, with->options().n_draft);
  EXPECT_EQ(with->state_bytes(), plain->state_bytes());
  EXPECT_EQ(with->n_kept_inputs(), 2 * with->options().n_draft + 1);
  EXPECT_EQ(with->recurrent_bytes(), 4 * (layout.bytes() + layout.kept_bytes()));
}

}  // namespace
}  // namespace parlance
