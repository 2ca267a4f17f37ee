#include "convert/convert.h"

#include <algorithm>

#include "cli/cli_run.h"
#include "convert/published_folder.h"
#include "convert/safetensors.h"
#include "convert/vocabulary_source.h"
#include "quant/block_format.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

using test::ordered_json;
using test::published;
using test::run;

constexpr const char* kQwenRegex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kLlamaRegex =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::filesystem::path demo(const std::string& path) {
  return test::source_root() / "models/demo" / path;
}

class Convert : public testing::Test {
 protected:
  static GgufFile open(const std::filesystem::path& path) {
    auto file = GgufFile::open(path);
    EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message);
    return *std::move(file);
  }

  std::vector<ConvertedFile> convert(const std::filesystem::path& folder, const std::string& type,
                                     const std::filesystem::path& out) {
    const auto files = convert_folder(folder, {.out = out, .type = type, .progress = {}});
    EXPECT_TRUE(files.has_value()) << (files ? "" : files.error().message);
    return files.value_or(std::vector<ConvertedFile>());
  }

  // Same names, shapes and types, and the same bytes. Where they are of another quantised type, and may be,
  // those that rounding their values to q8_0 gives.
  static void expect_same_tensors(const GgufFile& expected, const GgufFile& found,
                                  const std::vector<std::string>& but = {}, bool is_rounded_again = false) {
    EXPECT_EQ(expected.tensors().size(), found.tensors().size());
    for (const GgufTensor& tensor : expected.tensors()) {
      if (std::ranges::find(but, tensor.name) != but.end()) continue;
      const GgufTensor* other = found.find_tensor(tensor.name);
      ASSERT_NE(other, nullptr) << tensor.name;
      EXPECT_EQ(tensor.ne, other->ne) << tensor.name;
      if (!is_rounded_again || tensor.dtype == other->dtype) {
        EXPECT_EQ(name_of(tensor.dtype), name_of(other->dtype)) << tensor.name;
        EXPECT_TRUE(std::ranges::equal(tensor.bytes, other->bytes)) << tensor.name;
        continue;
      }
      EXPECT_EQ(name_of(other->dtype), "q8_0") << tensor.name;
      const std::vector<float> values = test::floats_of(tensor);
      std::vector<std::byte> rounded(other->bytes.size());
      block_format(other->dtype).encode_row(values.data(), rounded.data(), std::ssize(values));
      EXPECT_TRUE(std::ranges::equal(rounded, other->bytes)) << tensor.name;
    }
  }

  static void expect_same_metadata(const GgufFile& expected, const GgufFile& found,
                                   const std::vector<std::string>& but = {}) {
    for (const auto& [key, value] : expected.metadata()) {
      if (key == "general.name" || key == "general.description" || key == "general.alignment" ||
          key.starts_with("parlance.") || std::ranges::find(but, key) != but.end()) {
        continue;
      }
      const GgufValue* other = found.find(key);
      ASSERT_NE(other, nullptr) << key;
      EXPECT_EQ(name_of(value.type), name_of(other->type)) << key;
      EXPECT_TRUE(std::ranges::equal(value.bytes, other->bytes)) << key;
    }
  }

  // Texts and kinds of tokens; what nobody uses has no name of its own in published files.
  static void expect_same_tokens(const GgufFile& expected, const GgufFile& found) {
    const auto a = test::strings_at(expected, "tokenizer.ggml.tokens");
    const auto b = test::strings_at(found, "tokenizer.ggml.tokens");
    const auto kinds = expected.find_ints("tokenizer.ggml.token_type", 0, 10).value().value();
    EXPECT_EQ(kinds, found.find_ints("tokenizer.ggml.token_type", 0, 10).value().value());
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (kinds[i] != static_cast<int64_t>(TokenType::unused)) {
        EXPECT_EQ(a[i], b[i]) << i;
      }
    }
  }

  // A language model as it would have been published.
  void publish(const GgufFile& file, const std::filesystem::path& to, const std::string& architecture,
               const std::string& regex, size_t n_files, bool undoes_order = false) {
    std::vector<test::PublishedTensor> tensors;
    for (const GgufTensor& tensor : file.tensors()) {
      if (tensor.name == "rope_freqs.weight") continue;
      tensors.push_back(published(tensor, test::published_name(std::string(tensor.name))));
      if (undoes_order) put_halves_apart(file, tensor, tensors.back());
    }
    test::write_weights(to, tensors, n_files);
    ordered_json config =
        test::language_config(file, architecture, file.find_tensor("output.weight") == nullptr);
    if (file.find_tensor("rope_freqs.weight")) {
      const std::vector<float> factors = test::floats_of(*file.find_tensor("rope_freqs.weight"));
      config["rope_scaling"] = {{"rope_type", "llama3"},
                                {"factor", std::ranges::max(factors)},
                                {"low_freq_factor", 1.0},
                                {"high_freq_factor", 4.0},
                                {"original_max_position_embeddings", 64}};
    }
    test::write_text(to / "config.json", config.dump());
    test::write_vocabulary(to, file, regex);
  }

  // Rows 2j and 2j + 1 of a head back to the first and the second half.
  static void put_halves_apart(const GgufFile& file, const GgufTensor& tensor, test::PublishedTensor& out) {
    const bool is_q = tensor.name.find(".attn_q.") != tensor.name.npos;
    if (!is_q && tensor.name.find(".attn_k.") == tensor.name.npos) return;
    const int64_t n_head =
        test::int_at(file, is_q ? "llama.attention.head_count" : "llama.attention.head_count_kv");
    const size_t n_rows = static_cast<size_t>(out.shape[0]), row = out.bytes.size() / n_rows;
    const size_t in_head = n_rows / static_cast<size_t>(n_head);
    const std::string before = out.bytes;
    for (size_t r = 0; r < n_rows; ++r) {
      const size_t i = r % in_head;
      const size_t to = r - i + i / 2 + i % 2 * (in_head / 2);
      before.copy(out.bytes.data() + to * row, row, r * row);
    }
  }

  test::TemporaryFolder folder;
};

