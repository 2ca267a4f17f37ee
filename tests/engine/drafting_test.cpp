// Answers with drafts are those without, whatever was drafted; and what is said of drafts is true.
#include <algorithm>
#include <array>
#include <numeric>

#include "engine/generate.h"
#include "engine/scheduler.h"
#include "support/drafter.h"
#include "support/temporary_folder.h"
#include "support/tested_device.h"
#include "support/text_model.h"

namespace parlance {
namespace {

class Drafting : public testing::Test {
 protected:
  void SetUp() override {
    loaded_ = test::load_text_model(test::demo_text(), test::make_tested_device());
    ASSERT_TRUE(loaded_.model);
    drafter_ = test::load_demo_drafter(loaded_.model->model());
    ASSERT_TRUE(drafter_);
  }

  std::vector<Token> question(const std::string& text) const {
    return loaded_.model->tokenizer().encode(
        "<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n",
        {.add_special = true, .parse_special = true});
  }

  static GenerateOptions always(int64_t most) {
    GenerateOptions options;
    options.sampling.temperature = 0;
    options.max_tokens = 40;
    options.draft.most = most;
    options.draft.is_required = true;
    return options;
  }

  GenerateResult answer(Session& session, const std::vector<Token>& prompt, const GenerateOptions& options) {
    auto result = generate(session, prompt, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : GenerateResult{};
  }

  GenerateResult plain(const std::vector<Token>& prompt, GenerateOptions options,
                       SessionOptions session = {.n_ctx = 512}) {
    options.draft = {.is_on = false};
    session.drafter = nullptr;
    session.looks_up = false;
    const auto own = test::make_session(*loaded_.model, session);
    const GenerateResult result = answer(*own, prompt, options);
    plain_text_ = own->tokens();
    return result;
  }

  test::LoadedModel loaded_;
  std::shared_ptr<const Dflash> drafter_;
  std::vector<Token> plain_text_;  // of the session in which plain() answered
};

const char* const kQuestions[] = {"What is the capital of France?", "Count from 1 to 12.",
                                  "Spell the word bridge letter by letter."};

TEST_F(Drafting, GreedyAndWarmAnswersAreThoseWithoutDrafts) {
  for (const auto& [looks_up, drafter] : {std::pair{false, drafter_}, {true, nullptr}, {true, drafter_}}) {
    const auto session =
        test::make_session(*loaded_.model, {.n_ctx = 512, .looks_up = looks_up, .drafter = drafter});
    ASSERT_TRUE(session);
    for (const char* const text : kQuestions) {
      for (const int64_t most : {1, 2, 3, 7}) {
        GenerateOptions options = always(most);
        options.draft.is_required = drafter != nullptr;
        if (most == 2 || most == 3) options.draft.tree = kMostTreeNodes;
        options.sampling.temperature = most == 3 ? 1.1f : 0.0f;
        options.sampling.seed = static_cast<uint64_t>(most);
        const auto prompt = question(text);
        const GenerateResult expected = plain(prompt, options), got = answer(*session, prompt, options);
        SCOPED_TRACE(testing::Message() << text << " drafts of " << most << ", lookup " << looks_up);
        EXPECT_EQ(got.tokens, expected.tokens);
        EXPECT_EQ(got.text, expected.text);
        EXPECT_EQ(got.finish_reason, expected.finish_reason);
        EXPECT_LE(got.draft.n_accepted, got.draft.n_drafted);
      }
    }
  }
}

TEST_F(Drafting, ModelTakesMostOfWhatItsDrafterProposes) {
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512, .drafter = drafter_});
  DraftCounts all;
  for (const char* const text : kQuestions) {
    const GenerateResult result = answer(*session, question(text), always(kMostDrafted));
    all.n_verified += result.draft.n_verified;
    all.n_accepted += result.draft.n_accepted;
  }
  EXPECT_GT(all.n_accepted, 3 * all.n_verified);  // 4.1 a pass on the questions of the drafter's card
}

// With others beside the first choices, of which some are right.
TEST_F(Drafting, ModelTakesMoreOfTrees) {
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512, .drafter = drafter_});
  std::array<DraftCounts, 2> counts;
  for (const char* const text : {"What is the capital of France?", "Name three colours and three animals.",
                                 "Tell me about the sea.", "Write a note to my neighbour."}) {
    for (const int64_t tree : {0, 25}) {
      GenerateOptions options = always(kMostDrafted);
      options.draft.tree = tree;
      options.ignore_eos = true;
      const auto prompt = question(text);
      const GenerateResult result = answer(*session, prompt, options);
      EXPECT_EQ(result.tokens, plain(prompt, options).tokens) << text;
      add(counts[tree > 0 ? 1 : 0], result.draft);
    }
  }
  const auto& [chains, trees] = counts;
  EXPECT_LT(trees.n_verified, chains.n_verified);
  EXPECT_GT(trees.n_drafted, 20 * trees.n_verified);
}

