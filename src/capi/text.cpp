// Text as numbers: tokens, directions, and whether a turn has ended.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "assistant/embedding.h"
#include "assistant/text_stream.h"
#include "capi/context.h"

namespace parlance::capi {

namespace {

Answer<int> tokenize(EliInferenceContext* ctx, const char* text, size_t text_len,
                     const EncodeOptions& options, int** out_tokens, size_t* out_n_tokens) {
  CAPI_TRY(const auto context, context_of(ctx));
  CAPI_CHECK(check_not_null("out_tokens", out_tokens));
  CAPI_CHECK(check_not_null("out_n_tokens", out_n_tokens));
  *out_tokens = nullptr;
  *out_n_tokens = 0;
  CAPI_TRY(const std::string_view words, text_of("text", text, text_len, /*may_be_empty=*/true));
  CAPI_TRY(const auto vocabulary, context->vocabulary());
  const std::vector<Token> tokens = vocabulary->encode(words, options);
  CAPI_TRY(*out_tokens, copy_of(tokens));
  *out_n_tokens = tokens.size();
  return ELIZA_OK;
}

Answer<void> check_vocabulary(std::span<const int32_t> tokens, const Tokenizer& vocabulary) {
  for (const Token token : tokens) {
    if (token >= 0 && token < vocabulary.n_vocab()) continue;
    return refuse(ELIZA_ERR_INVALID_ARG, "token {} is not one of the vocabulary's {}", token,
                  vocabulary.n_vocab());
  }
  return {};
}

// Without the tokens that encode() puts around a text.
std::span<const int32_t> without_special(std::span<const int32_t> tokens, const Tokenizer& vocabulary) {
  if (!tokens.empty() && vocabulary.adds_bos() && tokens.front() == vocabulary.bos())
    tokens = tokens.subspan(1);
  if (!tokens.empty() && vocabulary.adds_eos() && tokens.back() == vocabulary.eos())
    tokens = tokens.first(tokens.size() - 1);
  return tokens;
}

Answer<int> detokenize(EliInferenceContext* ctx, const int* tokens, size_t n_tokens, bool removes_special,
                       bool writes_special, char* out_text, size_t max_text_bytes) {
  CAPI_TRY(const auto context, context_of(ctx));
  CAPI_CHECK(check_room(out_text, max_text_bytes));
  if (n_tokens == 0) return 0;
  CAPI_TRY(auto given, tokens_of("tokens", tokens, n_tokens));
  CAPI_TRY(const auto vocabulary, context->vocabulary());
  CAPI_CHECK(check_vocabulary(given, *vocabulary));
  if (removes_special) given = without_special(given, *vocabulary);
  StreamingDecoder decoder;
  std::string text = decoder.push(vocabulary->decode({given.begin(), given.end()}, writes_special));
  text += decoder.finish();
  if (text.size() >= max_text_bytes) {
    return refuse(ELIZA_ERR_INVALID_ARG, "out_text has room for {} bytes; required bytes={}", max_text_bytes,
                  text.size() + 1);
  }
  return write_text(text, out_text, max_text_bytes);
}

// As llama.cpp numbers them; none: as the model's file says.
Answer<std::optional<Pooling>> pooling_of(int pooling) {
  constexpr int kAsTheFileSays = -1, kMean = 1, kFirst = 2, kLast = 3;
  switch (pooling) {
    case kAsTheFileSays:
      return std::optional<Pooling>();
    case kMean:
      return std::optional(Pooling::mean);
    case kFirst:
      return std::optional(Pooling::first);
    case kLast:
      return std::optional(Pooling::last);
    default:
      return refuse(ELIZA_ERR_INVALID_ARG,
                    "pooling is {}; it is -1 (as the model's file says), 1 (mean), 2 (first) or 3 (last)",
                    pooling);
  }
}

void scale_to_length_1(std::span<float> x) {
  const double square = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  if (square <= 0) return;
  const auto scale = static_cast<float>(1 / std::sqrt(square));
  for (float& value : x) value *= scale;
}

Answer<int> embed(EliInferenceContext* ctx, const char* text, size_t text_len, int pooling, float* out,
                  size_t capacity, int* out_dim) {
  CAPI_TRY(const auto context, context_of(ctx));
  CAPI_CHECK(check_not_null("out_dim", out_dim));
  *out_dim = 0;
  if (capacity > 0) CAPI_CHECK(check_not_null("out", out));
  CAPI_TRY(const std::string_view words, text_of("text", text, text_len));
  CAPI_TRY(const auto wanted, pooling_of(pooling));
  CAPI_TRY(const auto region, context->text());
  const int64_t n_embd = region->model().hyper_parameters().n_embd;
  *out_dim = static_cast<int>(n_embd);
  if (capacity < static_cast<size_t>(n_embd)) {
    return refuse(ELIZA_ERR_INVALID_ARG, "out has room for {} values; the model has {}", capacity, n_embd);
  }
  CAPI_TRY(std::vector<float> embedding, embed_text(*region, words, wanted));
  scale_to_length_1(embedding);
  std::ranges::copy(embedding, out);
  return ELIZA_OK;
}

struct Likeliest {
  int token = 0;
  double probability = 0;
};

struct EndOfTurn {
  double p_target = 0;
  Likeliest top;
};

EndOfTurn score(std::span<const float> logits, int target_id) {
  const auto top = std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - *top);
  const double target = logits[static_cast<size_t>(target_id)];
  return {.p_target = std::exp(target - *top) / sum,
          .top = {.token = static_cast<int>(top - logits.begin()), .probability = 1 / sum}};
}

Answer<int> end_of_turn(EliInferenceContext* ctx, const int* token_ids, size_t n_tokens, int target_id,
                        float* out_p_target, int* out_top_id, float* out_p_top) {
  CAPI_TRY(const auto context, context_of(ctx));
  CAPI_TRY(const auto tokens, tokens_of("token_ids", token_ids, n_tokens));
  CAPI_TRY(const auto region, context->text());
  CAPI_CHECK(check_vocabulary({&target_id, 1}, region->model().tokenizer()));
  CAPI_TRY(const auto stream, TextStream::open(region));
  CAPI_TRY(const std::span<const float> logits,
           stream->session().set_prompt(tokens, {.priority = Priority::realtime}));
  const EndOfTurn scored = score(logits, target_id);
  if (out_p_target) *out_p_target = static_cast<float>(scored.p_target);
  if (out_top_id) *out_top_id = scored.top.token;
  if (out_p_top) *out_p_top = static_cast<float>(scored.top.probability);
  return ELIZA_OK;
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance::capi;

int eliza_inference_tokenize_supported() {
  return 1;
}

int eliza_inference_tokenize(EliInferenceContext* ctx, const char* text, size_t text_len, int add_special,
                             int parse_special, int** out_tokens, size_t* out_n_tokens, char** out_error) {
  return answer_with(out_error, [&] {
    return tokenize(ctx, text, text_len,
                    {.add_special = add_special != 0, .parse_special = parse_special != 0}, out_tokens,
                    out_n_tokens);
  });
}

int eliza_inference_detokenize(EliInferenceContext* ctx, const int* tokens, size_t n_tokens,
                               int remove_special, int unparse_special, char* out_text, size_t max_text_bytes,
                               char** out_error) {
  return answer_with(out_error, [&] {
    return detokenize(ctx, tokens, n_tokens, remove_special != 0, unparse_special != 0, out_text,
                      max_text_bytes);
  });
}

int eliza_inference_embed_supported() {
  return 1;
}

int eliza_inference_embed(EliInferenceContext* ctx, const char* text, size_t text_len, int pooling,
                          float* out, size_t capacity, int* out_dim, char** out_error) {
  return answer_with(out_error, [&] { return embed(ctx, text, text_len, pooling, out, capacity, out_dim); });
}

int eliza_inference_llm_eot_supported() {
  return 1;
}

int eliza_inference_llm_eot_score(EliInferenceContext* ctx, const int* token_ids, size_t n_tokens,
                                  int target_id, float* out_p_target, int* out_top_id, float* out_p_top,
                                  char** out_error) {
  return answer_with(out_error, [&] {
    return end_of_turn(ctx, token_ids, n_tokens, target_id, out_p_target, out_top_id, out_p_top);
  });
}
