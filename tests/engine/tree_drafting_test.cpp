// A tree of drafted tokens is verified in one step, each node as if the tokens on its way were the text, to
// the bit; and whichever way is taken, nothing is left of the others.
#include <algorithm>
#include <array>
#include <random>

#include "engine/drafter.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "support/tiny_pair.h"

namespace parlance {
namespace {

constexpr int64_t kTreeContext = 256;

class TreeDrafting : public test::TinyPair {
 protected:
  void SetUp() override {
    target_ = load({.n_layer = 3});
    block_ = load_block_drafter(*target_);
    ASSERT_TRUE(target_ && block_);
  }

  SessionOptions drafting(KvPolicy cache = {}) const {
    SessionOptions options{
        .n_ctx = kTreeContext, .n_batch = 128, .cache = std::move(cache), .drafter = block_};
    options.n_seq = 4;  // whose pages branches may have
    return options;
  }

  // Any tree of random tokens, of which siblings differ; no longer and no wider than trees may be.
  static DraftPaths random_tree(std::mt19937& random, int64_t n_nodes, int64_t longest) {
    DraftTree tree;
    for (int tries = 0; tries < 200 && std::ssize(tree) < n_nodes; ++tries) {
      const int64_t parent = static_cast<int64_t>(random() % (tree.size() + 1)) - 1;
      const int64_t place = parent < 0 ? 0 : tree[static_cast<size_t>(parent)].place + 1;
      const auto token = static_cast<int32_t>(random() % 250);
      if (place >= longest) continue;
      const bool is_there = std::ranges::any_of(
          tree, [&](const DraftNode& node) { return node.parent == parent && node.token == token; });
      if (is_there) continue;
      tree.push_back({parent, place, token, 0});
      if (std::ssize(paths_of(tree).branches) > kMostTreeBranches) tree.pop_back();
    }
    return paths_of(tree);
  }

  // One step of a text's last token and a tree behind it: the logits of each row.
  static std::vector<float> verify(Session& session, const DraftPaths& paths) {
    Sequence& sequence = session.sequence();
    EXPECT_TRUE(sequence.append_draft(paths.trunk));
    sequence.append_branches(paths.branches);
    const Scheduler::Pause pause(session.context().scheduler());
    Slice slice{&sequence, sequence.n_missing(), 1 + std::ssize(paths.trunk)};
    EXPECT_TRUE(pause.runner().prepare(slice));
    EXPECT_TRUE(sequence.make_room_for_branches());
    slice.n_branch_tokens = sequence.n_branch_tokens();
    slice.n_outputs += slice.n_branch_tokens;
    const auto done = pause.runner().run({&slice, 1}, parlance::Wanted::logits, {});
    EXPECT_TRUE(done && *done);
    sequence.computed(slice.n_tokens);
    return {pause.runner().outputs().begin(), pause.runner().outputs().end()};
  }

  // The first n tokens of a way.
  static std::vector<Token> way_to(const DraftPaths& paths, int64_t branch, int64_t n) {
    if (branch < 0) return {paths.trunk.begin(), paths.trunk.begin() + n};
    const DraftBranch& own = paths.branches[static_cast<size_t>(branch)];
    std::vector<Token> way = way_to(paths, own.parent, own.place);
    way.insert(way.end(), own.tokens.begin(), own.tokens.begin() + (n - own.place));
    return way;
  }

  // All pages that nobody but the tree of what is known holds can be had.
  static void expect_no_page_is_held(Context& context) {
    const PageCounts all{context.pools()[PageKind::main].n_pages(),
                         context.pools()[PageKind::exact].n_pages()};
    (void)context.tree().evict(all);
    PageCounts filler;
    filler[context.layout().page_rules().written] = 1;  // of recorded steps
    EXPECT_EQ(context.pools()[PageKind::main].n_free(), all.main - filler.main);
    EXPECT_EQ(context.pools()[PageKind::exact].n_free(), all.exact - filler.exact);
  }

