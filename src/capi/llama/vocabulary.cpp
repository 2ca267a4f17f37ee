// A model's vocabulary: what its tokens are, and texts to tokens and back.
#include <algorithm>
#include <cstring>

#include "capi/llama/model.h"
#include "capi/llama/report.h"
#include "capi/llama/text_out.h"

namespace parlance::capi {

namespace {

// What `read` says of a model's vocabulary.
template <class R, class Read>
R of_vocabulary(const char* function, const llama_vocab* handle, R otherwise, Read read) {
  return llama_answer(function, otherwise, [&]() -> Result<R> {
    const auto model = llama_model_of(function, handle);
    return model ? static_cast<R>(read(*model)) : otherwise;
  });
}

template <class Read>
llama_token special_token(const char* function, const llama_vocab* handle, Read read) {
  return of_vocabulary(function, handle, LLAMA_TOKEN_NULL, [&](const LlamaModel& model) {
    const std::optional<Token> token = read(model.tokenizer());
    return token.value_or(LLAMA_TOKEN_NULL);
  });
}

llama_token_attr attributes_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::normal:
      return LLAMA_TOKEN_ATTR_NORMAL;
    case TokenKind::unknown:
      return LLAMA_TOKEN_ATTR_UNKNOWN;
    case TokenKind::control:
      return LLAMA_TOKEN_ATTR_CONTROL;
    case TokenKind::user_defined:
      return LLAMA_TOKEN_ATTR_USER_DEFINED;
    case TokenKind::unused:
      return LLAMA_TOKEN_ATTR_UNUSED;
    case TokenKind::byte:
      return LLAMA_TOKEN_ATTR_BYTE;
    case TokenKind::undefined:
      break;
  }
  return LLAMA_TOKEN_ATTR_UNDEFINED;
}

// Of the file, where the tokenizer has no use for it; files spell the key so.
std::optional<Token> separator(const LlamaModel& model) {
  const auto id =
      model.file().find_int("tokenizer.ggml.seperator_token_id", 0, model.tokenizer().n_vocab() - 1);
  return id && *id ? std::optional(static_cast<Token>(**id)) : std::nullopt;
}