TEST_F(Drafting, EveryCacheFormatAndWindow) {
  for (const char* const preset : {"exact", "balanced", "small"}) {
    SessionOptions options{.n_ctx = 512, .cache = *cache_preset(preset), .drafter = drafter_};
    if (!test::knows(*loaded_.device, options.cache)) continue;
    const auto session = test::make_session(*loaded_.model, options);
    ASSERT_TRUE(session);
    const auto prompt = question(kQuestions[1]);
    for (const int64_t tree : {0, 25}) {
      GenerateOptions long_answer = always(7);
      long_answer.draft.tree = tree;
      long_answer.max_tokens = 200;  // beyond pages and the window of exact positions
      long_answer.ignore_eos = true;
      const GenerateResult got = answer(*session, prompt, long_answer);
      EXPECT_EQ(got.tokens, plain(prompt, long_answer, options).tokens) << preset << " tree " << tree;
      EXPECT_EQ(session->tokens(), plain_text_) << preset << " tree " << tree;
    }
  }
}

TEST_F(Drafting, AnswersEndWhereTheyEndWithoutDrafts) {
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512, .drafter = drafter_});
  const auto prompt = question(kQuestions[1]);
  for (int64_t n = 0; n <= 12; ++n) {
    GenerateOptions options = always(7);
    options.draft.is_required = n > 2;  // the first token is nobody's draft
    options.max_tokens = n;
    const GenerateResult expected = plain(prompt, options), got = answer(*session, prompt, options);
    EXPECT_EQ(got.tokens, expected.tokens) << n;
    EXPECT_EQ(got.finish_reason, expected.finish_reason) << n;
  }
  for (const std::string stop : {"3", ", 5", "6, 7", "9"}) {
    GenerateOptions options = always(7);
    options.stop = {stop};
    const GenerateResult expected = plain(prompt, options), got = answer(*session, prompt, options);
    EXPECT_EQ(got.text, expected.text) << stop;
    EXPECT_EQ(got.tokens, expected.tokens) << stop;
    EXPECT_EQ(session->tokens(), plain_text_) << stop;
  }
  for (int64_t n_ctx = std::ssize(prompt) + 1; n_ctx <= std::ssize(prompt) + 12; ++n_ctx) {
    const SessionOptions narrow{.n_ctx = n_ctx, .drafter = drafter_};
    GenerateOptions options = always(7);
    options.draft.is_required = false;
    options.ignore_eos = true;
    const auto small = test::make_session(*loaded_.model, narrow);
    const GenerateResult expected = plain(prompt, options, narrow), got = answer(*small, prompt, options);
    EXPECT_EQ(got.tokens, expected.tokens) << n_ctx;
    EXPECT_EQ(got.finish_reason, FinishReason::context) << n_ctx;
  }
}

// The invariants of a verification: what was accepted and what was not add up to what came out.
TEST_F(Drafting, EventsSayWhatHappened) {
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512, .drafter = drafter_});
  for (const char* const text : kQuestions) {
    for (const auto& [most, tree] : {std::pair{1, 0}, {4, 0}, {7, 0}, {7, 25}, {4, 9}}) {
      GenerateOptions options = always(most);
      options.draft.tree = tree;
      auto request = Request::start(*session, question(text), options);
      ASSERT_TRUE(request);
      std::vector<Token> said;
      DraftCounts counted;
      while (const auto piece = (*request)->next()) {
        const auto n_before = std::ssize(said);
        said.insert(said.end(), piece->tokens.begin(), piece->tokens.end());
        if (!piece->verification) continue;
        const Verification& v = *piece->verification;
        ++counted.n_verified;
        counted.n_accepted += std::ssize(v.accepted);
        const auto n_accepted = std::ssize(v.accepted);
        const int64_t n_same = std::min(n_accepted, std::ssize(piece->tokens));
        EXPECT_GE(n_same, n_accepted - 1);  // an end-of-turn token is accepted and not part of the answer
        EXPECT_TRUE(std::equal(v.accepted.begin(), v.accepted.begin() + n_same, piece->tokens.begin()));
        if (v.rejected_from < 0) {
          EXPECT_EQ(v.rejected_to, -1);
          EXPECT_TRUE(v.corrected.empty());
          EXPECT_LE(n_accepted, most);
        } else {
          EXPECT_EQ(v.rejected_from, n_before + n_accepted);
          EXPECT_GT(v.rejected_to, v.rejected_from);
          EXPECT_LE(v.rejected_to, n_before + most);
          EXPECT_LE(v.corrected.size(), 1u);
          counted.n_drafted += v.rejected_to - v.rejected_from;
        }
        counted.n_drafted += n_accepted;
      }
      const auto result = (*request)->result();
      ASSERT_TRUE(result);
      EXPECT_EQ(said, result->tokens);
      if (tree == 0) {
        EXPECT_EQ(counted.n_drafted, result->draft.n_drafted);
      } else {  // ranges are as long as the longest way
        EXPECT_LE(counted.n_drafted, result->draft.n_drafted);
      }
      EXPECT_EQ(counted.n_accepted, result->draft.n_accepted);
      EXPECT_EQ(counted.n_verified, result->draft.n_verified);
    }
  }
}