TEST_F(Convert, Qwen3IsWhatItWas) {
  const std::filesystem::path path = demo("text/parlance-demo-text-q8_0.gguf");
  const GgufFile original = open(path);
  publish(original, folder / "Small", "Qwen3ForCausalLM", kQwenRegex, 3);
  convert(folder / "Small", "q8_0", folder / "small.gguf");
  const GgufFile found = open(folder / "small.gguf");
  expect_same_tensors(original, found);
  expect_same_metadata(original, found, {"qwen3.vocab_size", "tokenizer.ggml.tokens"});
  expect_same_tokens(original, found);
  EXPECT_EQ(found.get_string("general.name").value(), "Small");
  const std::vector<std::string> ask = {"chat", "-p", "What is the capital of France?", "--greedy", "-m"};
  const auto answer = [&](const std::filesystem::path& model) {
    std::vector<std::string> arguments = ask;
    arguments.push_back(model.string());
    return run(arguments);
  };
  const test::Outcome expected = answer(path);
  EXPECT_EQ(answer(folder / "small.gguf").out, expected.out);
  EXPECT_NE(expected.out, "");
  // Without a type the numbers are those of the folder, and a mixture is made of these.
  convert(folder / "Small", "", folder / "whole.gguf");
  EXPECT_EQ(open(folder / "whole.gguf").find_tensor("token_embd.weight")->dtype, DType::f32);
  convert(folder / "Small", "q4_0", folder / "four.gguf");
  EXPECT_EQ(open(folder / "four.gguf").find_tensor("blk.0.attn_k.weight")->dtype, DType::q4_0);
  EXPECT_FALSE(std::filesystem::exists(folder / "four.gguf.unquantised"));
}

