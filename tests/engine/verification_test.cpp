// What becomes of drafts: every outcome that there is, at every place of a draft and of an answer.
#include <algorithm>
#include <numeric>

#include "base/parameter.h"
#include "engine/scheduler.h"
#include "support/tiny_pair.h"

namespace parlance {
namespace {

constexpr Token kEnd = 257;

const test::TinyDrafter kBlockDrafter{.n_embd = 320, .target_layers = {0}};

// Two models that say after each token what their tables say.
class Verifying : public test::TinyPair {
 protected:
  using Table = std::vector<Token>;

  // Each token is followed by the next.
  static Table counting() {
    Table next(test::kTinyVocabulary);
    for (size_t token = 0; token < next.size(); ++token) next[token] = static_cast<Token>((token + 1) % 250);
    return next;
  }

  std::shared_ptr<const TextModel> load_table(const Table& next) {
    return load({.n_embd = 320, .n_ff = 32, .next = next});
  }

  struct Outcome {
    GenerateResult result;
    std::vector<AnswerPiece> pieces;
  };

  static Outcome ask(Session& session, const std::vector<Token>& prompt, const GenerateOptions& options) {
    Outcome outcome;
    auto request = Request::start(session, prompt, options);
    EXPECT_TRUE(request);
    while (auto piece = (*request)->next()) outcome.pieces.push_back(*std::move(piece));
    auto result = (*request)->result();
    EXPECT_TRUE(result) << result.error().message;
    if (result) outcome.result = *std::move(result);
    return outcome;
  }

