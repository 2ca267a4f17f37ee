// What a context remembers, with whom it is shared, and its way to files and back without a sequence.
#include "engine/known_text.h"

#include <fstream>
#include <random>

#include "engine/request.h"
#include "engine/scheduler.h"
#include "engine/session.h"
#include "support/random_tokens.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace parlance {
namespace {

class KnownText : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf");
    loaded_ = test::load_text_model(
        GetParam() ? test::fixtures_root() / "text/models/qwen35.gguf"
                   : test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf",
        CpuOptions{.n_threads = 2, .deterministic = true});
    ASSERT_TRUE(loaded_.model);
    context_ = make_context();
    ASSERT_TRUE(context_);
  }

  std::shared_ptr<Context> make_context() const {
    auto context = Context::create(*loaded_.model, {.n_ctx = 1024, .n_batch = 64, .n_seq = 2});
    EXPECT_TRUE(context) << context.error().message;
    return context ? *std::move(context) : nullptr;
  }
  // How many of the prompt's tokens were known, and what is said to it.
  static GenerateResult answer(const std::shared_ptr<Context>& context, const std::vector<Token>& prompt,
                               const Sharing& sharing = {}) {
    GenerateOptions options;
    options.max_tokens = 8;
    options.ignore_eos = true;
    options.sampling.temperature = 0;
    options.work.sharing = sharing;
    const auto request = Request::start(context, prompt, options);
    EXPECT_TRUE(request) << request.error().message;
    if (!request) return {};
    while ((*request)->next()) {
    }
    auto result = (*request)->result();
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : GenerateResult();
  }
  static std::vector<char> read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::filesystem::path& path, const std::vector<char>& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }
  static Result<RestoredText> restore(Context& context, const std::filesystem::path& path,
                                      const std::optional<PrefixKey>& text = {},
                                      const Sharing& sharing = {}) {
    return restore_known(context, path, text, sharing);
  }
  static uint64_t n_refused(const Context& context) {
    uint64_t n = 0;
    for (int reason = 0; reason < 6; ++reason)
      n += context.snapshot_refusals().count(static_cast<SnapshotRefusal>(reason));
    return n;
  }

  test::TemporaryFolder folder_;
  test::LoadedModel loaded_;
  std::shared_ptr<Context> context_;
};

INSTANTIATE_TEST_SUITE_P(Models, KnownText, testing::Bool());

TEST_P(KnownText, SharingThatIsOffNeitherReadsNorWrites) {
  const auto prompt = test::random_tokens(300, 1), other = test::random_tokens(300, 2);
  const GenerateResult alone = answer(context_, other, {.is_off = true});
  EXPECT_EQ(alone.n_prompt_cached, 0);
  EXPECT_EQ(count_known(*context_, other), 0);
  const GenerateResult first = answer(context_, prompt);
  EXPECT_GT(count_known(*context_, prompt), 200);
  const GenerateResult again = answer(context_, prompt), off = answer(context_, prompt, {.is_off = true});
  EXPECT_GT(again.n_prompt_cached, 200);
  EXPECT_EQ(off.n_prompt_cached, 0);
  EXPECT_EQ(first.tokens, again.tokens);
  EXPECT_EQ(first.tokens, off.tokens);
  EXPECT_EQ(alone.tokens, answer(context_, other).tokens);
}

TEST_P(KnownText, SpacesShareNothing) {
  const auto prompt = test::random_tokens(300, 3);
  const ContentHash home{7, 8};
  const GenerateResult first = answer(context_, prompt, {.space = home});
  EXPECT_EQ(count_known(*context_, prompt), 0);
  const GenerateResult elsewhere = answer(context_, prompt);
  EXPECT_EQ(elsewhere.n_prompt_cached, 0);
  EXPECT_GT(answer(context_, prompt, {.space = home}).n_prompt_cached, 200);
  EXPECT_EQ(first.tokens, elsewhere.tokens);
}

// A session that goes from one space into another takes nothing along.
TEST_P(KnownText, ASessionLeavesItsSpaceEmptyHanded) {
  const auto prompt = test::random_tokens(200, 4);
  const auto session = Session::create(context_);
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->set_prompt(prompt, {.sharing = {.space = {1, 1}}}));
  ASSERT_TRUE((*session)->set_prompt(prompt));
  EXPECT_EQ((*session)->n_reused(), 0);
  ASSERT_TRUE((*session)->set_prompt(prompt, {.sharing = {.is_off = true}}));
  EXPECT_EQ((*session)->n_reused(), 0);
}