// Without the tokens that encode() puts around a text.
std::span<const llama_token> inner(std::span<const llama_token> tokens, const Tokenizer& tokenizer) {
  if (!tokens.empty() && tokenizer.adds_bos() && tokens.front() == tokenizer.bos())
    tokens = tokens.subspan(1);
  if (!tokens.empty() && tokenizer.adds_eos() && tokens.back() == tokenizer.eos())
    tokens = tokens.first(tokens.size() - 1);
  return tokens;
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

enum llama_vocab_type llama_vocab_type(const llama_vocab* vocab) {
  return of_vocabulary(__func__, vocab, LLAMA_VOCAB_TYPE_NONE, [](const LlamaModel& model) {
    return model.tokenizer().model() == "llama" ? LLAMA_VOCAB_TYPE_SPM : LLAMA_VOCAB_TYPE_BPE;
  });
}

int32_t llama_vocab_n_tokens(const llama_vocab* vocab) {
  return of_vocabulary(__func__, vocab, 0,
                       [](const LlamaModel& model) { return model.tokenizer().n_vocab(); });
}

const char* llama_vocab_get_text(const llama_vocab* vocab, llama_token token) {
  return of_vocabulary(__func__, vocab, static_cast<const char*>(nullptr),
                       [&](LlamaModel& model) { return model.token_text(token); });
}

llama_token_attr llama_vocab_get_attr(const llama_vocab* vocab, llama_token token) {
  return of_vocabulary(__func__, vocab, LLAMA_TOKEN_ATTR_UNDEFINED,
                       [&](const LlamaModel& model) { return attributes_of(model.tokenizer().kind(token)); });
}

bool llama_vocab_is_eog(const llama_vocab* vocab, llama_token token) {
  return of_vocabulary(__func__, vocab, false, [&](const LlamaModel& model) {
    return model.tokenizer().is_end_of_generation(token);
  });
}

bool llama_vocab_is_control(const llama_vocab* vocab, llama_token token) {
  return of_vocabulary(__func__, vocab, false, [&](const LlamaModel& model) {
    return model.tokenizer().kind(token) == TokenKind::control;
  });
}

llama_token llama_vocab_bos(const llama_vocab* vocab) {
  return special_token(__func__, vocab, [](const Tokenizer& t) { return t.bos(); });
}

llama_token llama_vocab_eos(const llama_vocab* vocab) {
  return special_token(__func__, vocab, [](const Tokenizer& t) { return t.eos(); });
}

llama_token llama_vocab_eot(const llama_vocab* vocab) {
  return special_token(__func__, vocab, [](const Tokenizer& t) { return t.end_of_turn(); });
}

llama_token llama_vocab_sep(const llama_vocab* vocab) {
  return of_vocabulary(__func__, vocab, LLAMA_TOKEN_NULL,
                       [](const LlamaModel& model) { return separator(model).value_or(LLAMA_TOKEN_NULL); });
}

llama_token llama_vocab_nl(const llama_vocab* vocab) {
  return special_token(__func__, vocab, [](const Tokenizer& t) -> std::optional<Token> {
    if (t.model() == "llama") return t.find("<0x0A>");
    const std::vector<Token> tokens = t.encode("\n");
    return tokens.empty() ? std::nullopt : std::optional(tokens.front());
  });
}

llama_token llama_vocab_pad(const llama_vocab* vocab) {
  return special_token(__func__, vocab, [](const Tokenizer& t) { return t.padding(); });
}

llama_token llama_vocab_mask(const llama_vocab* vocab) {
  return special_token(__func__, vocab, [](const Tokenizer& t) { return t.mask(); });
}

bool llama_vocab_get_add_bos(const llama_vocab* vocab) {
  return of_vocabulary(__func__, vocab, false,
                       [](const LlamaModel& model) { return model.tokenizer().adds_bos(); });
}

bool llama_vocab_get_add_eos(const llama_vocab* vocab) {
  return of_vocabulary(__func__, vocab, false,
                       [](const LlamaModel& model) { return model.tokenizer().adds_eos(); });
}

// Separators stand between the texts that a ranking model compares; none is run.
bool llama_vocab_get_add_sep(const llama_vocab* vocab) {
  return of_vocabulary(__func__, vocab, false, [](const LlamaModel&) { return false; });
}

// Of architectures that are not run.
const llama_token* llama_vocab_get_suppress_tokens(const llama_vocab* vocab, int32_t* n_suppress_tokens) {
  if (n_suppress_tokens) *n_suppress_tokens = 0;
  return of_vocabulary(__func__, vocab, static_cast<const llama_token*>(nullptr),
                       [](const LlamaModel&) { return nullptr; });
}

int32_t llama_tokenize(const llama_vocab* vocab, const char* text, int32_t text_len, llama_token* tokens,
                       int32_t n_tokens_max, bool add_special, bool parse_special) {
  return llama_answer(__func__, INT32_MIN, [&, function = __func__]() -> Result<int32_t> {
    const auto model = llama_model_of(function, vocab);
    if (!model) return INT32_MIN;
    if (text_len < 0 || (!text && text_len > 0))
      return fail(ErrorCode::invalid_argument, "text has {} bytes at {}", text_len,
                  text ? "its place" : "NULL");
    const auto found =
        model->tokenizer().encode({text ? text : "", static_cast<size_t>(text_len)},
                                  {.add_special = add_special, .parse_special = parse_special});
    if (found.size() > INT32_MAX) return INT32_MIN;
    const auto n = static_cast<int32_t>(found.size());
    if (n > n_tokens_max || (n > 0 && !tokens)) return -n;
    std::ranges::copy(found, tokens);
    return n;
  });
}

int32_t llama_token_to_piece(const llama_vocab* vocab, llama_token token, char* buf, int32_t length,
                             int32_t lstrip, bool special) {
  return of_vocabulary(__func__, vocab, 0, [&](const LlamaModel& model) {
    std::string_view piece = model.tokenizer().piece(token, special);
    for (; lstrip > 0 && piece.starts_with(' '); --lstrip) piece.remove_prefix(1);
    return copy_whole(piece, buf, length);
  });
}

int32_t llama_detokenize(const llama_vocab* vocab, const llama_token* tokens, int32_t n_tokens, char* text,
                         int32_t text_len_max, bool remove_special, bool unparse_special) {
  return llama_answer(__func__, 0, [&, function = __func__]() -> Result<int32_t> {
    const auto model = llama_model_of(function, vocab);
    if (!model || n_tokens == 0) return 0;
    if (!tokens || n_tokens < 0)
      return fail(ErrorCode::invalid_argument, "there are {} tokens at {}", n_tokens,
                  tokens ? "their place" : "NULL");
    std::span<const llama_token> given(tokens, static_cast<size_t>(n_tokens));
    if (remove_special) given = inner(given, model->tokenizer());
    return copy_whole(model->tokenizer().decode({given.begin(), given.end()}, unparse_special), text,
                      text_len_max);
  });
}
