#include "engine/text_model.h"

namespace parlance {

namespace {

constexpr std::string_view kChatMl =
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";

}  // namespace

Result<std::unique_ptr<TextModel>> TextModel::load(const std::filesystem::path& path, Device& device) {
  PARLANCE_TRY(auto file, GgufFile::open(path));
  PARLANCE_CHECK(architecture_of(file));
  PARLANCE_TRY(const HyperParameters hp, read_hyper_parameters(file));
  return load(std::move(file), Placement(device, hp.n_layer));
}

Result<std::unique_ptr<TextModel>> TextModel::load(GgufFile file, const Placement& placement,
                                                   const TextModelOptions& options) {
  std::unique_ptr<TextModel> text(new TextModel(std::move(file)));
  PARLANCE_TRY(text->model_, load_model(text->file_, placement, options.precision));
  PARLANCE_TRY(text->tokenizer_, Tokenizer::load(text->file_));
  if (text->tokenizer_->n_vocab() != text->model_->n_vocab()) {
    return fail(ErrorCode::corrupt_file,
                "{}: token_embd.weight has {} rows, the tokenizer has {} tokens; export the model again",
                text->file_.name(), text->model_->n_vocab(), text->tokenizer_->n_vocab());
  }
  if (text->model_->n_logits() != text->model_->n_vocab() && !options.may_classify) {
    return fail(ErrorCode::unsupported,
                "{}: the model yields {} classes, not the {} tokens of its vocabulary; it writes no text",
                text->file_.name(), text->model_->n_logits(), text->model_->n_vocab());
  }
  // A file whose layers a GPU holds in part is left alone: most of the copy would never be read.
  const bool is_all_on_cpu = placement.parts().size() == 1 && placement.first().device->name() == "cpu";
  if (options.huge_pages && is_all_on_cpu) text->file_.move_to_huge_pages();
  return text;
}

std::shared_ptr<const TokenTrie> TextModel::token_trie() const {
  std::call_once(trie_asked_for_, [this] { trie_ = std::make_shared<TokenTrie>(*tokenizer_); });
  return trie_;
}

Result<const ChatTemplate*> TextModel::chat_template() const {
  std::call_once(template_asked_for_, [this] {
    chat_template_ = ChatTemplate::parse(tokenizer_->chat_template().value_or(kChatMl));
  });
  if (!*chat_template_) return tl::unexpected(chat_template_->error());
  return &**chat_template_;
}

}  // namespace parlance