// Many answers at once, some with and some without drafts, on few pages; each says what it says alone.
TEST_F(Drafting, AnyMixOfAnswersEqualsEachAlone) {
  for (const int64_t n_cache : {0, 128}) {
    SessionOptions options{.n_ctx = 256, .n_batch = 48, .looks_up = true, .drafter = drafter_};
    options.n_seq = 4;
    options.n_cache = n_cache;
    auto context = Context::create(*loaded_.model, options);
    ASSERT_TRUE(context) << context.error().message;
    std::vector<std::vector<Token>> prompts;
    std::vector<GenerateOptions> terms;
    std::vector<std::unique_ptr<Request>> requests;
    for (int i = 0; i < 7; ++i) {
      prompts.push_back(
          question(std::string(kQuestions[i % 3]) + std::string(static_cast<size_t>(i / 3), ' ')));
      terms.push_back(always(1 + i));
      terms.back().draft.is_on = i % 3 != 1;
      terms.back().draft.tree = i % 2 == 0 ? 25 : -1;
      terms.back().draft.is_required = terms.back().draft.is_on;
      terms.back().ignore_eos = true;
      terms.back().sampling.temperature = i % 2 == 0 ? 0.0f : 1.0f;
      terms.back().sampling.seed = static_cast<uint64_t>(i);
      auto request = Request::start(*context, prompts.back(), terms.back());
      ASSERT_TRUE(request);
      requests.push_back(*std::move(request));
    }
    (*context)->scheduler().wait(
        [&] { return std::ranges::all_of(requests, [](const auto& r) { return r->has_ended(); }); });
    int64_t n_drafted = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      const auto result = requests[i]->result();
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->tokens, plain(prompts[i], terms[i], {.n_ctx = 256}).tokens) << "answer " << i;
      n_drafted += result->draft.n_drafted;
    }
    EXPECT_GT(n_drafted, 0);
  }
}

// Steps with room for any number of rows, so that drafts are verified in any number of pieces, beside others
// that say the same and give up their memory: what is known of a draft is computed again where its outputs
// are wanted.
TEST_F(Drafting, DraftsAreVerifiedInPieces) {
  const auto prompt = question(kQuestions[1]);
  GenerateOptions terms = always(7);
  terms.ignore_eos = true;
  terms.max_tokens = 50;
  const std::vector<Token> expected = plain(prompt, terms, {.n_ctx = 256}).tokens;
  for (const int64_t n_batch : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 17, 33}) {
    for (const int n_seq : {1, 3}) {
      SessionOptions options{.n_ctx = 256, .n_batch = n_batch, .drafter = drafter_};
      options.n_seq = n_seq;
      options.n_cache = 64;
      auto context = Context::create(*loaded_.model, options);
      ASSERT_TRUE(context) << context.error().message;
      std::vector<std::unique_ptr<Request>> requests;
      for (int i = 0; i < n_seq; ++i) {
        auto request = Request::start(*context, prompt, terms);
        ASSERT_TRUE(request);
        requests.push_back(*std::move(request));
      }
      (*context)->scheduler().wait(
          [&] { return std::ranges::all_of(requests, [](const auto& r) { return r->has_ended(); }); });
      for (const auto& request : requests) {
        const auto result = request->result();
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_EQ(result->tokens, expected) << n_seq << " answers in steps of " << n_batch;
      }
    }
  }
}

