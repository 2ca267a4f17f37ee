#include "capi/llm.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "assistant/answer_form.h"
#include "base/parameter.h"
#include "text/unicode.h"

namespace parlance::capi {

namespace {

// A prompt that begins with as many tokens of what a stream holds goes on from it, and is no piece to be
// added.
constexpr size_t kTellingTokens = 16;

// The most that a step may propose where the caller does not say.
constexpr int32_t kAsTheLibraryLikes = 0;

Answer<KvFormat> cache_format(Parameter parameter, const char* name) {
  if (!name || !*name) return KvFormat::f16;
  if (const auto format = kv_format_from_name(name)) return *format;
  return refuse(ELIZA_ERR_INVALID_ARG, "{}: '{}' is not one of {}", parameter, name, kv_format_names());
}

Answer<TextPlacement> placement_of(const LlmConfig& config) {
  TextPlacement placement;
  CAPI_TRY(placement.drafter, optional_text_of("drafter_path", config.drafter_path));
  if (config.n_gpu_layers >= 0) placement.n_gpu_layers = config.n_gpu_layers;
  CAPI_TRY(placement.k, cache_format(Parameter::cache_type_k, config.cache_type_k));
  CAPI_TRY(placement.v, cache_format(Parameter::cache_type_v, config.cache_type_v));
  return placement;
}

// Forbids what thinking aloud begins with, where the model has a token for it.
void forbid_thinking(const Tokenizer& tokenizer, SamplingOptions& sampling) {
  if (const auto think = tokenizer.find("<think>"))
    sampling.logit_bias.emplace_back(*think, -std::numeric_limits<float>::infinity());
}

Answer<GenerateOptions> options_of(const LlmConfig& config, const Tokenizer& tokenizer) {
  GenerateOptions options;
  options.max_tokens = config.max_tokens > 0 ? config.max_tokens : -1;
  SamplingOptions& sampling = options.sampling;
  sampling.temperature = config.temperature;
  sampling.top_p = config.top_p == 0 ? 1.0f : config.top_p;
  sampling.top_k = config.top_k;
  sampling.min_p = 0;
  sampling.repetition_penalty = config.repeat_penalty == 0 ? 1.0f : config.repeat_penalty;
  sampling.seed = std::random_device()();
  if (config.disables_thinking) forbid_thinking(tokenizer, sampling);
  DraftOptions& draft = options.draft;
  draft.is_on = config.draft_max >= 0;
  if (config.draft_max > kAsTheLibraryLikes) draft.most = config.draft_max;
  draft.least = config.draft_min;
  CAPI_CHECK(validate(sampling));
  if (draft.is_on) CAPI_CHECK(validate(draft));
  return options;
}

tl::unexpected<Refusal> cancelled() {
  return refuse(ELIZA_ERR_CANCELLED, "the answer was cancelled");
}

}  // namespace

Answer<std::shared_ptr<LlmStream>> LlmStream::open(std::shared_ptr<BundleContext> context,
                                                   const LlmConfig& config) {
  CAPI_TRY(const TextPlacement placement, placement_of(config));
  auto stream = std::make_shared<LlmStream>();
  stream->context_ = std::move(context);
  CAPI_TRY(stream->region_, stream->context_->text(placement));
  CAPI_TRY(stream->options_, options_of(config, stream->region_->model().tokenizer()));
  CAPI_CHECK(stream->hold_to(config.gbnf_grammar));
  CAPI_TRY(stream->text_, TextStream::open(stream->region_));
  return stream;
}

// Answers that follow a grammar do not think aloud before it.
Answer<void> LlmStream::hold_to(const char* gbnf_grammar) {
  CAPI_TRY(const std::string text, optional_text_of("gbnf_grammar", gbnf_grammar));
  if (text.empty()) return {};
  CAPI_TRY(auto grammar, Grammar::from_gbnf(text));
  CAPI_CHECK(follow(std::move(grammar), region_->model(), /*has_thinking=*/false, options_));
  return {};
}

bool LlmStream::begins_like_what_is_held(std::span<const int32_t> tokens) const {
  const std::vector<Token>& held = text_->session().tokens();
  const size_t n = std::min(held.size(), kTellingTokens);
  return n > 0 && tokens.size() >= n &&
         std::equal(held.begin(), held.begin() + static_cast<ptrdiff_t>(n), tokens.begin());
}

Answer<void> LlmStream::prefill(std::span<const int32_t> tokens) {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = false;
  rest_ = {};
  std::vector<Token> prompt;
  if (has_begun_ && !has_ended_) {  // the session is the answer's until that ends
    text_->cancel();
    while (text_->next()) continue;
  }
  if (!begins_like_what_is_held(tokens)) prompt = text_->session().tokens();
  prompt.insert(prompt.end(), tokens.begin(), tokens.end());
  has_begun_ = has_ended_ = false;
  CAPI_CHECK(text_->prefill(prompt));
  prompt_ = std::move(prompt);
  return {};
}

Answer<void> LlmStream::begin(int64_t max_tokens) {
  if (is_cancelled_) return cancelled();
  if (prompt_.empty()) {
    return refuse(
        ELIZA_ERR_INVALID_ARG,
        "there is nothing to answer; put a prompt in with eliza_inference_llm_stream_prefill() first");
  }
  GenerateOptions options = options_;
  options.max_tokens = max_tokens;
  CAPI_CHECK(text_->answer(std::move(prompt_), options));
  prompt_.clear();
  has_begun_ = true;
  return {};
}

void LlmStream::tell_verifier(const Verification& verification) const {
  const VerifierListener listener = context_->listener();
  if (!listener.tell) return;
  const EliVerifierEvent event = {.accepted_token_ids = verification.accepted.data(),
                                  .n_accepted = verification.accepted.size(),
                                  .rejected_from = static_cast<int>(verification.rejected_from),
                                  .rejected_to = static_cast<int>(verification.rejected_to),
                                  .corrected_token_ids = verification.corrected.data(),
                                  .n_corrected = verification.corrected.size()};
  listener.tell(&event, listener.user_data);
}

std::optional<AnswerPiece> LlmStream::take_piece() {
  auto piece = text_->next();
  n_drafted_ = n_accepted_ = 0;
  if (piece && piece->verification) {
    const Verification& v = *piece->verification;
    n_accepted_ = static_cast<int>(v.accepted.size());
    n_drafted_ = n_accepted_ + static_cast<int>(v.rejected_to - v.rejected_from);
    tell_verifier(v);
  }
  return piece;
}

// What became of an answer that is at its end.
Answer<int> LlmStream::finished() {
  has_ended_ = true;
  CAPI_TRY(const GenerateResult result, text_->result());
  if (result.finish_reason == FinishReason::cancelled) return cancelled();
  return 1;
}

// The next piece in rest_; false: there is none.
Answer<bool> LlmStream::refill() {
  if (!rest_.tokens.empty() || !rest_.text.empty()) {
    n_drafted_ = n_accepted_ = 0;
    return true;
  }
  if (is_cancelled_) return cancelled();
  auto piece = take_piece();
  if (!piece) return false;
  rest_ = *std::move(piece);
  return true;
}

Answer<int> LlmStream::next(const Places& out) {
  const std::lock_guard lock(mutex_);
  if (!has_begun_) CAPI_CHECK(begin(options_.max_tokens));
  if (has_ended_ && !is_cancelled_) return 1;
  if (has_ended_) return cancelled();
  CAPI_TRY(const bool has_more, refill());
  if (!has_more) return finished();
  const size_t n = std::min(rest_.tokens.size(), out.capacity);
  std::copy_n(rest_.tokens.begin(), n, out.tokens);
  *out.n_tokens = n;
  rest_.tokens.erase(rest_.tokens.begin(), rest_.tokens.begin() + static_cast<ptrdiff_t>(n));
  const int n_bytes = write_text(rest_.text, out.text, out.text_capacity);
  rest_.text.erase(0, static_cast<size_t>(n_bytes));
  if (out.n_drafted) *out.n_drafted = n_drafted_;
  if (out.n_accepted) *out.n_accepted = n_accepted_;
  return 0;
}

Answer<int> LlmStream::generate(int max_new_tokens, eliza_llm_token_cb on_token, void* user_data) {
  const std::lock_guard lock(mutex_);
  CAPI_CHECK(begin(max_new_tokens > 0 ? max_new_tokens : options_.max_tokens));
  StreamingDecoder decoder;
  int n = 0;
  while (!is_cancelled_) {
    const auto piece = take_piece();
    if (!piece) {
      CAPI_CHECK(finished());
      return n;
    }
    for (const Token token : piece->tokens) {
      ++n;
      const std::string text = decoder.push(region_->model().tokenizer().piece(token));
      if (on_token(token, text.c_str(), user_data) == 0) continue;
      cancel();
      break;
    }
  }
  text_->cancel();  // again: before the answer had begun it stopped nothing
  while (text_->next()) continue;
  has_ended_ = true;
  return cancelled();
}

void LlmStream::cancel() {
  is_cancelled_ = true;
  text_->cancel();
}

Answer<void> LlmStream::save(const std::string& path) {
  const std::lock_guard lock(mutex_);
  auto done = text_->save(path);
  if (done) return {};
  Refusal refusal(std::move(done).error());
  if (refusal.status == ELIZA_ERR_BUNDLE_INVALID)
    refusal.status = ELIZA_ERR_FFI_FAULT;  // no folder to write to
  return tl::unexpected<Refusal>(std::move(refusal));
}

// Whatever the file holds is a prompt, to be answered as it is or with more behind it.
Answer<void> LlmStream::restore(const std::string& path) {
  const std::lock_guard lock(mutex_);
  auto done = text_->restore(path);
  if (done) {
    prompt_ = text_->session().tokens();
    rest_ = {};
    has_begun_ = has_ended_ = is_cancelled_ = false;
    return {};
  }
  Refusal refusal(std::move(done).error());
  if (refusal.status == ELIZA_ERR_NOT_IMPLEMENTED) {
    refusal.status = ELIZA_ERR_ABI_MISMATCH;
  } else if (refusal.status == ELIZA_ERR_BUNDLE_INVALID) {
    refusal.status = ELIZA_ERR_INVALID_ARG;  // the file is the caller's
  }
  return tl::unexpected<Refusal>(std::move(refusal));
}

void* open_llm_stream(EliInferenceContext* ctx, const std::optional<LlmConfig>& config,
                      char** out_error) noexcept {
  return handle_with<void>(out_error, [&]() -> Answer<void*> {
    CAPI_TRY(auto context, context_of(ctx));
    if (!config) return refuse(ELIZA_ERR_INVALID_ARG, "config is NULL");
    CAPI_TRY(auto stream, LlmStream::open(std::move(context), *config));
    return opened_in(ctx, std::move(stream));
  });
}

namespace {

Answer<std::shared_ptr<LlmStream>> llm_stream_of(const EliLlmStream* handle) {
  return object_of<LlmStream>("stream", handle);
}

Answer<std::string> file_name_of(const char* filename) {
  CAPI_TRY(std::string name, optional_text_of("filename", filename));
  if (name.empty()) return refuse(ELIZA_ERR_INVALID_ARG, "filename is {}", filename ? "empty" : "NULL");
  return name;
}

Answer<int> next_of(EliLlmStream* handle, const LlmStream::Places& out) {
  CAPI_TRY(const auto stream, llm_stream_of(handle));
  CAPI_CHECK(check_not_null("tokens_out", out.tokens));
  CAPI_CHECK(check_not_null("n_out", out.n_tokens));
  CAPI_CHECK(check_not_null("text_out", out.text));
  *out.n_tokens = 0;
  if (out.n_drafted) *out.n_drafted = 0;
  if (out.n_accepted) *out.n_accepted = 0;
  if (out.capacity == 0) return refuse(ELIZA_ERR_INVALID_ARG, "capacity is 0; there is no room for a token");
  constexpr size_t kLongestCodePoint = 4;
  if (out.text_capacity <= kLongestCodePoint) {
    return refuse(ELIZA_ERR_INVALID_ARG, "text_capacity is {}; a character and a NUL may take {}",
                  out.text_capacity, kLongestCodePoint + 1);
  }
  out.text[0] = '\0';
  return stream->next(out);
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance::capi;

int eliza_inference_set_verifier_callback(EliInferenceContext* ctx, eliza_verifier_cb cb, void* user_data,
                                          char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    CAPI_TRY(const auto context, context_of(ctx));
    context->set_listener({cb, user_data});
    return ELIZA_OK;
  });
}

int eliza_inference_llm_stream_supported() {
  return 1;
}

int eliza_inference_llm_mtp_supported() {
  return 1;
}

int eliza_inference_llm_kv_quant_supported() {
  return 1;
}

int eliza_inference_llm_stream_prefill(EliLlmStream* stream, const int* tokens, size_t n_tokens,
                                       char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    CAPI_TRY(const auto own, llm_stream_of(stream));
    CAPI_TRY(const auto given, tokens_of("tokens", tokens, n_tokens));
    CAPI_CHECK(own->prefill(given));
    return ELIZA_OK;
  });
}