TEST_F(Convert, LlamaAndQwen2AreWhatTheyWere) {
  struct Case {
    const char *file, *architecture, *regex, *type;
    bool undoes_order;
  };
  PARLANCE_REQUIRE_FIXTURES("text/models");
  for (const Case& c : {Case{"text/models/llama3-bf16.gguf", "LlamaForCausalLM", kLlamaRegex, "", true},
                        Case{"text/models/qwen2.gguf", "Qwen2ForCausalLM", kQwenRegex, "", false},
                        Case{"text/models/qwen3-f16.gguf", "Qwen3ForCausalLM", kQwenRegex, "f16", false}}) {
    const auto path = test::fixtures_root() / c.file;
    const GgufFile original = open(path);
    const auto to = folder / std::filesystem::path(c.file).stem().string();
    publish(original, to, c.architecture, c.regex, 1, c.undoes_order);
    convert(to, c.type, to.string() + ".gguf");
    const GgufFile found = open(to.string() + ".gguf");
    for (const GgufTensor& tensor : original.tensors()) {
      const GgufTensor* other = found.find_tensor(tensor.name);
      ASSERT_NE(other, nullptr) << tensor.name;
      const std::vector<float> a = test::floats_of(tensor), b = test::floats_of(*other);
      ASSERT_EQ(a.size(), b.size()) << tensor.name;
      if (tensor.name == "rope_freqs.weight") {
        for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5F * a[i]) << i;
      } else {
        EXPECT_EQ(a, b) << c.file << " " << tensor.name;
      }
    }
  }
}

TEST_F(Convert, TheRecogniserHearsTheSame) {
  const GgufFile text = open(demo("asr/eliza-1-asr.gguf")),
                 encoder = open(demo("asr/eliza-1-asr-mmproj.gguf"));
  std::vector<test::PublishedTensor> tensors;
  for (const GgufTensor& tensor : text.tensors()) {
    tensors.push_back(published(tensor, "thinker." + test::published_name(std::string(tensor.name))));
  }
  for (const GgufTensor& tensor : encoder.tensors()) {
    if (tensor.name == "a.position_embd.weight") continue;
    std::string name = test::replaced(std::string(tensor.name), {{"a.blk.", "layers."},
                                                                 {"a.conv2d.", "conv2d"},
                                                                 {"a.conv_out", "conv_out"},
                                                                 {"a.post_ln", "ln_post"},
                                                                 {"mm.a.mlp.", "proj"},
                                                                 {"attn_q.", "self_attn.q_proj."},
                                                                 {"attn_k.", "self_attn.k_proj."},
                                                                 {"attn_v.", "self_attn.v_proj."},
                                                                 {"attn_out.", "self_attn.out_proj."},
                                                                 {".ln1.", ".self_attn_layer_norm."},
                                                                 {".ln2.", ".final_layer_norm."},
                                                                 {"ffn_up", "fc1"},
                                                                 {"ffn_down", "fc2"}});
    tensors.push_back(published(tensor, "thinker.audio_tower." + name));
    if (name.starts_with("conv2d") && name.ends_with("bias")) tensors.back().shape = {tensor.ne[2]};
  }
  test::write_weights(folder / "Ears", tensors, 1);
  const std::string a = "clip.audio.";
  ordered_json text_config = test::language_config(text, "", text.find_tensor("output.weight") == nullptr);
  const auto sections = text.find_ints("qwen3vl.rope.dimension_sections", 0, 4096).value();
  text_config["rope_scaling"] = {{"rope_type", "default"},
                                 {"mrope_section", {(*sections)[0], (*sections)[1], (*sections)[2]}}};
  const ordered_json config = {
      {"architectures", {"Qwen3ASRForConditionalGeneration"}},
      {"thinker_config",
       {{"text_config", text_config},
        {"audio_config",
         {{"d_model", test::int_at(encoder, a + "embedding_length")},
          {"encoder_layers", test::int_at(encoder, a + "block_count")},
          {"encoder_attention_heads", test::int_at(encoder, a + "attention.head_count")},
          {"encoder_ffn_dim", test::int_at(encoder, a + "feed_forward_length")},
          {"num_mel_bins", test::int_at(encoder, a + "num_mel_bins")}}}}}};
  test::write_text(folder / "Ears/config.json", config.dump());
  test::write_vocabulary(folder / "Ears", text, kQwenRegex);
  const auto files = convert(folder / "Ears", "q8_0", folder / "ears.gguf");
  ASSERT_EQ(files.size(), 2U);
  const GgufFile found_text = open(files[0].path), found_encoder = open(files[1].path);
  // The demo's recogniser is of smaller types than the converter writes.
  expect_same_tensors(text, found_text, {}, /*is_rounded_again=*/true);
  expect_same_metadata(
      text, found_text,
      {"general.file_type", "tokenizer.chat_template", "tokenizer.ggml.tokens", "tokenizer.ggml.bos_token_id",
       "tokenizer.ggml.eos_token_id", "tokenizer.ggml.padding_token_id"});
  // What leads out of the convolutions is f16 in the converter's files, and positions have all rows.
  expect_same_tensors(encoder, found_encoder, {"a.conv_out.weight", "a.position_embd.weight"},
                      /*is_rounded_again=*/true);
  expect_same_metadata(encoder, found_encoder, {"general.file_type"});
  const GgufTensor* positions = encoder.find_tensor("a.position_embd.weight");
  const std::vector<float> known = test::floats_of(*positions);
  const std::vector<float> made = test::floats_of(*found_encoder.find_tensor("a.position_embd.weight"));
  ASSERT_LE(known.size(), made.size());
  for (size_t i = 0; i < known.size(); ++i) ASSERT_NEAR(known[i], made[i], 2e-4F) << i;
  const std::string heard = (test::source_root() / "models/demo-eval/questions/1-capital.flac").string();
  const test::Outcome expected = run({"listen", heard});
  EXPECT_NE(expected.out, "");
  EXPECT_EQ(run({"listen", "--asr", files[0].path.string(), "--mmproj", files[1].path.string(), heard}).out,
            expected.out);
}

