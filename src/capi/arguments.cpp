#include "capi/arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "text/unicode.h"

namespace parlance::capi {

namespace {

constexpr int kLeastRateHz = 1000, kMostRateHz = 384000;

Answer<void> check_utf8(const char* name, std::string_view text) {
  const size_t at = find_invalid_utf8(text);
  if (at == std::string_view::npos) return {};
  return refuse(ELIZA_ERR_INVALID_ARG, "{} is not UTF-8 at byte {}; convert it first", name, at);
}

}  // namespace

Answer<void> check_not_null(const char* name, const void* pointer) {
  if (pointer) return {};
  return refuse(ELIZA_ERR_INVALID_ARG, "{} is NULL", name);
}

Answer<std::string_view> text_of(const char* name, const char* text, size_t n_bytes, bool may_be_empty) {
  if (n_bytes == 0 && may_be_empty) return std::string_view();
  CAPI_CHECK(check_not_null(name, text));
  if (n_bytes == 0) return refuse(ELIZA_ERR_INVALID_ARG, "{} is empty", name);
  if (n_bytes > kMostTextBytes) {
    return refuse(ELIZA_ERR_INVALID_ARG, "{} has {} bytes; at most {} are read at once", name, n_bytes,
                  kMostTextBytes);
  }
  const std::string_view view(text, n_bytes);
  CAPI_CHECK(check_utf8(name, view));
  return view;
}

Answer<std::string> optional_text_of(const char* name, const char* text) {
  if (!text) return std::string();
  std::string copy(text);
  CAPI_CHECK(check_utf8(name, copy));
  return copy;
}

Answer<std::span<const float>> samples_of(const char* name, const float* samples, size_t n) {
  CAPI_CHECK(check_not_null(name, samples));
  if (n > kMostSamples) {
    return refuse(ELIZA_ERR_INVALID_ARG, "{} has {} samples; at most {} are read at once", name, n,
                  kMostSamples);
  }
  const std::span view(samples, n);
  const auto bad = std::ranges::find_if(view, [](float x) { return !std::isfinite(x); });
  if (bad == view.end()) return view;
  return refuse(ELIZA_ERR_INVALID_ARG, "{}[{}] is no finite number", name, bad - view.begin());
}

Answer<std::span<const int32_t>> tokens_of(const char* name, const int* tokens, size_t n) {
  CAPI_CHECK(check_not_null(name, tokens));
  if (n == 0) return refuse(ELIZA_ERR_INVALID_ARG, "{} is empty", name);
  if (n <= kMostTokens) return std::span<const int32_t>(tokens, n);
  return refuse(ELIZA_ERR_INVALID_ARG, "{} has {} tokens; at most {} are read at once", name, n, kMostTokens);
}

Answer<void> check_rate(int sample_rate_hz) {
  if (sample_rate_hz >= kLeastRateHz && sample_rate_hz <= kMostRateHz) return {};
  return refuse(ELIZA_ERR_INVALID_ARG, "sample_rate_hz is {}; it lies between {} and {}", sample_rate_hz,
                kLeastRateHz, kMostRateHz);
}

Answer<void> check_room(char* out_text, size_t max_bytes) {
  CAPI_CHECK(check_not_null("out_text", out_text));
  if (max_bytes == 0) return refuse(ELIZA_ERR_INVALID_ARG, "max_text_bytes is 0; there is no room for a NUL");
  out_text[0] = '\0';
  return {};
}

int write_text(std::string_view text, char* out_text, size_t max_bytes) {
  size_t n = text.size();
  if (n > max_bytes - 1) n = start_of_code_point(text, max_bytes - 1);
  std::memcpy(out_text, text.data(), n);
  out_text[n] = '\0';
  return static_cast<int>(n);
}

void write_tokens(std::span<const int32_t> tokens, int* out_tokens, size_t* io_n_tokens) {
  if (!out_tokens || !io_n_tokens) return;
  *io_n_tokens = std::min(*io_n_tokens, tokens.size());
  std::copy_n(tokens.begin(), *io_n_tokens, out_tokens);
}

Answer<int*> copy_of(std::span<const int32_t> tokens) {
  auto* copy = static_cast<int*>(std::malloc(std::max<size_t>(tokens.size_bytes(), 1)));
  if (!copy) return refuse(ELIZA_ERR_OOM, "there is no memory for {} tokens", tokens.size());
  std::ranges::copy(tokens, copy);
  return copy;
}

}  // namespace parlance::capi