// A drafter knows a text that was computed before, or read from a file, as well as one that is new.
TEST_F(Drafting, DraftsAreTheSameWhereTheTextWasKnown) {
  const test::TemporaryFolder folder;
  const SessionOptions options{.n_ctx = 512, .drafter = drafter_};
  const auto prompt = question(kQuestions[2]);
  const auto first = test::make_session(*loaded_.model, options);
  ASSERT_TRUE(first->set_prompt(prompt));
  ASSERT_TRUE(first->save(folder.path() / "text.kv"));
  const GenerateResult fresh = answer(*test::make_session(*loaded_.model, options), prompt, always(7));

  const GenerateResult again = answer(*first, prompt, always(7));
  EXPECT_GT(again.n_prompt_cached, 0);
  const auto other = test::make_session(*loaded_.model, options);
  const auto restored = other->restore(folder.path() / "text.kv", prompt);
  ASSERT_TRUE(restored) << restored.error().message;
  const GenerateResult from_file = answer(*other, prompt, always(7));
  EXPECT_GT(from_file.n_prompt_cached, 0);
  for (const GenerateResult* const result : {&again, &from_file}) {
    EXPECT_EQ(result->tokens, fresh.tokens);
    EXPECT_EQ(result->draft.n_drafted, fresh.draft.n_drafted);
    EXPECT_EQ(result->draft.n_accepted, fresh.draft.n_accepted);
  }
  // A file that was written without the drafter has nothing for it.
  const auto without = test::make_session(*loaded_.model, {.n_ctx = 512});
  EXPECT_FALSE(without->restore(folder.path() / "text.kv", prompt));
}

// Wherever the model is cut, its drafter proposes the same, the second time too, and where the text was read
// from a file that the whole model wrote.
TEST_F(Drafting, DraftsAreTheSameForAModelOnTwoDevices) {
  const auto prompt = question(kQuestions[1]);
  const auto whole =
      answer(*test::make_session(*loaded_.model, {.n_ctx = 256, .drafter = drafter_}), prompt, always(7));
  ASSERT_GT(whole.draft.n_accepted, 0);
  const test::TemporaryFolder folder;
  const auto writer = test::make_session(*loaded_.model, {.n_ctx = 256, .drafter = drafter_});
  ASSERT_TRUE(writer->set_prompt(prompt));
  ASSERT_TRUE(writer->save(folder.path() / "text.kv"));
  const int64_t n_layer = loaded_.model->hyper_parameters().n_layer;
  for (int64_t n = 1; n < n_layer; ++n) {
    const auto host = *make_cpu_device({.n_threads = 1}), device = *make_cpu_device({.n_threads = 2});
    const auto model =
        TextModel::load(*GgufFile::open(test::demo_text()), Placement(*device, *host, n_layer, n));
    ASSERT_TRUE(model) << model.error().message;
    const SessionOptions options{.n_ctx = 256, .drafter = test::load_demo_drafter((*model)->model())};
    const auto session = test::make_session(**model, options);
    const auto restored = test::make_session(**model, options);
    ASSERT_TRUE(restored->restore(folder.path() / "text.kv", prompt));
    for (Session* const s : {session.get(), session.get(), restored.get()}) {
      const GenerateResult got = answer(*s, prompt, always(7));
      EXPECT_EQ(got.tokens, whole.tokens) << n << " layers on the device";
      EXPECT_EQ(got.draft.n_drafted, whole.draft.n_drafted);
      EXPECT_EQ(got.draft.n_accepted, whole.draft.n_accepted);
    }
  }
}

TEST_F(Drafting, CancelledAnswersLeaveWhatWasAccepted) {
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512, .drafter = drafter_});
  const auto prompt = question(kQuestions[1]);
  const GenerateResult whole = plain(prompt, always(7));
  for (size_t n_pieces = 1; n_pieces < 6; ++n_pieces) {
    CancellationSource source;
    GenerateOptions options = always(7);
    options.draft.tree = n_pieces % 2 == 0 ? 25 : 0;
    options.work.cancellation = source.ticket();
    size_t n = 0;
    const auto stopped = generate(*session, prompt, options, [&](std::string_view) {
      if (++n == n_pieces) source.cancel();
    });
    ASSERT_TRUE(stopped);
    ASSERT_LE(stopped->tokens.size(), whole.tokens.size());
    EXPECT_TRUE(std::equal(stopped->tokens.begin(), stopped->tokens.end(), whole.tokens.begin()));
    EXPECT_TRUE(std::equal(session->tokens().begin() + std::ssize(prompt), session->tokens().end(),
                           whole.tokens.begin()));
    EXPECT_EQ(answer(*session, prompt, always(7)).tokens, whole.tokens);
  }
}

TEST_F(Drafting, WhatIsRequiredAndDoesNotComeIsAnError) {
  const auto session = test::make_session(*loaded_.model, {.n_ctx = 512, .looks_up = true});
  GenerateOptions options = always(7);
  options.max_tokens = 3;  // nothing repeats
  const auto result = generate(*session, question(kQuestions[0]), options);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("nothing was drafted"), std::string::npos);
  options.draft.most = 99;
  EXPECT_EQ(generate(*session, question(kQuestions[0]), options).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace parlance