  std::shared_ptr<const TextModel> target_;
  std::shared_ptr<const Dflash> block_;
};

// Plain formats, a window of exact positions before compressed ones, and rows of an odd number of bytes.
std::vector<KvPolicy> policies() {
  std::vector<KvPolicy> all;
  for (const KvFormat format : {KvFormat::f32, KvFormat::f16, KvFormat::bf16, KvFormat::q8_0, KvFormat::q4_0})
    all.push_back({.k = {.format = format}, .v = {.format = format}});
  all.push_back(
      {.k = {.format = KvFormat::q8_0}, .v = {.format = KvFormat::q4_0}, .n_sink = 64, .n_recent = 64});
  return all;
}

// Trees that begin at every position of a page, of every size; some way of each is taken, to its end or not,
// and the next tree grows there.
TEST_F(TreeDrafting, EveryNodeIsComputedAsTheTextOnItsWay) {
  std::mt19937 random(1);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
  int64_t n_branches = 0;
  const auto all = policies();
  for (size_t which = 0; which < all.size(); ++which) {
    if (!test::knows(tested_device(), all[which])) continue;
    // Pages have 64 positions; the first format's trees begin at each of them.
    for (int64_t n_prompt = 1; n_prompt < 140; n_prompt += which == 0 ? 1 : 9) {
      SCOPED_TRACE(testing::Message() << "format " << which << ", prompt of " << n_prompt);
      const auto context = make_context(*target_, drafting(all[which]));
      const auto reference_context =
          make_context(*target_, {.n_ctx = kTreeContext, .n_batch = 128, .cache = all[which]});
      {
        auto session = *Session::create(context), reference = *Session::create(reference_context);
        const std::vector<Token> prompt = text(n_prompt, static_cast<unsigned>(n_prompt));
        ASSERT_TRUE(session->set_prompt(prompt) && reference->set_prompt(prompt));
        for (int round = 0; round < 3; ++round) {
          const auto last = static_cast<Token>(below(250));
          ASSERT_TRUE(session->sequence().append({&last, 1}));
          const DraftPaths paths = random_tree(random, 1 + below(kMostTreeNodes), 1 + below(9));
          n_branches += std::ssize(paths.branches);
          const std::vector<float> rows = verify(*session, paths);
          const size_t n_logits = rows.size() / (1 + paths.trunk.size() +
                                                 static_cast<size_t>(session->sequence().n_branch_tokens()));
          // What the reference says behind the last token, and then on each way in turn.
          const int64_t n_before = std::ssize(reference->tokens());
          const auto expect_row = [&](size_t row, std::span<const float> logits) {
            ASSERT_TRUE(std::ranges::equal(std::span(rows).subspan(row * n_logits, n_logits), logits))
                << "row " << row;
          };
          const auto first = reference->append({&last, 1});
          ASSERT_TRUE(first);
          ASSERT_NO_FATAL_FAILURE(expect_row(0, *first));
          const auto walk = [&](int64_t branch, int64_t from, int64_t end, size_t row) {
            const std::vector<Token> way = way_to(paths, branch, end);
            reference->truncate(n_before + 1);
            if (from > 0) {
              ASSERT_TRUE(reference->append(std::span(way).first(static_cast<size_t>(from))));
            }
            for (int64_t i = from; i < end; ++i) {
              const auto logits = reference->append({&way[static_cast<size_t>(i)], 1});
              ASSERT_TRUE(logits);
              ASSERT_NO_FATAL_FAILURE(expect_row(row++, *logits));
            }
          };
          ASSERT_NO_FATAL_FAILURE(walk(-1, 0, std::ssize(paths.trunk), 1));
          size_t row = 1 + paths.trunk.size();
          for (int64_t b = 0; b < std::ssize(paths.branches); ++b) {
            const DraftBranch& way = paths.branches[static_cast<size_t>(b)];
            ASSERT_NO_FATAL_FAILURE(walk(b, way.place, way.end(), row));
            row += way.tokens.size();
          }
          // One way is taken.
          const int64_t branch = below(std::ssize(paths.branches) + 1) - 1;
          const int64_t end =
              branch < 0 ? std::ssize(paths.trunk) : paths.branches[static_cast<size_t>(branch)].end();
          const int64_t begin = branch < 0 ? 0 : paths.branches[static_cast<size_t>(branch)].place + 1;
          const int64_t n_taken = begin + below(end - begin + 1);
          const std::vector<Token> taken = way_to(paths, branch, n_taken);
          const std::vector<Token> before = reference->tokens();
          Sequence& sequence = session->sequence();
          if (branch >= 0) sequence.take_branch(branch);
          sequence.truncate(n_before + 1 + n_taken);
          ASSERT_EQ(sequence.n_computed(), n_before + 1 + n_taken);
          ASSERT_TRUE(sequence.branches().empty());
          std::vector<Token> so_far(before.begin(), before.begin() + n_before);
          so_far.push_back(last);
          so_far.insert(so_far.end(), taken.begin(), taken.end());
          ASSERT_EQ(session->tokens(), so_far);
          reference->truncate(n_before);
          for (size_t i = static_cast<size_t>(n_before); i < so_far.size(); ++i)
            ASSERT_TRUE(reference->append({&so_far[i], 1}));
        }
        const Token last = 7;
        const auto got = session->append({&last, 1}), want = reference->append({&last, 1});
        ASSERT_TRUE(got && want);
        ASSERT_TRUE(std::ranges::equal(*got, *want));
      }
      expect_no_page_is_held(*context);
    }
  }
  EXPECT_GT(n_branches, 1000);
}

// What a drafter hears of a way that is taken is what it hears of the text.
TEST_F(TreeDrafting, DraftersKnowTheWayThatWasTaken) {
  std::mt19937 random(2);
  const auto drafted = [&](Session& session) {
    Sequence& sequence = session.sequence();
    const Token last = 9;
    EXPECT_TRUE(sequence.append({&last, 1}));
    const Scheduler::Pause pause(session.context().scheduler());
    EXPECT_TRUE(pause.runner().prepare({&sequence, 6, 0}));
    const Runner::Block block{&sequence, 6, 5};
    EXPECT_TRUE(pause.runner().draft({&block, 1}, parlance::Wanted::logits, {}));
    sequence.truncate(sequence.n_tokens() - 1);
    return std::vector<float>(pause.runner().outputs().begin(), pause.runner().outputs().end());
  };
  for (int64_t n_prompt = 50; n_prompt <= 70; ++n_prompt) {
    const auto session = test::make_session(*target_, drafting());
    ASSERT_TRUE(session->set_prompt(text(n_prompt, 3)));
    const Token last = 8;
    ASSERT_TRUE(session->sequence().append({&last, 1}));
    DraftPaths paths;
    while (paths.branches.empty()) paths = random_tree(random, 20, 7);
    verify(*session, paths);
    const int64_t branch = static_cast<int64_t>(random() % paths.branches.size());
    session->sequence().take_branch(branch);
    const auto fresh = test::make_session(*target_, drafting());
    std::vector<Token> whole = session->tokens();
    session->truncate(std::ssize(whole));
    ASSERT_TRUE(fresh->set_prompt(whole));
    EXPECT_EQ(drafted(*session), drafted(*fresh)) << n_prompt;
  }
}

// What is remembered of an answer with trees, kept in a file and forked is the text and nothing else.
TEST_F(TreeDrafting, WhatIsRememberedIsTheWayThatWasTaken) {
  std::mt19937 random(4);
  const auto context = make_context(*target_, drafting());
  for (int round = 0; round < 12; ++round) {
    auto session = *Session::create(context);
    ASSERT_TRUE(session->set_prompt(text(40 + 5 * round, static_cast<unsigned>(round))));
    const Token last = 8;
    ASSERT_TRUE(session->sequence().append({&last, 1}));
    DraftPaths paths;
    while (paths.branches.empty()) paths = random_tree(random, 25, 9);
    verify(*session, paths);
    session->sequence().take_branch(static_cast<int64_t>(random() % paths.branches.size()));
    session->truncate(std::ssize(session->tokens()));
    session->sequence().remember();
    const std::vector<Token> whole = session->tokens();
    ASSERT_TRUE(session->save(folder_.path() / "tree.kv"));
    const auto restored = test::make_session(*target_, drafting());
    ASSERT_TRUE(restored->restore(folder_.path() / "tree.kv", whole));
    const auto fork = session->fork();
    ASSERT_TRUE(fork);
    const auto beside = *Session::create(context);
    std::vector<Token> longer = whole;
    longer.push_back(5);
    const auto fresh = test::make_session(*target_, drafting());
    ASSERT_TRUE(fresh->set_prompt(whole));
    const auto want = fresh->append({&longer.back(), 1});
    ASSERT_TRUE(want);
    const std::vector<float> expected(want->begin(), want->end());
    const auto known = beside->set_prompt(longer);
    ASSERT_TRUE(known);
    EXPECT_EQ(beside->sequence().n_reused(), std::ssize(whole));
    EXPECT_TRUE(std::ranges::equal(*known, expected)) << round;
    for (Session* const one : {session.get(), restored.get(), fork->get()}) {
      const auto logits = one->append({&longer.back(), 1});
      ASSERT_TRUE(logits);
      EXPECT_TRUE(std::ranges::equal(*logits, expected)) << round;
    }
  }
}

// A verification that is cancelled before any of its operations leaves the text before it.
TEST_F(TreeDrafting, CancelledVerificationsLeaveNothing) {
  if (&tested_device() != &device_) GTEST_SKIP() << "only the CPU's operations are watched";
  std::mt19937 random(5);
  DraftPaths paths;
  while (paths.branches.size() < 3) paths = random_tree(random, 20, 6);
  const std::vector<Token> prompt = text(60, 5);
  const auto fresh = test::make_session(*target_, {.n_ctx = kTreeContext});
  ASSERT_TRUE(fresh->set_prompt(prompt));
  const Token last = 8;
  const auto want = fresh->append({&last, 1});
  ASSERT_TRUE(want);
  for (int at = 0;; ++at) {
    SCOPED_TRACE(testing::Message() << "before operation " << at);
    const auto context = make_context(*target_, drafting());
    bool is_done = false;
    {
      auto session = *Session::create(context);
      ASSERT_TRUE(session->set_prompt(prompt));
      Sequence& sequence = session->sequence();
      ASSERT_TRUE(sequence.append({&last, 1}) && sequence.append_draft(paths.trunk));
      sequence.append_branches(paths.branches);
      const CancellationSource source;
      const Cancellation ticket = source.ticket();
      int n = 0;
      device_.on_operation = [&] {
        if (n++ == at) source.cancel();
      };
      {
        const Scheduler::Pause pause(context->scheduler());
        Slice slice{&sequence, sequence.n_missing(), 1};
        ASSERT_TRUE(pause.runner().prepare(slice) && sequence.make_room_for_branches());
        slice.n_branch_tokens = sequence.n_branch_tokens();
        slice.n_outputs += slice.n_branch_tokens;
        const auto done = pause.runner().run({&slice, 1}, parlance::Wanted::logits, {&ticket, 1});
        ASSERT_TRUE(done);
        is_done = *done;
      }
      device_.on_operation = {};
      if (!is_done) {
        sequence.failed();
        ASSERT_TRUE(sequence.branches().empty());
        sequence.truncate(std::ssize(prompt));
        ASSERT_EQ(sequence.n_computed(), std::ssize(prompt));
        const auto logits = session->append({&last, 1});
        ASSERT_TRUE(logits);
        ASSERT_TRUE(std::ranges::equal(*logits, *want));
      }
    }
    expect_no_page_is_held(*context);
    if (is_done) {
      ASSERT_GT(at, 30);  // copies are operations too
      break;
    }
  }
}

// Where pages or rows are too few for a tree, its trunk is verified, and the rest of it is given up.
TEST_F(TreeDrafting, WithoutMemoryForBranchesDraftsAreChains) {
  GenerateOptions terms = always(5, 40);
  terms.draft.tree = 20;
  const std::vector<Token> prompt = text(10, 6);
  const std::vector<Token> expected = plain(*target_, prompt, terms, 64).tokens;
  const auto drafted_of = [&](const SessionOptions& options) {
    const auto context = make_context(*target_, options);
    GenerateResult result;
    {
      const auto session = *Session::create(context);
      result = answer(*session, prompt, terms);
    }
    EXPECT_EQ(result.tokens, expected);
    expect_no_page_is_held(*context);
    return static_cast<double>(result.draft.n_drafted) / static_cast<double>(result.draft.n_verified);
  };
  const SessionOptions ample{.n_ctx = 64, .drafter = block_};
  SessionOptions roomy = ample;
  roomy.n_ctx = 512;
  EXPECT_GT(drafted_of(roomy), 15);
  SessionOptions narrow = ample;
  narrow.n_cache = 1;  // pages for the text and one more
  EXPECT_LE(drafted_of(narrow), 5);
  SessionOptions few_rows = roomy;
  few_rows.n_batch = 8;
  EXPECT_LE(drafted_of(few_rows), 5);
  SessionOptions without = roomy;
  without.n_tree = 0;
  EXPECT_LE(drafted_of(without), 5);
}

// Answers with trees in batches of 1 to 8, beside prompts and drafts of other kinds, in little memory: those
// without drafts.
TEST_F(TreeDrafting, AnswersAreThoseWithoutDrafts) {
  std::mt19937 random(7);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
  double most_a_verification = 0;
  for (int n_seq = 1; n_seq <= 8; ++n_seq) {
    for (const int64_t n_cache : {0, 200}) {
      SessionOptions options{.n_ctx = 160, .n_batch = 48, .looks_up = n_seq % 3 == 0, .drafter = block_};
      options.n_seq = n_seq;
      options.n_cache = n_cache;
      const auto context = make_context(*target_, options);
      std::vector<std::unique_ptr<Request>> requests;
      std::vector<std::vector<Token>> prompts;
      std::vector<GenerateOptions> terms;
      for (int i = 0; i <= n_seq; ++i) {  // one waits for a sequence
        prompts.push_back(text(1 + below(90), static_cast<unsigned>(below(4))));
        terms.push_back(always(1 + below(5), 20 + below(40)));
        terms.back().draft.tree = std::array{25, 3, -1, 12}[static_cast<size_t>(i % 4)];
        terms.back().sampling.temperature = i % 3 == 1 ? 1.0f : 0.0f;
        terms.back().sampling.seed = static_cast<uint64_t>(i);
        if (i % 5 == 4) terms.back().sampling.presence_penalty = 0.3f;
        requests.push_back(*Request::start(context, prompts.back(), terms.back()));
      }
      context->scheduler().wait(
          [&] { return std::ranges::all_of(requests, [](const auto& r) { return r->has_ended(); }); });
      for (size_t i = 0; i < requests.size(); ++i) {
        const auto result = requests[i]->result();
        ASSERT_TRUE(result) << result.error().message;
        ASSERT_EQ(result->tokens, plain(*target_, prompts[i], terms[i], 160).tokens)
            << n_seq << " answers, number " << i;
        most_a_verification = std::max(
            most_a_verification, static_cast<double>(result->draft.n_drafted) /
                                     static_cast<double>(std::max<int64_t>(result->draft.n_verified, 1)));
      }
      requests.clear();
      expect_no_page_is_held(*context);
    }
  }
  EXPECT_GT(most_a_verification, 12);  // a tree in nearly every step
}

TEST_F(TreeDrafting, CancelledAnywhere) {
  const auto prompt = text(60, 5);
  GenerateOptions options = always(4, 8);
  options.draft.tree = 12;
  const std::vector<Token> whole = plain(*target_, prompt, options, 128).tokens;
  const SessionOptions kind{.n_ctx = 128, .drafter = block_};
  cancel_before_each_operation(
      *target_, kind, prompt, options, [&](const GenerateResult& said, Session& session) {
        ASSERT_LE(said.tokens.size(), whole.size());
        ASSERT_TRUE(std::equal(said.tokens.begin(), said.tokens.end(), whole.begin()));
        ASSERT_LE(session.tokens().size(), prompt.size() + said.tokens.size());
        ASSERT_EQ(answer(session, prompt, options).tokens, whole);
      });
}

// Drafts the answers that it knows, but in every third place another token first.
class HalfRightDrafter final : public Drafter {
 public:
  explicit HalfRightDrafter(const std::vector<std::vector<Token>>& texts) : texts_(texts) {}
  std::string_view name() const override { return "half right"; }
  Result<void> draft(std::span<DraftJob* const> jobs) override {
    for (DraftJob* const job : jobs) {
      const std::vector<Token>& known = job->sequence->tokens();
      for (const std::vector<Token>& text : texts_) {
        if (text.size() < known.size() || !std::equal(known.begin(), known.end(), text.begin())) continue;
        for (size_t i = known.size(); i < text.size() && job->draft.n_tokens() < job->most; ++i) {
          const Token wrong = (text[i] + 1) % 250;
          const bool is_first = i % 3 != 1;
          job->draft.add(is_first ? text[i] : wrong, 0.5f);
          job->draft.others.push_back({{is_first ? wrong : text[i], 0.45f}});
        }
      }
    }
    return {};
  }

