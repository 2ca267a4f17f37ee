// Models and vocabularies: what a file says, tokens and texts, and what cannot be asked for.
#include <cstring>
#include <map>

#include "capi/llama/support.h"

namespace parlance::test {
namespace {

TEST(LlamaModel, SaysWhatItsFileSays) {
  llama_model* const model = demo_llama();
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(llama_model_n_layer(model), 6);
  EXPECT_EQ(llama_model_n_head(model), 4);
  EXPECT_EQ(llama_model_n_head_kv(model), 2);
  EXPECT_EQ(llama_model_n_embd(model), 512);
  EXPECT_EQ(llama_model_n_ctx_train(model), 4096);
  EXPECT_EQ(llama_model_n_params(model), 13901824u);
  EXPECT_EQ(llama_model_size(model), 14794752u);
  EXPECT_TRUE(llama_model_has_decoder(model));
  EXPECT_FALSE(llama_model_has_encoder(model) || llama_model_is_recurrent(model) ||
               llama_model_is_hybrid(model));
  char text[256];
  EXPECT_GT(llama_model_desc(model, text, sizeof text), 0);
  EXPECT_EQ(std::string(text), "qwen3 13.9M q8_0");
  ASSERT_NE(llama_model_chat_template(model, nullptr), nullptr);
  EXPECT_NE(std::string(llama_model_chat_template(model, nullptr)).find("<|im_start|>"), std::string::npos);
  EXPECT_EQ(llama_model_chat_template(model, "rerank"), nullptr);
}

TEST(LlamaModel, HasMetadataAsText) {
  llama_model* const model = demo_llama();
  std::map<std::string, std::string> all;
  char key[256], value[4096];
  const int n = llama_model_meta_count(model);
  for (int i = 0; i < n; ++i) {
    EXPECT_GT(llama_model_meta_key_by_index(model, i, key, sizeof key), 0);
    EXPECT_GE(llama_model_meta_val_str_by_index(model, i, value, sizeof value), 0);
    all[key] = value;
  }
  EXPECT_EQ(all["qwen3.block_count"], "6");
  EXPECT_EQ(all["qwen3.attention.layer_norm_rms_epsilon"], "0.000001");
  EXPECT_EQ(all["tokenizer.ggml.add_bos_token"], "false");
  EXPECT_FALSE(all.contains("tokenizer.ggml.tokens"));
  EXPECT_EQ(static_cast<int>(all.size()), n);
  // Cut to the room there is, and the whole length told.
  EXPECT_EQ(llama_model_meta_val_str(model, "general.architecture", value, 3), 5);
  EXPECT_EQ(std::string(value), "qw");
  EXPECT_EQ(llama_model_meta_val_str(model, "general.nothing", value, sizeof value), -1);
  EXPECT_EQ(value[0], '\0');
  EXPECT_EQ(llama_model_meta_key_by_index(model, n, key, sizeof key), -1);
  EXPECT_EQ(std::string(llama_model_meta_key_str(LLAMA_MODEL_META_KEY_SAMPLING_MIROSTAT_ETA)),
            "general.sampling.mirostat_eta");
}

TEST(LlamaModel, VocabularyAloneComputesNothing) {
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  const OwnedLlamaModel model(llama_model_load_from_file(demo_text_file().c_str(), params));
  ASSERT_TRUE(model);
  EXPECT_EQ(llama_vocab_n_tokens(llama_model_get_vocab(model.get())), 4096);
  const LlamaLog log;
  EXPECT_EQ(llama_init_from_model(model.get(), llama_context_default_params()), nullptr);
  EXPECT_TRUE(log.says("vocab_only")) << log.text;
}

TEST(LlamaModel, RefusesWhatItCannotDo) {
  const auto refuses = [](const char* word, auto change) {
    llama_model_params params = llama_model_default_params();
    change(params);
    const LlamaLog log;
    const OwnedLlamaModel model(llama_model_load_from_file(demo_text_file().c_str(), params));
    EXPECT_FALSE(model) << word;
    EXPECT_TRUE(log.says(word)) << log.text;
    EXPECT_EQ(log.highest, GGML_LOG_LEVEL_ERROR);
  };
  ggml_backend_device* devices[] = {reinterpret_cast<ggml_backend_device*>(1), nullptr};
  const llama_model_tensor_buft_override tensors[] = {{"blk.*", nullptr}, {nullptr, nullptr}};
  const float split[] = {1, 0};
  llama_model_kv_override overrides[2] = {};
  std::strcpy(overrides[0].key, "qwen3.block_count");
  refuses("devices", [&](auto& p) { p.devices = devices; });
  refuses("tensor_buft_overrides", [&](auto& p) { p.tensor_buft_overrides = tensors; });
  refuses("split_mode", [&](auto& p) { p.split_mode = LLAMA_SPLIT_MODE_ROW; });
  refuses("load_mode", [&](auto& p) { p.load_mode = LLAMA_LOAD_MODE_MLOCK; });
  refuses("main_gpu", [&](auto& p) { p.main_gpu = 1; });
  refuses("tensor_split", [&](auto& p) { p.tensor_split = split; });
  refuses("kv_overrides", [&](auto& p) { p.kv_overrides = overrides; });
  refuses("check_tensors", [&](auto& p) { p.check_tensors = true; });
  refuses("no_alloc", [&](auto& p) { p.no_alloc = true; });
  refuses("load_mtp", [&](auto& p) { p.load_mtp = true; });
  refuses("progress_callback", [&](auto& p) { p.progress_callback = [](float, void*) { return false; }; });
  // What asks for nothing is fine.
  llama_model_params params = llama_model_default_params();
  const float no_split[] = {0, 0};
  params.tensor_split = no_split;
  overrides[0].key[0] = '\0';
  params.kv_overrides = overrides;
  EXPECT_TRUE(OwnedLlamaModel(llama_model_load_from_file(demo_text_file().c_str(), params)));
}

TEST(LlamaModel, SaysWhyAFileIsOfNoUse) {
  const TemporaryFolder folder;
  for (const std::string& path : {std::string(), (folder / "none.gguf").string(), folder.path().string(),
                                  (source_root() / "README.md").string()}) {
    const LlamaLog log;
    EXPECT_EQ(llama_model_load_from_file(path.c_str(), llama_model_default_params()), nullptr) << path;
    EXPECT_FALSE(log.text.empty());
  }
}

TEST(LlamaVocabulary, KnowsItsTokens) {
  const llama_vocab* const vocab = demo_vocab();
  EXPECT_EQ(llama_vocab_type(vocab), LLAMA_VOCAB_TYPE_BPE);
  EXPECT_EQ(llama_vocab_n_tokens(vocab), 4096);
  EXPECT_EQ(llama_vocab_bos(vocab), 4043);
  EXPECT_EQ(llama_vocab_eos(vocab), 4045);
  EXPECT_EQ(llama_vocab_nl(vocab), 10);
  EXPECT_EQ(llama_vocab_pad(vocab), 4043);
  EXPECT_EQ(llama_vocab_sep(vocab), LLAMA_TOKEN_NULL);
  EXPECT_EQ(llama_vocab_mask(vocab), LLAMA_TOKEN_NULL);
  EXPECT_FALSE(llama_vocab_get_add_bos(vocab) || llama_vocab_get_add_eos(vocab) ||
               llama_vocab_get_add_sep(vocab));
  EXPECT_TRUE(llama_vocab_is_eog(vocab, 4045));
  EXPECT_TRUE(llama_vocab_is_control(vocab, 4044));
  EXPECT_EQ(llama_vocab_get_attr(vocab, 4046), LLAMA_TOKEN_ATTR_USER_DEFINED);
  EXPECT_EQ(llama_vocab_get_attr(vocab, 1), LLAMA_TOKEN_ATTR_NORMAL);
  EXPECT_STREQ(llama_vocab_get_text(vocab, 4044), "<|im_start|>");
  EXPECT_EQ(llama_vocab_get_text(vocab, 4044), llama_vocab_get_text(vocab, 4044));  // one place
  for (const llama_token none : {-1, 4096, INT32_MAX}) {
    EXPECT_EQ(llama_vocab_get_text(vocab, none), nullptr);
    EXPECT_FALSE(llama_vocab_is_eog(vocab, none) || llama_vocab_is_control(vocab, none));
    char piece[8];
    EXPECT_EQ(llama_token_to_piece(vocab, none, piece, 8, 0, true), 0);
  }
}

TEST(LlamaVocabulary, TokensAndBack) {
  const llama_vocab* const vocab = demo_vocab();
  const std::string text = "<|im_start|>user\nGrüße, what's up?<|im_end|>";
  const auto size = static_cast<int32_t>(text.size());
  const int n = -llama_tokenize(vocab, text.data(), size, nullptr, 0, true, true);
  ASSERT_GT(n, 4);
  std::vector<llama_token> tokens(static_cast<size_t>(n));
  EXPECT_EQ(llama_tokenize(vocab, text.data(), size, tokens.data(), n - 1, true, true), -n);
  EXPECT_EQ(llama_tokenize(vocab, text.data(), size, tokens.data(), n, true, true), n);
  EXPECT_EQ(tokens.front(), 4044);
  std::string back(text.size() + 1, '?');
  EXPECT_EQ(llama_detokenize(vocab, tokens.data(), n, back.data(), 3, false, true), -size);
  EXPECT_EQ(llama_detokenize(vocab, tokens.data(), n, back.data(), size, false, true), size);
  EXPECT_EQ(back.substr(0, text.size()), text);
  std::string pieces;
  for (const llama_token token : tokens) pieces += piece_of(token);
  EXPECT_EQ(pieces, text);
  // Special tokens are texts of their own where they are not meant, and silent where not asked for.
  EXPECT_GT(-llama_tokenize(vocab, text.data(), size, nullptr, 0, true, false), n);
  EXPECT_EQ(llama_detokenize(vocab, tokens.data(), 1, back.data(), size, false, false), 0);
  char piece[16];
  EXPECT_EQ(llama_token_to_piece(vocab, 4044, piece, 4, 0, true), -12);
  EXPECT_EQ(llama_tokenize(vocab, text.data(), -1, tokens.data(), n, true, true), INT32_MIN);
  EXPECT_EQ(llama_tokenize(vocab, "", 0, nullptr, 0, true, true), 0);
}

TEST(LlamaTemplate, RendersConversations) {
  const llama_chat_message chat[] = {{"user", "Hi"}, {"assistant", "Hello"}, {"user", "Bye"}};
  const std::string expected =
      "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n<|im_start|>user\nBye<|im_end|"
      ">\n";
  char text[512];
  for (const char* tmpl :
       {llama_model_chat_template(demo_llama(), nullptr), "chatml", static_cast<const char*>(nullptr)}) {
    const int n = llama_chat_apply_template(tmpl, chat, 3, false, text, sizeof text);
    EXPECT_EQ(std::string(text, static_cast<size_t>(n)), expected);
    const int longer = llama_chat_apply_template(tmpl, chat, 3, true, text, sizeof text);
    EXPECT_EQ(std::string(text, static_cast<size_t>(longer)), expected + "<|im_start|>assistant\n");
    EXPECT_EQ(llama_chat_apply_template(tmpl, chat, 3, true, nullptr, 0), longer);
  }
  EXPECT_EQ(
      llama_chat_apply_template("{{ messages | length }} {{ messages[2].content }}", chat, 3, false, text, 4),
      5);
  EXPECT_EQ(std::string(text, 4), "3 By");
  const LlamaLog log;
  EXPECT_LT(llama_chat_apply_template("{% for %}", chat, 3, false, text, sizeof text), 0);
  EXPECT_LT(llama_chat_apply_template("chatml", nullptr, 3, false, text, sizeof text), 0);
  EXPECT_FALSE(log.text.empty());
}

}  // namespace
}  // namespace parlance::test