  // Of each piece, by itself and after those before.
  static void expect_invariants(const Outcome& outcome, int64_t most) {
    int64_t n_before = 0, n_drafted = 0, n_accepted = 0, n_verified = 0;
    std::vector<Token> said;
    for (const AnswerPiece& piece : outcome.pieces) {
      n_before = std::ssize(said);
      said.insert(said.end(), piece.tokens.begin(), piece.tokens.end());
      if (!piece.verification) continue;
      const Verification& v = *piece.verification;
      const int64_t n = std::ssize(v.accepted);
      const bool has_end = n > 0 && v.accepted.back() == kEnd && std::ssize(piece.tokens) < n;
      const bool is_cut = std::ssize(piece.tokens) < n || (outcome.result.tokens.size() == said.size());
      if (v.rejected_from < 0) {
        EXPECT_EQ(v.rejected_to, -1);
        EXPECT_TRUE(v.corrected.empty());
        EXPECT_LE(n, most);
        EXPECT_TRUE(is_cut || std::ssize(piece.tokens) == n + 1);  // and the model's own
        n_drafted += n;
      } else {
        EXPECT_EQ(v.rejected_from, n_before + n);
        EXPECT_GT(v.rejected_to, v.rejected_from);
        EXPECT_LE(v.rejected_to - n_before, most);
        EXPECT_LE(std::ssize(v.corrected), 1);
        EXPECT_TRUE(is_cut || v.corrected == std::vector<Token>{piece.tokens.back()});
        n_drafted += v.rejected_to - n_before;
      }
      const int64_t n_same = n - (has_end ? 1 : 0);
      ASSERT_LE(n_same, std::ssize(piece.tokens));
      EXPECT_TRUE(std::equal(v.accepted.begin(), v.accepted.begin() + n_same, piece.tokens.begin()));
      n_accepted += n;
      ++n_verified;
    }
    EXPECT_EQ(said, outcome.result.tokens);
    EXPECT_EQ(n_drafted, outcome.result.draft.n_drafted);
    EXPECT_EQ(n_accepted, outcome.result.draft.n_accepted);
    EXPECT_EQ(n_verified, outcome.result.draft.n_verified);
    EXPECT_EQ(n_drafted - n_accepted, outcome.result.draft.n_rejected());
  }
};

// The answer to "10" is 11 12 13 ...; the drafter says other things at one place.
TEST_F(Verifying, EveryCaseOfADraft) {
  struct Case {
    const char* name;
    Token wrong_after, says;  // of the drafter; -1: nowhere
    Token ends_after;         // of both; -1: nowhere
    int64_t most;
    std::vector<Token> accepted;
    int64_t from, to;
    std::vector<Token> corrected;
    std::vector<Token> tokens;  // of the piece
  };
  const Case cases[] = {
      {"the tail is wrong", 13, 99, -1, 4, {12, 13}, 3, 5, {14}, {12, 13, 14}},
      {"all is right", -1, 0, -1, 4, {12, 13, 14, 15}, -1, -1, {}, {12, 13, 14, 15, 16}},
      {"the first is wrong", 11, 99, -1, 4, {}, 1, 5, {12}, {12}},
      {"the last is wrong", 14, 99, -1, 4, {12, 13, 14}, 4, 5, {15}, {12, 13, 14, 15}},
      {"one, and wrong", 11, 99, -1, 1, {}, 1, 2, {12}, {12}},
      {"one, and right", -1, 0, -1, 1, {12}, -1, -1, {}, {12, 13}},
      {"the end is drafted last", -1, 0, 12, 2, {12, kEnd}, -1, -1, {}, {12}},
      {"the end is wrong", 12, kEnd, -1, 4, {12}, 2, 3, {13}, {12, 13}},
      {"the end comes in place of a token", 12, 99, 12, 4, {12}, 2, 5, {kEnd}, {12}},
      {"the end comes at once", 11, 99, 11, 3, {}, 1, 4, {kEnd}, {}},
      {"the end comes behind the draft", -1, 0, 13, 2, {12, 13}, -1, -1, {}, {12, 13}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Table target = counting();
    if (c.ends_after >= 0) target[static_cast<size_t>(c.ends_after)] = kEnd;
    Table drafter = target;
    if (c.wrong_after >= 0) drafter[static_cast<size_t>(c.wrong_after)] = c.says;
    const auto model = load_table(target), drafts = load_table(drafter);
    const auto session = test::make_session(*model, {.n_ctx = 64, .draft_model = drafts});
    GenerateOptions options = always(c.most, 30);
    options.ignore_eos = false;
    const Outcome outcome = ask(*session, {10}, options);
    expect_invariants(outcome, c.most);
    ASSERT_GE(outcome.pieces.size(), 2u);
    EXPECT_EQ(outcome.pieces[0].tokens, std::vector<Token>{11});
    EXPECT_FALSE(outcome.pieces[0].verification);  // the first token is nobody's draft
    const AnswerPiece& piece = outcome.pieces[1];
    ASSERT_TRUE(piece.verification);
    EXPECT_EQ(piece.verification->accepted, c.accepted);
    EXPECT_EQ(piece.verification->rejected_from, c.from);
    EXPECT_EQ(piece.verification->rejected_to, c.to);
    EXPECT_EQ(piece.verification->corrected, c.corrected);
    EXPECT_EQ(piece.tokens, c.tokens);
  }
}

// The text itself is the drafter here, which does not stop at an end-of-turn token; what it has behind one is
// not verified.
TEST_F(Verifying, NothingBehindTheEndIsVerified) {
  Table target = counting();
  target[13] = kEnd;
  const auto model = load_table(target);
  const auto session = test::make_session(*model, {.n_ctx = 64, .looks_up = true});
  GenerateOptions options = always(4);
  options.ignore_eos = false;
  const Outcome outcome = ask(*session, {11, 12, 13, kEnd, 44, 45, 10, 11}, options);
  expect_invariants(outcome, 4);
  EXPECT_EQ(outcome.result.tokens, (std::vector<Token>{12, 13}));
  EXPECT_EQ(outcome.result.finish_reason, FinishReason::stop);
  const auto piece =
      std::ranges::find_if(outcome.pieces, [](const AnswerPiece& p) { return p.verification.has_value(); });
  ASSERT_NE(piece, outcome.pieces.end());
  EXPECT_EQ(piece->verification->accepted, (std::vector<Token>{13, kEnd}));
  EXPECT_EQ(piece->verification->rejected_from, -1);
  EXPECT_EQ(piece->verification->rejected_to, -1);
  EXPECT_TRUE(piece->verification->corrected.empty());
}

// Drafts that are right, wrong at one place or at several, of any length, up to any end of the answer.
TEST_F(Verifying, InvariantsHoldForAnyDraft) {
  std::mt19937 random(5);
  for (int round = 0; round < 15; ++round) {
    Table target = counting();
    for (Token& next : target) {
      if (random() % 40 == 0) next = kEnd;
    }
    Table drafter = target;
    for (Token& next : drafter) {
      if (random() % 6 == 0) next = static_cast<Token>(random() % 259);
    }
    const auto model = load_table(target), drafts = load_table(drafter);
    // The text, a model, both, a block drafter (whose weights are random), all together.
    SessionOptions drafters{.n_ctx = 64, .looks_up = round % 5 != 1 && round % 5 != 3};
    if (round % 5 != 0 && round % 5 != 3) drafters.draft_model = drafts;
    if (round % 5 >= 3) drafters.drafter = load_block_drafter(*model, kBlockDrafter);
    const auto session = test::make_session(*model, drafters);
    ASSERT_TRUE(session);
    DraftCounts all;
    for (const int64_t most : {1, 2, 5, 31}) {
      for (int64_t n = 1; n <= 40; n += 3) {
        GenerateOptions options = always(most, n);
        options.ignore_eos = n % 2 == 0;
        // Where it is not, drafts may seem not to pay; a text may not repeat itself.
        options.draft.is_required = options.ignore_eos && n > 20 && round % 5 != 0;
        const std::vector<Token> prompt = {static_cast<Token>(random() % 250)};
        const Outcome outcome = ask(*session, prompt, options);
        expect_invariants(outcome, most);
        EXPECT_EQ(outcome.result.tokens, plain(*model, prompt, options, 64).tokens);
        add(all, outcome.result.draft);
      }
    }
    if (round % 5 != 0) {
      EXPECT_GT(all.n_verified, 0) << round;
    }
  }
}

// What changes the model's choice, at each token of an answer in turn, whether its place in a draft is the
// first or the last; the drafter knows of it or not.
TEST_F(Verifying, StopsBiasesAndPenaltiesAtEveryPlace) {
  const auto model = load({.n_layer = 2}), drafts = load({.n_layer = 2, .unlike = 0.03f});
  const auto session = test::make_session(*model, {.n_ctx = 128, .looks_up = true, .draft_model = drafts});
  const auto prompt = text(12, 3);
  const GenerateOptions free = always(5, 24);
  const GenerateResult whole = plain(*model, prompt, free);
  ASSERT_EQ(whole.tokens.size(), 24u);
  const Tokenizer& tokenizer = model->tokenizer();
  const auto expect_same = [&](const GenerateOptions& options, const char* what, size_t at) {
    for (const DraftRule rule : {DraftRule::exact, DraftRule::sampling}) {
      GenerateOptions drafted = options;
      drafted.draft.rule = rule;
      drafted.draft.is_required = false;
      const GenerateResult expected = plain(*model, prompt, options), got = answer(*session, prompt, drafted);
      EXPECT_EQ(got.tokens, expected.tokens) << what << " at " << at;
      EXPECT_EQ(got.text, expected.text) << what << " at " << at;
      EXPECT_EQ(got.finish_reason, expected.finish_reason) << what << " at " << at;
    }
  };
  for (size_t at = 0; at < whole.tokens.size(); ++at) {
    const Token token = whole.tokens[at];
    GenerateOptions options = free;
    options.stop = {std::string(tokenizer.piece(token))};
    expect_same(options, "a stop text", at);
    if (at + 1 < whole.tokens.size()) {
      options.stop = {std::string(tokenizer.piece(token)) +
                      std::string(tokenizer.piece(whole.tokens[at + 1]))};
      expect_same(options, "a stop text of two tokens", at);
    }
    options = free;
    options.sampling.logit_bias = {{token, -INFINITY}};
    expect_same(options, "a forbidden token", at);
    options.sampling.logit_bias = {{token, 3.0f}};
    expect_same(options, "a likelier token", at);
    options = free;
    options.sampling.presence_penalty = 4;
    options.sampling.penalty_last_n = static_cast<int>(at) + 1;
    expect_same(options, "a penalty that looks back so far", at);
    options.sampling.presence_penalty = 0;
    options.sampling.frequency_penalty = 2;
    options.sampling.repetition_penalty = 1.5f;
    options.sampling.temperature = 0;
    expect_same(options, "other penalties that look back so far", at);
    options.max_tokens = static_cast<int64_t>(at) + 1;
    expect_same(options, "an end", at);
  }
}

// At a temperature the exact rule gives the same answer too, whatever shapes the choice.
TEST_F(Verifying, WarmAnswersWithEverythingAtOnce) {
  const auto model = load({.n_layer = 2}), drafts = load({.n_layer = 2, .unlike = 0.03f});
  const auto session = test::make_session(*model, {.n_ctx = 128, .looks_up = true, .draft_model = drafts});
  for (uint64_t seed = 0; seed < 40; ++seed) {
    GenerateOptions options = always(1 + static_cast<int64_t>(seed % 9), 30);
    options.draft.is_required = false;
    options.sampling = {.temperature = 0.5f + 0.1f * static_cast<float>(seed % 7),
                        .top_k = static_cast<int>(seed % 3) * 20,
                        .presence_penalty = seed % 2 == 0 ? 0.0f : 1.5f,
                        .penalty_last_n = static_cast<int>(seed % 5) * 7,
                        .seed = seed};
    const auto prompt = text(10, static_cast<unsigned>(seed));
    EXPECT_EQ(answer(*session, prompt, options).tokens, plain(*model, prompt, options).tokens) << seed;
  }
}

// By the sampling rule no clock is asked, and what a text promises decides alone.
TEST_F(Verifying, DrawnAnswersLeaveOutWhatTheTextIsUndecidedOf) {
  const auto model = load_table(counting());
  const auto session = test::make_session(*model, {.n_ctx = 64, .looks_up = true});
  GenerateOptions options = always(4, 4);
  options.sampling.temperature = 0.05f;
  options.draft.rule = DraftRule::sampling;
  const auto n_drafted = [&](const std::vector<Token>& prompt, bool is_required) {
    options.draft.is_required = is_required;
    const GenerateResult result = answer(*session, prompt, options);
    EXPECT_EQ(result.tokens, (std::vector<Token>{12, 13, 14, 15}));
    return result.draft.n_drafted;
  };
  EXPECT_GT(n_drafted({12, 13, 14, 15, 11}, false), 0);
  EXPECT_EQ(n_drafted({12, 50, 12, 60, 12, 70, 11}, false), 0);  // one of three
  EXPECT_GT(n_drafted({12, 50, 12, 60, 12, 70, 11}, true), 0);
}

// What a model and the text propose does not depend on where the layers lie; what reads the layers does.
TEST_F(Verifying, ModelsOnTwoDevicesHaveDraftersToo) {
  const auto path = folder_.path() / "split.gguf";
  test::write_tiny_model(path, {.n_layer = 3});
  const auto whole = load(path), drafts = load({.n_layer = 3, .unlike = 0.03f});
  const auto prompt = text(12, 3);
  const GenerateOptions options = always(5, 40);
  const GenerateResult expected = plain(*whole, prompt, options);
  for (int64_t n_on_device = 1; n_on_device < 3; ++n_on_device) {
    const auto host = *make_cpu_device({.n_threads = 1, .deterministic = true});
    const auto model = TextModel::load(*GgufFile::open(path), Placement(device_, *host, 3, n_on_device));
    ASSERT_TRUE(model) << model.error().message;
    for (const bool looks_up : {false, true}) {
      const auto session =
          test::make_session(**model, {.n_ctx = 128, .looks_up = looks_up, .draft_model = drafts});
      const GenerateResult got = answer(*session, prompt, options);
      EXPECT_EQ(got.tokens, expected.tokens) << n_on_device;
      EXPECT_GT(got.draft.n_accepted, 0);
    }
  }
}

// Whichever layers a block drafter reads, in any order, and wherever the model is cut: what it says is the
// same, down to which of its tokens are likely enough to be verified.
TEST_F(Verifying, BlockDraftersReadLayersOfTwoDevices) {
  const auto prompt = text(12, 3);
  GenerateOptions options = always(5, 30);
  options.draft.least_probability = 0.006f;
  int64_t n_some = 0;
  for (const bool is_tied : {true, false}) {
    const auto path = folder_.path() / "cut.gguf", block_path = folder_.path() / "block.gguf";
    test::TinyShape shape{.n_embd = 320, .n_layer = 3};
    if (!is_tied) {
      for (int32_t token = 0; token < test::kTinyVocabulary; ++token) shape.next.push_back(token * 7 % 259);
    }
    test::write_tiny_model(path, shape);
    for (const std::vector<int32_t>& layers : std::vector<std::vector<int32_t>>{
             {0}, {1}, {2}, {0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 2}, {2, 1}, {0, 1, 2}, {2, 0, 1}}) {
      ASSERT_TRUE(test::write_tiny_drafter(block_path, {.n_embd = 320, .target_layers = layers}));
      const auto file = *GgufFile::open(block_path);
      std::optional<GenerateResult> whole;
      for (int64_t n_on_device = 3; n_on_device >= 1; --n_on_device) {
        const auto host = *make_cpu_device({.n_threads = 1, .deterministic = true});
        const auto model = TextModel::load(*GgufFile::open(path), Placement(device_, *host, 3, n_on_device));
        ASSERT_TRUE(model) << model.error().message;
        auto block = Dflash::load(file, (*model)->model());
        ASSERT_TRUE(block) << block.error().message;
        const auto session = test::make_session(**model, {.n_ctx = 128, .drafter = *std::move(block)});
        const GenerateResult got = answer(*session, prompt, options);
        if (!whole) whole = got;
        SCOPED_TRACE(testing::Message() << n_on_device << " layers on the device, " << layers.size()
                                        << " are read, the first is " << layers[0]);
        EXPECT_EQ(got.tokens, whole->tokens);
        EXPECT_EQ(got.draft.n_drafted, whole->draft.n_drafted);
        EXPECT_EQ(got.draft.n_accepted, whole->draft.n_accepted);
        EXPECT_EQ(got.draft.n_verified, whole->draft.n_verified);
        n_some += got.draft.n_drafted > 0 && got.draft.n_drafted < 5 * got.draft.n_verified;
      }
    }
  }
  EXPECT_GT(n_some, 20);
}

// An answer that is cancelled at any operation of either device leaves what goes on as if nothing had been.
TEST_F(Verifying, CancelledAnswersOfTwoDevicesGoOn) {
  const auto prompt = text(12, 3);
  const auto path = folder_.path() / "cut.gguf", block_path = folder_.path() / "block.gguf";
  test::write_tiny_model(path, {.n_layer = 3});
  ASSERT_TRUE(test::write_tiny_drafter(block_path, {}));
  const auto file = *GgufFile::open(block_path);
  GenerateOptions options = always(5, 10);
  options.draft.least_probability = 0.006f;  // so that what the drafter knows shows in how much it drafts
  for (const bool watches_host : {true, false}) {
    const auto other = *make_cpu_device({.n_threads = 1, .deterministic = true});
    Device &host = watches_host ? device_ : *other, &device = watches_host ? *other : device_;
    const auto model = TextModel::load(*GgufFile::open(path), Placement(device, host, 3, 1));
    ASSERT_TRUE(model) << model.error().message;
    auto block = Dflash::load(file, (*model)->model());
    ASSERT_TRUE(block) << block.error().message;
    const std::shared_ptr<const Dflash> drafter = *std::move(block);
    const auto fresh = [&] { return test::make_session(**model, {.n_ctx = 128, .drafter = drafter}); };
    int64_t n_operations = 0;
    device_.on_operation = [&] { ++n_operations; };
    const GenerateResult whole = answer(*fresh(), prompt, options);
    device_.on_operation = nullptr;
    ASSERT_GT(n_operations, 50);
    ASSERT_LT(whole.draft.n_drafted, 5 * whole.draft.n_verified);
    for (int64_t at = 0; at < n_operations; ++at) {
      const auto session = fresh();
      CancellationSource source;
      GenerateOptions stopped = options;
      stopped.work.cancellation = source.ticket();
      device_.on_operation = [&, n = int64_t{0}]() mutable {
        if (n++ == at) source.cancel();
      };
      answer(*session, prompt, stopped);
      device_.on_operation = nullptr;
      const GenerateResult again = answer(*session, prompt, options);
      ASSERT_EQ(again.tokens, whole.tokens) << "operation " << at << ", host " << watches_host;
      ASSERT_EQ(again.draft.n_drafted, whole.draft.n_drafted);
      ASSERT_EQ(again.draft.n_accepted, whole.draft.n_accepted);
    }
  }
}

TEST_F(Verifying, ARequiredDraftThatDoesNotComeIsAnError) {
  const auto model = load({.n_layer = 1});
  const auto without = test::make_session(*model, {.n_ctx = 64});
  const auto unsure = test::make_session(*model, {.n_ctx = 64, .draft_model = model});
  const auto block = test::make_session(
      *model, {.n_ctx = 64, .drafter = load_block_drafter(*model, {.target_layers = {0}})});
  const auto lookup = test::make_session(*model, {.n_ctx = 64, .looks_up = true});
  for (const DraftRule rule : {DraftRule::exact, DraftRule::sampling}) {
    GenerateOptions options = always(4, 10);
    options.draft.rule = rule;
    options.sampling.temperature = 1;
    const auto expect_error = [&](Session& session, const GenerateOptions& asked) {
      const auto result = generate(session, text(5, 1), asked);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, ErrorCode::unsupported);
      EXPECT_NE(result.error().message.find("nothing was drafted"), std::string::npos);
    };
    expect_error(*without, options);  // there is no drafter
    GenerateOptions sure = options;
    sure.draft.least_probability = 1;  // it is never that sure
    expect_error(*unsure, sure);
    GenerateOptions one = options;
    one.max_tokens = 1;  // the first token is nobody's draft
    expect_error(*unsure, one);
    expect_error(*block, sure);
    expect_error(*block, one);
    expect_error(*lookup, one);
    EXPECT_TRUE(generate(*block, text(5, 1), options));
    EXPECT_TRUE(generate(*unsure, text(5, 1), options));
    const CancellationSource source;  // who does not wait for the answer is not told of an error
    options.work.cancellation = source.ticket();
    source.cancel();
    EXPECT_TRUE(generate(*without, text(5, 1), options));
  }
}

}  // namespace
}  // namespace parlance