 private:
  const std::vector<std::vector<Token>>& texts_;
};

// With a token that ends it, or at the end of the context, which may lie anywhere in a draft or one of its
// branches; two answers in each step.
TEST_F(TreeDrafting, AnswersEndAnywhereInTheirTrees) {
  const std::vector<std::vector<Token>> prompts = {text(57, 8), text(30, 9)};
  std::vector<std::vector<Token>> texts;
  for (const auto& prompt : prompts) {
    texts.push_back(prompt);
    const auto said = plain(*target_, prompt, always(5, 60)).tokens;
    texts.back().insert(texts.back().end(), said.begin(), said.end());
  }
  int64_t n_accepted = 0, n_verified = 0;
  for (int64_t end = 0; end < 30; ++end) {
    for (const bool is_context : {false, true}) {
      SCOPED_TRACE(testing::Message() << end << (is_context ? ", context" : ", token"));
      SessionOptions options = drafting();
      options.n_ctx = is_context ? 59 + end : kTreeContext;
      options.replaces_drafter = [&](std::unique_ptr<Drafter>) {
        return std::make_unique<HalfRightDrafter>(texts);
      };
      const auto context = make_context(*target_, options);
      std::vector<std::unique_ptr<Session>> sessions;
      std::vector<std::unique_ptr<Request>> requests;
      std::vector<GenerateOptions> terms;
      for (size_t i = 0; i < prompts.size(); ++i) {
        terms.push_back(always(5, is_context ? -1 : 40));
        terms.back().draft.tree = 20;
        const Token* const said = texts[i].data() + prompts[i].size();
        if (!is_context) terms.back().stop_tokens = {said[end]};
        terms.back().draft.is_required =
            is_context ? end > 0 : said[end] != said[0];  // there is a second step
        sessions.push_back(*Session::create(context));
        requests.push_back(*Request::start(*sessions.back(), prompts[i], terms.back()));
      }
      context->scheduler().wait(
          [&] { return std::ranges::all_of(requests, [](const auto& r) { return r->has_ended(); }); });
      for (size_t i = 0; i < prompts.size(); ++i) {
        GenerateOptions without = terms[i];
        without.draft = {.is_on = false};
        const auto session = test::make_session(*target_, {.n_ctx = options.n_ctx});
        const GenerateResult want = answer(*session, prompts[i], without);
        const auto got = requests[i]->result();
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->tokens, want.tokens);
        EXPECT_EQ(got->text, want.text);
        EXPECT_EQ(got->finish_reason, want.finish_reason);
        EXPECT_EQ(got->has_end_token, want.has_end_token);
        EXPECT_EQ(sessions[i]->tokens(), session->tokens());
        n_accepted += got->draft.n_accepted;
        n_verified += got->draft.n_verified;
        const Token more = 5;
        if (std::ssize(session->tokens()) < options.n_ctx) {
          const auto next = sessions[i]->append({&more, 1}), expected = session->append({&more, 1});
          ASSERT_TRUE(next && expected);
          EXPECT_TRUE(std::ranges::equal(*next, *expected));
        }
      }
      requests.clear();
      sessions.clear();
      expect_no_page_is_held(*context);
    }
  }
  EXPECT_GT(n_accepted, 2 * n_verified) << "more than can be right in trunks";
}

TEST_F(TreeDrafting, SizesOutOfRangeAreRefused) {
  SessionOptions options = drafting();
  options.n_tree = kMostTreeNodes + 1;
  EXPECT_EQ(Context::create(*target_, options).error().code, ErrorCode::invalid_argument);
  GenerateOptions terms = always(4);
  terms.draft.tree = -2;
  EXPECT_EQ(generate(*test::make_session(*target_, drafting()), text(5, 1), terms).error().code,
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace parlance
