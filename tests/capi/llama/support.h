// What tests of llama.cpp's interface share: its functions on the demo model, with what is logged kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "capi/llama/abi.h"
#include "capi/support/client.h"
#include "support/temporary_folder.h"

namespace parlance::test {

struct EndLlama {
  void operator()(llama_model* model) const { llama_model_free(model); }
  void operator()(llama_context* ctx) const { llama_free(ctx); }
  void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using OwnedLlamaModel = std::unique_ptr<llama_model, EndLlama>;
using OwnedLlamaContext = std::unique_ptr<llama_context, EndLlama>;
using OwnedSampler = std::unique_ptr<llama_sampler, EndLlama>;

inline std::string demo_text_file() {
  return demo_bundle() + "/text/parlance-demo-text-q8_0.gguf";
}

inline llama_model* demo_llama() {
  static const OwnedLlamaModel model(
      llama_model_load_from_file(demo_text_file().c_str(), llama_model_default_params()));
  return model.get();
}

inline const llama_vocab* demo_vocab() {
  return llama_model_get_vocab(demo_llama());
}

// Everything that is logged while it lives.
class LlamaLog {
 public:
  LlamaLog() {
    llama_log_set(
        [](ggml_log_level level, const char* text, void* self) {
          auto* const log = static_cast<LlamaLog*>(self);
          log->text += text;
          log->highest = std::max(log->highest, static_cast<int>(level));
        },
        this);
  }
  ~LlamaLog() { llama_log_set(nullptr, nullptr); }
  LlamaLog(const LlamaLog&) = delete;
  LlamaLog& operator=(const LlamaLog&) = delete;

  bool says(const std::string& what) const { return text.find(what) != std::string::npos; }

  std::string text;
  int highest = 0;
};

inline OwnedLlamaContext demo_llama_context(llama_context_params params = llama_context_default_params()) {
  OwnedLlamaContext ctx(llama_init_from_model(demo_llama(), params));
  EXPECT_TRUE(ctx);
  return ctx;
}

inline std::vector<llama_token> llama_tokens_of(const std::string& text) {
  std::vector<llama_token> tokens(text.size() + 8);
  const int n = llama_tokenize(demo_vocab(), text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                               static_cast<int32_t>(tokens.size()), true, true);
  EXPECT_GT(n, 0);
  tokens.resize(static_cast<size_t>(std::max(n, 0)));
  return tokens;
}

inline std::string piece_of(llama_token token) {
  char buffer[64];
  const int n = llama_token_to_piece(demo_vocab(), token, buffer, sizeof buffer, 0, true);
  return {buffer, static_cast<size_t>(std::max(n, 0))};
}

// A batch whose arrays are vectors.
struct OwnBatch {
  void add(llama_token token, llama_pos pos, std::vector<llama_seq_id> sequences, bool is_wanted) {
    tokens.push_back(token);
    positions.push_back(pos);
    ids.push_back(std::move(sequences));
    wanted.push_back(is_wanted);
  }
  // A text of one sequence, of which the last token's outputs are wanted.
  void add(const std::vector<llama_token>& text, llama_seq_id seq, llama_pos first = 0) {
    for (size_t i = 0; i < text.size(); ++i)
      add(text[i], first + static_cast<llama_pos>(i), {seq}, i + 1 == text.size());
  }
  operator llama_batch() {  // NOLINT: stands for the argument
    counts.clear();
    places.clear();
    for (auto& list : ids) {
      counts.push_back(static_cast<int32_t>(list.size()));
      places.push_back(list.data());
    }
    llama_batch batch = {};
    batch.n_tokens = static_cast<int32_t>(tokens.size());
    batch.token = tokens.data();
    batch.pos = positions.data();
    batch.n_seq_id = counts.data();
    batch.seq_id = places.data();
    batch.logits = wanted.data();
    return batch;
  }

  std::vector<llama_token> tokens;
  std::vector<llama_pos> positions;
  std::vector<std::vector<llama_seq_id>> ids;
  std::vector<int8_t> wanted;
  std::vector<int32_t> counts;
  std::vector<llama_seq_id*> places;
};

inline std::vector<float> logits_at(llama_context* ctx, int32_t i) {
  const float* logits = llama_get_logits_ith(ctx, i);
  EXPECT_NE(logits, nullptr);
  if (!logits) return {};
  return {logits, logits + llama_vocab_n_tokens(demo_vocab())};
}

inline llama_token likeliest(const std::vector<float>& logits) {
  return static_cast<llama_token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

inline float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// Kernels for one row and for many round differently.
constexpr float kSameLogits = 0.25f;

// What the likeliest tokens say, up to the end of the answer.
inline std::string llama_greedy_answer(llama_context* ctx, const std::string& prompt, int most = 40) {
  std::vector<llama_token> tokens = llama_tokens_of(prompt);
  EXPECT_EQ(llama_decode(ctx, llama_batch_get_one(tokens.data(), static_cast<int32_t>(tokens.size()))), 0);
  const OwnedSampler greedy(llama_sampler_init_greedy());
  std::string answer;
  for (int i = 0; i < most; ++i) {
    llama_token token = llama_sampler_sample(greedy.get(), ctx, -1);
    if (token < 0 || llama_vocab_is_eog(demo_vocab(), token)) break;
    answer += piece_of(token);
    EXPECT_EQ(llama_decode(ctx, llama_batch_get_one(&token, 1)), 0);
  }
  return answer;
}

}  // namespace parlance::test
