#include "tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <variant>

#include "base/log.h"
#include "gguf/contents.h"
#include "tokenizer/byte_level_bpe.h"
#include "tokenizer/pieces.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/special_splitter.h"
#include "tokenizer/vocabulary.h"

namespace parlance {

struct Tokenizer::Impl {
  explicit Impl(Vocabulary loaded) : vocabulary(std::move(loaded)), special(vocabulary), pieces(vocabulary) {}

  Vocabulary vocabulary;  // the others point to it
  SpecialSplitter special;
  Pieces pieces;
  std::variant<std::monostate, ByteLevelBpe, SentencePiece> model;
  std::string_view pre;
  std::optional<std::string_view> chat_template;
};

namespace {

// What the files of an architecture leave to be known.
struct Convention {
  std::string_view architecture;
  std::string_view pre;
  std::span<const std::string_view> special_tokens;  // these and no others
};

constexpr std::string_view kOmniVoiceSpecialTokens[] = {
    "<|endoftext|>",      "<|denoise|>",      "<|lang_start|>", "<|lang_end|>",
    "<|instruct_start|>", "<|instruct_end|>", "<|text_start|>", "<|text_end|>",
};
constexpr Convention kConventions[] = {{"omnivoice-lm", "qwen2", kOmniVoiceSpecialTokens}};

Result<const Convention*> find_convention(const GgufFile& file) {
  PARLANCE_TRY(const std::optional<std::string_view> architecture, file.find_string("general.architecture"));
  const auto* found = std::ranges::find(kConventions, architecture.value_or(""), &Convention::architecture);
  return found == std::end(kConventions) ? nullptr : found;
}

// The pre-tokenizer of that name, else the one that a file of byte-level BPE asks for.
Result<const PreTokenizer*> choose_pre_tokenizer(const GgufFile& file, std::string_view wanted,
                                                 const Convention* convention) {
  const std::string key = tokenizer_key("pre");
  PARLANCE_TRY(std::optional<std::string_view> name, file.find_string(key));
  if (!wanted.empty()) {
    name = wanted;
  } else if (convention && name.value_or("").empty()) {
    name = convention->pre;
  }
  if (!name || name->empty()) {
    log_warning(
        "{}: key {} is missing; text is split by the rules of \"default\", which this model may not have "
        "been trained with",
        file.name(), key);
  }
  if (const PreTokenizer* pre = find_pre_tokenizer(name.value_or("").empty() ? "default" : *name)) return pre;
  std::string known;
  for (const PreTokenizer& pre : pre_tokenizers())
    fmt::format_to(std::back_inserter(known), "{}{}", known.empty() ? "" : ", ", pre.name);
  return fail(ErrorCode::unsupported, "{}: {} is \"{}\"; the pre-tokenizers that can be used are {}",
              file.name(), key, printable(*name), known);
}

}  // namespace

Result<Tokenizer> Tokenizer::load(const GgufFile& file, std::string_view pre_name) {
  const std::string key = tokenizer_key("model");
  PARLANCE_TRY(const std::string_view model, file.get_string(key));
  std::unique_ptr<Impl> impl;
  if (model == "gpt2") {
    PARLANCE_TRY(const Convention* const convention, find_convention(file));
    PARLANCE_TRY(const PreTokenizer* const pre, choose_pre_tokenizer(file, pre_name, convention));
    PARLANCE_TRY(Vocabulary vocabulary,
                 load_vocabulary(file, VocabularyModel::byte_level_bpe, pre->adds_bos));
    if (convention) make_only_special(convention->special_tokens, vocabulary);
    impl = std::make_unique<Impl>(std::move(vocabulary));
    impl->pre = pre->name;
    PARLANCE_TRY(impl->model, ByteLevelBpe::load(impl->vocabulary, *pre));
  } else if (model == "llama") {
    PARLANCE_TRY(Vocabulary vocabulary, load_vocabulary(file, VocabularyModel::sentencepiece, true));
    impl = std::make_unique<Impl>(std::move(vocabulary));
    impl->model = SentencePiece(impl->vocabulary);
  } else {
    return fail(ErrorCode::unsupported,
                "{}: {} is \"{}\"; the tokenizers that can be used are \"gpt2\" and \"llama\"", file.name(),
                key, printable(model));
  }
  PARLANCE_TRY(impl->chat_template, file.find_string("tokenizer.chat_template"));
  return Tokenizer(std::move(impl));
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::vector<Token> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<Token> tokens;
  if (options.add_special && adds_bos()) tokens.push_back(*bos());
  bool at_start = true;
  impl_->special.split(text, options.parse_special, [&](Token token, std::string_view part) {
    if (token >= 0) {
      tokens.push_back(token);
    } else if (const auto* bpe = std::get_if<ByteLevelBpe>(&impl_->model)) {
      bpe->encode(part, tokens);
    } else {
      std::get<SentencePiece>(impl_->model).encode(part, at_start, tokens);
    }
    at_start = token >= 0;
  });
  if (options.add_special && adds_eos()) tokens.push_back(*eos());
  return tokens;
}

std::string_view Tokenizer::piece(Token token, bool with_special) const {
  if (!impl_->vocabulary.has(token)) return {};
  const TokenKind kind = impl_->vocabulary.kind(token);
  const bool is_special = kind == TokenKind::control || kind == TokenKind::unknown;
  return is_special && !with_special ? std::string_view() : impl_->pieces[token];
}

std::string Tokenizer::decode(const std::vector<Token>& tokens, bool with_special) const {
  std::string text;
  for (const Token token : tokens) text += piece(token, with_special);
  // The space that encode() put before the text.
  if (impl_->vocabulary.adds_space_prefix && !tokens.empty() &&
      piece(tokens[0], with_special).starts_with(' ')) {
    text.erase(0, 1);
  }
  return text;
}

int32_t Tokenizer::n_vocab() const {
  return impl_->vocabulary.n_tokens();
}

std::string_view Tokenizer::text(Token token) const {
  return impl_->vocabulary.has(token) ? impl_->vocabulary.text(token) : std::string_view();
}

TokenKind Tokenizer::kind(Token token) const {
  return impl_->vocabulary.has(token) ? impl_->vocabulary.kind(token) : TokenKind::undefined;
}

std::optional<Token> Tokenizer::find(std::string_view text) const {
  return impl_->vocabulary.find(text);
}

std::optional<Token> Tokenizer::bos() const {
  return impl_->vocabulary[SpecialToken::bos];
}
std::optional<Token> Tokenizer::eos() const {
  return impl_->vocabulary[SpecialToken::eos];
}
std::optional<Token> Tokenizer::end_of_turn() const {
  return impl_->vocabulary[SpecialToken::end_of_turn];
}
std::optional<Token> Tokenizer::unknown() const {
  return impl_->vocabulary[SpecialToken::unknown];
}
std::optional<Token> Tokenizer::padding() const {
  return impl_->vocabulary[SpecialToken::padding];
}
std::optional<Token> Tokenizer::mask() const {
  return impl_->vocabulary[SpecialToken::mask];
}
bool Tokenizer::adds_bos() const {
  return impl_->vocabulary.adds_bos && bos().has_value();
}
bool Tokenizer::adds_eos() const {
  return impl_->vocabulary.adds_eos && eos().has_value();
}

bool Tokenizer::is_end_of_generation(Token token) const {
  return std::ranges::binary_search(impl_->vocabulary.end_of_generation, token);
}

const std::vector<Token>& Tokenizer::end_of_generation() const {
  return impl_->vocabulary.end_of_generation;
}

std::string_view Tokenizer::model() const {
  return impl_->vocabulary.model == VocabularyModel::byte_level_bpe ? "gpt2" : "llama";
}

std::string_view Tokenizer::pre() const {
  return impl_->pre;
}
std::optional<std::string_view> Tokenizer::chat_template() const {
  return impl_->chat_template;
}

}  // namespace parlance
