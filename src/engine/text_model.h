// A language model as one thing: file, tokenizer, chat template and weights on a device.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "gguf/reader.h"
#include "grammar/token_trie.h"
#include "jinja/template.h"
#include "kernels/device.h"
#include "models/model.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

struct TextModelOptions {
  bool huge_pages =
      true;  // weights that the CPU reads move into huge pages in the background, memory allowing
  WeightPrecision precision = WeightPrecision::as_stored;
  bool may_classify = false;  // whether a model that yields classes in place of tokens is welcome
};

class TextModel {
 public:
  // Maps the file, checks it and points at its weights, or uploads them to a GPU. The device must outlive the
  // model.
  static Result<std::unique_ptr<TextModel>> load(const std::filesystem::path& path, Device& device);

  // The same for a file that is open, with its layers on several devices.
  static Result<std::unique_ptr<TextModel>> load(GgufFile file, const Placement& placement,
                                                 const TextModelOptions& options = {});

  const GgufFile& file() const { return file_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const Model& model() const { return *model_; }
  const HyperParameters& hyper_parameters() const { return model_->hyper_parameters(); }

  // The template of the file, or ChatML when the file has none. An error if the file's template cannot be
  // parsed.
  Result<const ChatTemplate*> chat_template() const;
  // The vocabulary as a tree, for answers that follow a grammar; made when first asked for. No longer than
  // the model.
  std::shared_ptr<const TokenTrie> token_trie() const;

 private:
  explicit TextModel(GgufFile file) : file_(std::move(file)) {}

  GgufFile file_;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<Model> model_;
  mutable std::once_flag trie_asked_for_;
  mutable std::shared_ptr<const TokenTrie> trie_;
  mutable std::once_flag template_asked_for_;
  mutable std::optional<Result<ChatTemplate>> chat_template_;  // parsed when first asked for
};

}  // namespace parlance