int eliza_inference_llm_stream_next(EliLlmStream* stream, int* tokens_out, size_t capacity, size_t* n_out,
                                    char* text_out, size_t text_capacity, int* n_drafted, int* n_accepted,
                                    char** out_error) {
  return answer_with(out_error, [&] {
    return next_of(stream, {tokens_out, capacity, n_out, text_out, text_capacity, n_drafted, n_accepted});
  });
}

int eliza_inference_llm_stream_generate(EliLlmStream* stream, int max_new_tokens, eliza_llm_token_cb on_token,
                                        void* user_data, char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    CAPI_TRY(const auto own, llm_stream_of(stream));
    CAPI_CHECK(check_not_null("on_token", reinterpret_cast<const void*>(on_token)));
    return own->generate(max_new_tokens, on_token, user_data);
  });
}

int eliza_inference_llm_stream_cancel(EliLlmStream* stream) {
  return answer_with(nullptr, [&]() -> Answer<int> {
    CAPI_TRY(const auto own, llm_stream_of(stream));
    own->cancel();
    return ELIZA_OK;
  });
}

int eliza_inference_llm_stream_save_slot(EliLlmStream* stream, const char* filename, char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    CAPI_TRY(const auto own, llm_stream_of(stream));
    CAPI_TRY(const std::string name, file_name_of(filename));
    CAPI_CHECK(own->save(name));
    return ELIZA_OK;
  });
}

int eliza_inference_llm_stream_restore_slot(EliLlmStream* stream, const char* filename, char** out_error) {
  return answer_with(out_error, [&]() -> Answer<int> {
    CAPI_TRY(const auto own, llm_stream_of(stream));
    CAPI_TRY(const std::string name, file_name_of(filename));
    CAPI_CHECK(own->restore(name));
    return ELIZA_OK;
  });
}

void eliza_inference_llm_stream_close(EliLlmStream* stream) {
  quietly([&] {
    if (const auto own = handles().remove<LlmStream>(stream)) own->cancel();
  });
}