TEST_F(Convert, TheSynthesizerHasTheSameWeights) {
  const GgufFile base = open(demo("tts/base.gguf")), codec = open(demo("tts/codec.gguf"));
  std::vector<test::PublishedTensor> of_base, of_codec;
  for (const GgufTensor& tensor : base.tensors())
    of_base.push_back(published(tensor, std::string(tensor.name)));
  for (const GgufTensor& tensor : codec.tensors())
    of_codec.push_back(published(tensor, std::string(tensor.name)));
  of_base.push_back({"codebook_layer_offsets", "I64", {1}, std::string(8, '\0')});
  of_codec.push_back({"fc1.weight", "F32", {1}, std::string(4, '\0')});
  test::write_weights(folder / "Mouth", of_base, 2);
  test::write_weights(folder / "Mouth/audio_tokenizer", of_codec, 1);
  ordered_json llm = test::language_config(base, "", true);
  const ordered_json config = {
      {"model_type", "omnivoice"},
      {"num_audio_codebook", test::int_at(base, "omnivoice.num_audio_codebook")},
      {"audio_vocab_size", test::int_at(base, "omnivoice.audio_vocab_size")},
      {"audio_mask_id", test::int_at(base, "omnivoice.audio_mask_id")},
      {"audio_codebook_weights", base.find_ints("omnivoice.audio_codebook_weights", 0, 1000).value().value()},
      {"llm_config", llm}};
  test::write_text(folder / "Mouth/config.json", config.dump());
  test::write_vocabulary(folder / "Mouth", base, kQwenRegex);
  const auto part = [&](const std::string& prefix) {
    ordered_json object = ordered_json::object();
    for (const auto& [key, value] : codec.metadata()) {
      const std::string name(key);
      if (!name.starts_with(prefix) || name.find('.', prefix.size()) != name.npos) continue;
      const std::string field = name.substr(prefix.size());
      if (value.type == GgufType::array) {
        object[field] = codec.find_ints(name, 0, 1 << 30).value().value();
      } else if (value.type == GgufType::f32) {
        object[field] = test::float_at(codec, name);
      } else if (value.type != GgufType::string) {
        object[field] = test::int_at(codec, name);
      }
    }
    return object;
  };
  ordered_json tokenizer = part("omnivoice.");
  tokenizer["acoustic_model_config"] = part("omnivoice.acoustic.");
  tokenizer["semantic_model_config"] = part("omnivoice.semantic.");
  test::write_text(folder / "Mouth/audio_tokenizer/config.json", tokenizer.dump());
  const auto files = convert(folder / "Mouth", "q8_0", folder / "mouth.gguf");
  ASSERT_EQ(files.size(), 2U);
  expect_same_tensors(base, open(files[0].path));
  expect_same_metadata(base, open(files[0].path));
  expect_same_tensors(codec, open(files[1].path));
  expect_same_metadata(codec, open(files[1].path));
  const test::Outcome said = run({"say", "--base", files[0].path.string(), "--codec", files[1].path.string(),
                                  "-o", (folder / "said.wav").string(), "--steps", "4", "Good morning."});
  EXPECT_EQ(said.code, 0) << said.err;
}

