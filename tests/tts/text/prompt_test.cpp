#include "support/json_file.h"
#include "tts/text/prompt.h"

#include <span>

#include "../../tokenizer/gguf_bytes.h"
#include "support/fixtures.h"
#include "support/npy.h"
#include "tts/text/non_verbal.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  return test::fixtures_root() / "omnivoice";
}

Tokenizer tiny_tokenizer(TtsPreTokenizer pre) {
  Result<GgufFile> file = GgufFile::open(folder() / "models/lm-tiny-f32.gguf");
  EXPECT_TRUE(file) << file.error().message;
  Result<Tokenizer> tokenizer = load_tts_tokenizer(*file, pre);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return std::move(*tokenizer);
}

TEST(TtsTokenizer, EncodesAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/bpe.json");
  const Tokenizer tokenizer = tiny_tokenizer(TtsPreTokenizer::eliza);
  size_t n_compared = 0;
  for (const auto& row : test::read_json(folder() / "text/bpe.json")) {
    if (!row.contains("ids")) continue;
    EXPECT_EQ(tokenizer.encode(row.at("text").get<std::string>(), {.parse_special = true}),
              row.at("ids").get<std::vector<Token>>())
        << row;
    ++n_compared;
  }
  EXPECT_GE(n_compared, 28u);
}

// Where the two cut differently this small vocabulary has no merge to tell them apart.
TEST(TtsTokenizer, EncodesAlikeWithBothPreTokenizers) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/bpe.json");
  const Tokenizer qwen2 = tiny_tokenizer(TtsPreTokenizer::qwen2),
                  eliza = tiny_tokenizer(TtsPreTokenizer::eliza);
  EXPECT_EQ(qwen2.pre(), "qwen2");
  EXPECT_EQ(eliza.pre(), "omnivoice");
  for (const auto& row : test::read_json(folder() / "text/bpe.json")) {
    if (!row.contains("ids")) continue;
    const auto text = row.at("text").get<std::string>();
    EXPECT_EQ(qwen2.encode(text), eliza.encode(text)) << row;
  }
}

TEST(TtsTokenizer, KnowsOnlyItsOwnSpecialTokens) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/models/lm-tiny-f32.gguf");
  const Tokenizer tokenizer = tiny_tokenizer(TtsPreTokenizer::qwen2);
  EXPECT_EQ(tokenizer.encode("<|denoise|><|endoftext|>", {.parse_special = true}).size(), 2u);
  EXPECT_GT(tokenizer.encode("<|im_start|>", {.parse_special = true}).size(), 1u);
  EXPECT_GT(tokenizer.encode("<|denoise|>").size(), 1u);
}

TEST(TtsPrompt, SplitsTagsOffAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/nonverbal.json");
  const Tokenizer tokenizer = tiny_tokenizer(TtsPreTokenizer::eliza);
  for (const auto& row : test::read_json(folder() / "text/nonverbal.json")) {
    std::vector<Token> ids;
    split_non_verbal(row.at("text").get<std::string>(), [&](std::string_view part) {
      const std::vector<Token> tokens = tokenizer.encode(part, {.parse_special = true});
      ids.insert(ids.end(), tokens.begin(), tokens.end());
    });
    EXPECT_EQ(ids, row.at("ids").get<std::vector<Token>>()) << row;
  }
}

class TtsPromptFixture : public testing::TestWithParam<TtsPreTokenizer> {};

TEST_P(TtsPromptFixture, IsAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/text/prompt.json");
  const Tokenizer tokenizer = tiny_tokenizer(GetParam());
  constexpr size_t kCodebooks = 8;
  constexpr int32_t kMask = 64;
  const auto rows = test::read_json(folder() / "text/prompt.json");
  ASSERT_GE(rows.size(), 6u);
  for (const auto& row : rows) {
    const auto text = row.at("text").get<std::string>(), language = row.at("lang").get<std::string>(),
               voice = row.at("instruct").get<std::string>(),
               reference = row.at("ref_text").get<std::string>();
    const TtsPrompt prompt = make_tts_prompt(tokenizer, {.text = text,
                                                         .language = language,
                                                         .voice = voice,
                                                         .reference_text = reference,
                                                         .n_reference = row.at("ref_T").get<int32_t>(),
                                                         .n_target = row.at("T").get<int32_t>(),
                                                         .denoise = row.at("denoise").get<bool>()});
    const auto expected = row.at("cond_row_codebook0").get<std::vector<int32_t>>();
    ASSERT_EQ(prompt.n_columns(), row.at("c_len").get<size_t>()) << row;
    std::vector<int32_t> codes(kCodebooks * static_cast<size_t>(prompt.n_reference));
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int32_t>(i % 64);
    const std::vector<int32_t> ids = prompt_rows(prompt, codes, kCodebooks, kMask);
    EXPECT_EQ(std::vector(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(expected.size())), expected)
        << row;
    const auto mask = row.at("audio_mask_cond").get<std::vector<int>>();
    for (size_t column = 0; column < mask.size(); ++column) {
      EXPECT_EQ(column >= prompt.audio_begin(), mask[column] == 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PreTokenizers, TtsPromptFixture,
                         testing::Values(TtsPreTokenizer::qwen2, TtsPreTokenizer::eliza));

// The recorded first step's input: the conditional rows come first.
TEST(TtsPrompt, HasTheRecordedRows) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/maskgit");
  const Tokenizer tokenizer = tiny_tokenizer(TtsPreTokenizer::qwen2);
  size_t n_compared = 0;
  for (const fs::path& path : test::fixture_files("omnivoice/maskgit", ".json")) {
    const auto recorded = test::read_json(path);
    if (!recorded.contains("prompt_text_ids")) continue;
    const auto text = recorded.at("text").get<std::string>(),
               language = recorded.at("lang").get<std::string>(),
               voice = recorded.at("instruct").get<std::string>(),
               reference = recorded.at("ref_text").get<std::string>();
    const auto n_codebook = recorded.at("K").get<size_t>();
    std::vector<int32_t> codes;
    if (!recorded.at("ref_tokens").is_null()) {
      for (const auto& row : recorded.at("ref_tokens")) {
        for (const auto& code : row) codes.push_back(code.get<int32_t>());
      }
    }
    const TtsPrompt prompt =
        make_tts_prompt(tokenizer, {.text = text,
                                    .language = language,
                                    .voice = voice,
                                    .reference_text = reference,
                                    .n_reference = static_cast<int32_t>(codes.size() / n_codebook),
                                    .n_target = recorded.at("T").get<int32_t>(),
                                    .denoise = recorded.at("denoise").get<bool>()});
    EXPECT_EQ(prompt.text_ids, recorded.at("prompt_text_ids").get<std::vector<Token>>()) << path;
    EXPECT_EQ(prompt.n_columns(), recorded.at("S").get<size_t>()) << path;
    const fs::path ids_path = path.parent_path() / (path.stem().string() + ".input_ids_step0.npy");
    if (!fs::exists(ids_path)) continue;
    const test::NpyArray ids = test::read_npy(ids_path);
    const std::vector<int32_t> rows = prompt_rows(prompt, codes, n_codebook, 64);
    ASSERT_EQ(ids.values.size(), 2 * rows.size());
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], ids.values[i]) << path << " at " << i;
    ++n_compared;
  }
  EXPECT_GE(n_compared, 2u);
}

