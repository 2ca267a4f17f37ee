// What a session saved goes on where it was, whatever it is made of: recurrent states, rows in place of
// embeddings.
#include "engine/sequence_file.h"

#include <algorithm>
#include <fstream>
#include <random>

#include "engine/noise.h"
#include "engine/scheduler.h"
#include "engine/session.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace parlance {
namespace {

// One instruction set that gives a row the same bits however rows are grouped, on every processor.
CpuOptions exact_arithmetic() {
  const auto isa = choose_isa();
  return {.n_threads = 2, .isa = isa && name_of(*isa).starts_with("avx512") ? "avx2" : ""};
}

class SequenceFileTest : public testing::Test {
 protected:
  void load(const char* name) {
    loaded_ = test::load_text_model(test::fixtures_root() / "text/models" / name, exact_arithmetic());
    ASSERT_TRUE(loaded_.model);
  }
  std::unique_ptr<Session> open(bool takes_embeddings = false) const {
    return test::make_session(*loaded_.model,
                              {.n_ctx = 1024,
                               .n_batch = 32,
                               .cache = {.k = {.format = KvFormat::f32}, .v = {.format = KvFormat::f32}},
                               .takes_embeddings = takes_embeddings});
  }
  std::vector<Token> random_tokens(int64_t n) {
    std::vector<Token> tokens(static_cast<size_t>(n));
    for (Token& token : tokens) token = static_cast<Token>(random_() % 300);
    return tokens;
  }
  std::vector<float> random_rows(int64_t n) {
    std::normal_distribution<float> normal(0, 0.05f);
    std::vector<float> rows(static_cast<size_t>(n * loaded_.model->hyper_parameters().n_embd));
    for (float& value : rows) value = normal(random_);
    return rows;
  }
  static void expect_near(const Result<std::span<const float>>& got,
                          const Result<std::span<const float>>& want) {
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_TRUE(want) << want.error().message;
    ASSERT_EQ(got->size(), want->size());
    for (size_t i = 0; i < got->size(); ++i) ASSERT_NEAR((*got)[i], (*want)[i], 1e-4f) << i;
  }
  static uint64_t n_computed(const Session& session) {
    return session.context().scheduler().stats().n_tokens;
  }

