#include "tokenizer/same_vocabulary.h"

#include "gtest/gtest.h"
#include "tokenizer/gguf_bytes.h"

namespace parlance {
namespace {

// A tokenizer and the bytes that it views.
struct VocabularyFile {
  explicit VocabularyFile(const test::TinyVocabulary& vocabulary) : bytes(vocabulary.bytes()) {
    const auto file = GgufFile::parse(std::as_bytes(std::span(bytes)), "vocabulary.gguf");
    EXPECT_TRUE(file);
    auto loaded = Tokenizer::load(*file);
    EXPECT_TRUE(loaded) << loaded.error().message;
    tokenizer.emplace(*std::move(loaded));
  }
  std::string bytes;
  std::optional<Tokenizer> tokenizer;
};

Result<void> compare(const test::TinyVocabulary& drafter, const test::TinyVocabulary& target) {
  return check_same_vocabulary(*VocabularyFile(drafter).tokenizer, "drafter.gguf",
                               *VocabularyFile(target).tokenizer, "target.gguf");
}

test::TinyVocabulary usual() {
  test::TinyVocabulary vocabulary = test::tiny_bpe("qwen2");
  vocabulary.file.set_u32("tokenizer.ggml.bos_token_id", 268);
  vocabulary.file.set_u32("tokenizer.ggml.eos_token_id", 270);
  return vocabulary;
}

void expect_refused(const test::TinyVocabulary& drafter, const std::string& field) {
  for (const bool is_drafter : {true, false}) {
    const auto same = is_drafter ? compare(drafter, usual()) : compare(usual(), drafter);
    ASSERT_FALSE(same) << field;
    EXPECT_EQ(same.error().code, ErrorCode::unsupported);
    for (const std::string& word : {std::string("drafter.gguf"), std::string("target.gguf"), field})
      EXPECT_NE(same.error().message.find(word), std::string::npos) << same.error().message;
    EXPECT_EQ(same.error().message.find('\n'), std::string::npos);
  }
}

TEST(SameVocabulary, FitsItself) {
  EXPECT_TRUE(compare(usual(), usual()));
  EXPECT_TRUE(compare(test::tiny_sentencepiece(), test::tiny_sentencepiece()));
}

TEST(SameVocabulary, MayHaveOtherFirstTokensAndABitOfPadding) {
  test::TinyVocabulary other = usual();
  for (size_t i = 0; i < 5; ++i) other.tokens[i] = "first " + std::to_string(i);
  EXPECT_TRUE(compare(other, usual()));
  for (int i = 0; i < 128; ++i) other.add("pad " + std::to_string(i));
  EXPECT_TRUE(compare(other, usual()));
  EXPECT_TRUE(compare(usual(), other));
  other.add("one more");
  expect_refused(other, "tokenizer.ggml.tokens");
}

TEST(SameVocabulary, EveryFieldThatDiffersIsNamed) {
  expect_refused(test::tiny_sentencepiece(), "tokenizer.ggml.model");
  for (const char* field : {"add_bos_token", "add_eos_token"}) {
    test::TinyVocabulary other = usual();
    other.file.set_bool(std::string("tokenizer.ggml.") + field, true);
    expect_refused(other, field);
  }
  for (const char* field : {"bos_token_id", "eos_token_id"}) {
    test::TinyVocabulary other = usual();
    other.file.set_u32(std::string("tokenizer.ggml.") + field, 269);
    expect_refused(other, field);
  }
  test::TinyVocabulary other = usual();
  other.tokens[5] = "five";
  expect_refused(other, "tokenizer.ggml.tokens[5]");
  other = usual();
  other.tokens.back() = std::string(500, 'x') + "\n";
  expect_refused(other, "tokenizer.ggml.tokens[" + std::to_string(other.tokens.size() - 1) + "]");
}

}  // namespace
}  // namespace parlance