TEST_P(KnownText, WhatWasSavedIsKnownElsewhere) {
  const auto prompt = test::random_tokens(300, 5);
  const GenerateResult first = answer(context_, prompt);
  const auto saved = save_known(*context_, prompt, folder_ / "a.bin");
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(saved->n_tokens, count_known(*context_, prompt));

  const auto context = make_context();
  const int32_t n_free = context->pools().n_free().main;
  const ContentHash home{7, 8};
  const auto restored = restore_known(*context, folder_ / "a.bin", PrefixKey(prompt), {.space = home});
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(std::ssize(restored->tokens), saved->n_tokens);
  EXPECT_EQ(count_known(*context, prompt), 0) << "it is of the space that it was restored for";
  const GenerateResult again = answer(context, prompt, {.space = home});
  EXPECT_EQ(again.n_prompt_cached, std::min<int64_t>(saved->n_tokens, std::ssize(prompt) - 1));
  EXPECT_EQ(again.tokens, first.tokens);
  EXPECT_EQ(context->pools().n_free().main + context->tree().stats().n_pages.main, n_free)
      << "nobody but the tree holds pages";
}

TEST_P(KnownText, NothingKnownIsNothingSaved) {
  const auto saved = save_known(*context_, test::random_tokens(100, 6), folder_ / "none.bin");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none.bin"));
}

TEST_P(KnownText, AFileThatIsNotAsItWasWrittenIsRefusedAndCounted) {
  const auto prompt = test::random_tokens(150, 7);
  answer(context_, prompt);
  const auto path = folder_ / "a.bin";
  ASSERT_TRUE(save_known(*context_, prompt, path));
  const std::vector<char> good = read(path);
  const auto context = make_context();
  const int32_t n_free = context->pools().n_free().main;
  uint64_t n_wanted = 0;
  const auto refuses = [&](const std::vector<char>& bytes) {
    write(path, bytes);
    const auto done = restore(*context, path);
    return !done && n_refused(*context) == ++n_wanted && context->tree().stats().n_nodes == 0;
  };
  std::mt19937 random(8);
  for (int i = 0; i < 60; ++i) {
    std::vector<char> bad = good;
    const size_t at = i < 20 ? random() % std::min<size_t>(good.size(), 800) : random() % good.size();
    bad[at] = static_cast<char>(bad[at] ^ (1 << (random() % 8)));
    EXPECT_TRUE(refuses(bad)) << "byte " << at;
  }
  for (int i = 0; i < 20; ++i) {
    const size_t n = random() % good.size();
    EXPECT_TRUE(refuses({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n)})) << n << " bytes";
  }
  EXPECT_EQ(context->pools().n_free().main, n_free);
  write(path, good);
  EXPECT_TRUE(restore(*context, path));
}

// While answers are made, without a break between steps.
TEST_P(KnownText, FilesAreWrittenAndReadBesideAnswers) {
  const auto prompt = test::random_tokens(200, 9);
  const GenerateResult alone = answer(context_, prompt);
  GenerateOptions options;
  options.max_tokens = 400;
  options.ignore_eos = true;
  options.sampling.temperature = 0;
  context_->scheduler().start();
  const auto beside = test::random_tokens(40, 10);
  const auto request = Request::start(context_, beside, options, [] {});
  ASSERT_TRUE(request);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(save_known(*context_, prompt, folder_ / "a.bin"));
    ASSERT_TRUE(restore(*context_, folder_ / "a.bin", {}, {.space = {0, uint64_t(i)}}));
  }
  while ((*request)->next()) {
  }
  const auto result = (*request)->result();
  ASSERT_TRUE(result);
  const auto quiet = make_context();
  const auto same = Request::start(quiet, beside, options);
  ASSERT_TRUE(same);
  while ((*same)->next()) {
  }
  EXPECT_EQ(result->tokens, (*same)->result()->tokens);
  EXPECT_EQ(answer(context_, prompt, {.space = {0, 2}}).tokens, alone.tokens);
}

}  // namespace
}  // namespace parlance