  test::TemporaryFolder folder_;
  test::LoadedModel loaded_;
  std::mt19937 random_{11};
};

TEST_F(SequenceFileTest, AHybridGoesOnWhereItWas) {
  PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf");
  load("qwen35.gguf");
  const auto file = folder_ / "hybrid.kv";
  const auto prompt = random_tokens(500), more = random_tokens(7);
  const auto session = open();
  ASSERT_TRUE(session->set_prompt(prompt));
  ASSERT_TRUE(session->save(file));

  const auto restored = open();
  const auto done = restored->restore(file, prompt);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(restored->tokens(), prompt);
  const auto want = session->append(more);
  expect_near(restored->append(more), want);
  EXPECT_EQ(n_computed(*restored), more.size()) << "states stood at the end";
}

// A text that parts from the saved one goes on from the last states before, and computes what lies between.
TEST_F(SequenceFileTest, AHybridThatPartsFromItsFileGoesBackToAState) {
  PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf");
  load("qwen35.gguf");
  const auto file = folder_ / "hybrid.kv";
  const auto saved = random_tokens(500);
  const auto session = open();
  ASSERT_TRUE(session->set_prompt(saved));
  ASSERT_TRUE(session->save(file));
  bool has_used_states = false;
  for (const int64_t position : {64, 100, 255, 300, 460, 492, 499}) {
    SCOPED_TRACE(position);
    std::vector<Token> prompt(saved.begin(), saved.begin() + position);
    const auto rest = random_tokens(20);
    prompt.insert(prompt.end(), rest.begin(), rest.end());
    const auto restored = open();
    const auto done = restored->restore(file, prompt);
    ASSERT_TRUE(done) << done.error().message;
    const auto fresh = open();
    const auto want = fresh->set_prompt(prompt);
    expect_near(restored->set_prompt(prompt), want);
    has_used_states = has_used_states || n_computed(*restored) < prompt.size();
  }
  EXPECT_TRUE(has_used_states);
}

TEST_F(SequenceFileTest, RowsInPlaceOfEmbeddingsComeBack) {
  PARLANCE_REQUIRE_FIXTURES("text/models/qwen3-f16.gguf");
  load("qwen3-f16.gguf");
  const auto file = folder_ / "heard.kv";
  const auto before = random_tokens(70), after = random_tokens(30), more = random_tokens(5);
  const auto first = random_rows(40), second = random_rows(9);
  const std::vector<Token> places(40, kEmbedded), few(9, kEmbedded);
  const auto session = open(/*takes_embeddings=*/true);
  ASSERT_TRUE(session->append(before));
  ASSERT_TRUE(session->append(places, 1, {.rows = first}));
  ASSERT_TRUE(session->append(few, 1, {.rows = second}));
  ASSERT_TRUE(session->append(after));
  const auto saved = session->save(file);
  ASSERT_TRUE(saved) << saved.error().message;

  const auto restored = open(/*takes_embeddings=*/true);
  const auto done = restored->restore(file, session->sequence().key());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(restored->tokens(), session->tokens());
  EXPECT_TRUE(std::ranges::equal(restored->sequence().key().content, session->sequence().key().content));
  const auto want = session->append(more);
  expect_near(restored->append(more), want);
  EXPECT_EQ(n_computed(*restored), more.size());

  // Its memory is taken away: the rows are there to compute it all again.
  const int64_t n_kept = restored->sequence().n_tokens() - std::ssize(more);
  restored->truncate(n_kept);
  restored->sequence().give_up_memory();
  EXPECT_EQ(restored->sequence().n_missing(), n_kept);
  session->truncate(n_kept);
  const auto again = session->append(more);
  expect_near(restored->append(more), again);
  EXPECT_GT(n_computed(*restored), more.size() + more.size());
}

// What was heard decides how much of a file is of use: not the tokens alone, which hold places only.
TEST_F(SequenceFileTest, AnotherSoundIsAnotherText) {
  PARLANCE_REQUIRE_FIXTURES("text/models/qwen3-f16.gguf");
  load("qwen3-f16.gguf");
  const auto file = folder_ / "heard.kv";
  const auto before = random_tokens(70), after = random_tokens(20);
  const auto rows = random_rows(20);
  auto other = rows;
  other[other.size() / 2] += 1;  // in the eleventh row
  const std::vector<Token> places(20, kEmbedded);
  const auto make = [&](const std::vector<float>& heard) {
    auto session = open(/*takes_embeddings=*/true);
    EXPECT_TRUE(session->append(before));
    EXPECT_TRUE(session->append(places, 1, {.rows = heard}));
    EXPECT_TRUE(session->append(after));
    return session;
  };
  const auto session = make(rows), foreign = make(other);
  ASSERT_TRUE(session->save(file));
  const auto restored = open(/*takes_embeddings=*/true);
  ASSERT_TRUE(restored->restore(file, foreign->sequence().key()));
  EXPECT_EQ(restored->sequence().n_tokens(), 80) << "the rows before the one that differs are the same";
  EXPECT_TRUE(std::ranges::equal(restored->tokens(), std::span(foreign->tokens()).first(80)));
  ASSERT_TRUE(restored->append(std::vector<Token>(10, kEmbedded), 1,
                               {.rows = std::span(other).subspan(other.size() / 2)}));
  ASSERT_TRUE(restored->append(after));
  const auto more = random_tokens(3);
  const auto want = foreign->append(more);
  expect_near(restored->append(more), want);
}

TEST_F(SequenceFileTest, NoiseIsNotSaved) {
  PARLANCE_REQUIRE_FIXTURES("text/models/qwen3-f16.gguf");
  load("qwen3-f16.gguf");
  const auto session = open();
  ASSERT_TRUE(fill_with_noise(*session, 100));
  const auto saved = session->save(folder_ / "noise.kv");
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::unsupported);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "noise.kv"));
}

// A file that is larger than the context, or that somebody cuts or writes over: words, and the session stays.
TEST_F(SequenceFileTest, WhatCannotBeRestoredLeavesTheSession) {
  PARLANCE_REQUIRE_FIXTURES("text/models/qwen3-f16.gguf");
  load("qwen3-f16.gguf");
  const auto file = folder_ / "long.kv";
  const auto prompt = random_tokens(300), other = random_tokens(20);
  const auto session = open();
  ASSERT_TRUE(session->set_prompt(prompt));
  ASSERT_TRUE(session->save(file));
  const auto small = test::make_session(
      *loaded_.model,
      {.n_ctx = 128, .cache = {.k = {.format = KvFormat::f32}, .v = {.format = KvFormat::f32}}});
  ASSERT_TRUE(small->set_prompt(other));
  const auto too_long = small->restore(file, prompt);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(small->tokens(), other);

  const auto reader = open();
  ASSERT_TRUE(reader->set_prompt(other));
  const uintmax_t size = std::filesystem::file_size(file);
  for (uintmax_t n = 0; n < size; n += size / 13) {
    std::filesystem::copy_file(file, folder_ / "cut.kv", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(folder_ / "cut.kv", n);
    EXPECT_FALSE(reader->restore(folder_ / "cut.kv", prompt)) << n;
    EXPECT_EQ(reader->tokens(), other);
  }
  EXPECT_TRUE(reader->restore(file, prompt));
}

}  // namespace
}  // namespace parlance