TEST_F(Convert, WhatCannotBeConvertedIsSaid) {
  struct Case {
    const char* config;
    const char* words;
  };
  const std::string weights =
      test::safetensors({{"model.embed_tokens.weight", "F32", {1, 2}, std::string(8, '\0')}});
  for (const Case& c :
       {Case{R"({"architectures":["GPT2LMHeadModel"]})", "GPT2LMHeadModel"}, Case{"{", "config.json"},
        Case{R"({"architectures":["Qwen3ForCausalLM"]})", "num_hidden_layers"},
        Case{R"({"architectures":["Qwen3ForCausalLM"],"quantization_config":{}})", "quantised already"}}) {
    test::write_text(folder / "x/config.json", c.config);
    test::write_text(folder / "x/model.safetensors", weights);
    const auto files = convert_folder(folder / "x", {.out = folder / "x.gguf", .type = "", .progress = {}});
    ASSERT_FALSE(files.has_value()) << c.config;
    EXPECT_NE(files.error().message.find(c.words), std::string::npos) << files.error().message;
    EXPECT_FALSE(std::filesystem::exists(folder / "x.gguf"));
  }
  EXPECT_FALSE(convert_folder(folder / "nowhere", {}).has_value());
  test::expect_error(run({"convert", (folder / "x").string(), "--type", "q9"}), 1, {"q9", "q8_0"});
}

TEST(Safetensors, HeadersAreCheckedBeforeTheyAreUsed) {
  const auto parse = [](const std::string& header, uint64_t n_data) {
    return parse_safetensors_header(header, 100, n_data, "x");
  };
  const auto good =
      parse(R"({"__metadata__":{"a":"b"},"t":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},
                              "u":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[12,16]}})",
            16);
  ASSERT_TRUE(good.has_value()) << good.error().message;
  EXPECT_EQ((*good)[0].offset, 100U);
  EXPECT_EQ((*good)[0].dtype, DType::bf16);
  EXPECT_FALSE((*good)[1].dtype.has_value());
  for (
      const char* header :
      {"", "[]", "{", R"({"t":5})", R"({"t":{"dtype":"F32","shape":[4],"data_offsets":[0,12]}})",
       R"({"t":{"dtype":"F32","shape":[4],"data_offsets":[0,17]}})",
       R"({"t":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})",
       R"({"t":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})",
       R"({"t":{"dtype":"F99","shape":[4],"data_offsets":[0,16]}})",
       R"({"t":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
       R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[4,16]}})",
       R"({"t":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})",
       R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"u":{"dtype":"F32","shape":[3],"data_offsets":[4,16]}})",
       R"({"t":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"t":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"}) {
    EXPECT_FALSE(parse(header, 16).has_value()) << header;
  }
}

TEST(SentencePieceModel, HasPiecesScoresAndKinds) {
  // Fields 1 (piece) with 1 (text), 2 (score, f32), 3 (kind); field 2 is something else.
  const std::string bytes(
      "\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02\x0a\x08\x0a\x01x\x15\x00\x00\x80\xbf\x12\x01y", 29);
  const auto pieces = parse_sentencepiece_model(bytes, "x");
  ASSERT_TRUE(pieces.has_value()) << pieces.error().message;
  ASSERT_EQ(pieces->size(), 2U);
  EXPECT_EQ((*pieces)[0].text, "<unk>");
  EXPECT_EQ((*pieces)[0].type, TokenType::unknown);
  EXPECT_EQ((*pieces)[1].text, "x");
  EXPECT_EQ((*pieces)[1].score, -1.0F);
  for (size_t n = 0; n < bytes.size(); ++n) {
    if (n != 16 && n != 26) {
      EXPECT_FALSE(parse_sentencepiece_model(bytes.substr(0, n), "x").has_value()) << n;
    }
  }
}

}  // namespace
}  // namespace parlance
