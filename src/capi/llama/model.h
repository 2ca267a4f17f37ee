// A model as programs of llama.cpp hold it: its file, its vocabulary, and its weights for contexts.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "assistant/text_region.h"
#include "capi/handles.h"
#include "capi/llama/abi.h"

namespace parlance::capi {

// From any thread.
class LlamaModel {
 public:
  static constexpr HandleKind kKind = HandleKind::llama_model;

  // Errors: what is asked for that there is no code for; as of load_text_weights().
  static Result<std::shared_ptr<LlamaModel>> load(const std::filesystem::path& path,
                                                  const llama_model_params& params);

  const GgufFile& file() const { return *file_; }
  const Tokenizer& tokenizer() const { return text() ? text()->tokenizer() : *tokenizer_; }
  // Null: only the vocabulary was asked for.
  const TextModel* text() const { return weights_ ? weights_->model.get() : nullptr; }
  double load_ms() const { return load_ms_; }

  // For contexts that compute with so many threads of the CPU. Errors: there are no weights; as of
  // load_text_weights().
  Result<std::shared_ptr<TextWeights>> weights(int n_threads);

  // Texts that the caller may keep for as long as the model; null: there is none.
  const char* token_text(Token token);
  const char* chat_template(const std::string& name);  // ""; or of one beside it

 private:
  Choice choice_;
  int n_threads_ = 0;  // of what follows
  std::shared_ptr<TextWeights> weights_;
  std::optional<GgufFile> file_;
  std::optional<Tokenizer> tokenizer_;  // where there are no weights
  double load_ms_ = 0;

  std::mutex mutex_;  // of what follows
  std::map<int, std::weak_ptr<TextWeights>> for_threads_;
  std::map<Token, std::string> token_texts_;
  std::map<std::string, std::string> chat_templates_;  // by name
};

// The object behind a handle; null, and a line in the log, where there is none.
std::shared_ptr<LlamaModel> llama_model_of(const char* function, const void* handle);

// Threads of the CPU for a wish of a program: no more than there are processors.
int llama_threads(int32_t wanted);

}  // namespace parlance::capi