// Token b is byte b; what every speech model's file has comes after.
test::TinyVocabulary tiny_vocabulary() {
  test::TinyVocabulary vocabulary = test::tiny_bpe("");
  vocabulary.file.set_string("general.architecture", "omnivoice-lm");
  const char* keys[] = {"denoise",      "lang_start", "lang_end", "instruct_start",
                        "instruct_end", "text_start", "text_end"};
  for (const std::string key : keys) {
    vocabulary.file.set_u32("omnivoice.special." + key, static_cast<uint32_t>(vocabulary.tokens.size()));
    vocabulary.add("<|" + key + "|>");
  }
  return vocabulary;
}

Result<Tokenizer> load(const std::string& bytes) {
  const Result<GgufFile> file = GgufFile::parse(std::as_bytes(std::span(bytes)), "tiny");
  EXPECT_TRUE(file);
  return load_tts_tokenizer(*file);
}

TEST(TtsTokenizer, RefusesFilesWithOtherSpecialTokens) {
  EXPECT_TRUE(load(tiny_vocabulary().bytes()));
  test::TinyVocabulary missing = tiny_vocabulary();
  missing.file.erase("omnivoice.special.text_end");
  const std::string missing_bytes = missing.bytes();
  const auto without_key = load(missing_bytes);
  ASSERT_FALSE(without_key);
  EXPECT_NE(without_key.error().message.find("omnivoice.special.text_end"), std::string::npos);
  for (const uint32_t id : {0u, 5000u, 0xFFFFFFFFu}) {
    test::TinyVocabulary wrong = tiny_vocabulary();
    wrong.file.set_u32("omnivoice.special.denoise", id);
    const std::string bytes = wrong.bytes();
    const auto tokenizer = load(bytes);
    ASSERT_FALSE(tokenizer) << id;
    EXPECT_NE(tokenizer.error().message.find("omnivoice.special.denoise"), std::string::npos);
  }
}

TEST(TtsTokenizer, LeavesOtherMarkedTokensInTextAlone) {
  const std::string bytes = tiny_vocabulary().bytes();
  const auto tokenizer = load(bytes);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->pre(), "qwen2");
  EXPECT_EQ(tokenizer->encode("<|text_end|><|endoftext|>", {.parse_special = true}).size(), 2u);
  for (const std::string_view text : {"<|im_start|>", "<|im_end|>", "<think>"}) {  // byte by byte
    EXPECT_EQ(tokenizer->encode(text, {.parse_special = true}).size(), text.size());
  }
  const Result<GgufFile> file = GgufFile::parse(std::as_bytes(std::span(bytes)), "tiny");
  ASSERT_TRUE(file);
  EXPECT_EQ(Tokenizer::load(*file, "gpt-2")->pre(), "gpt-2");
  const auto unknown = Tokenizer::load(*file, "nonsense");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("\"nonsense\""), std::string::npos);
}

TEST(TtsPrompt, TakesAnyBytes) {
  const std::string file_bytes = tiny_vocabulary().bytes();
  const Result<GgufFile> file = GgufFile::parse(std::as_bytes(std::span(file_bytes)), "tiny");
  ASSERT_TRUE(file);
  for (const TtsPreTokenizer pre : {TtsPreTokenizer::qwen2, TtsPreTokenizer::eliza}) {
    const Result<Tokenizer> tokenizer = load_tts_tokenizer(*file, pre);
    ASSERT_TRUE(tokenizer);
    for (const std::string& text :
         {std::string(), std::string("\xFF\xC3"), std::string(100'000, '\xE4'), std::string("😀😀")}) {
      const TtsPrompt prompt = make_tts_prompt(*tokenizer, {.text = text, .language = text, .n_target = 3});
      EXPECT_GE(prompt.text_ids.size(), 6u + 8u);
      EXPECT_EQ(prompt.n_columns(), prompt.text_ids.size() + 3);
    }
  }
}

}  // namespace
}  // namespace parlance
