// What callers pass, checked, and what is written back for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capi/answer.h"
#include "capi/handles.h"
#include "elizainference.h"

namespace parlance::capi {

// More than that is no text and no recording, but a length that was computed wrong.
inline constexpr size_t kMostTextBytes = size_t{64} << 20;
inline constexpr size_t kMostSamples = size_t{1} << 31;
inline constexpr size_t kMostTokens = size_t{1} << 24;

// Errors call the argument `name`.

// UTF-8 of a length; not empty unless it may be.
Answer<std::string_view> text_of(const char* name, const char* text, size_t n_bytes,
                                 bool may_be_empty = false);
// The same up to a NUL; null and "" are empty.
Answer<std::string> optional_text_of(const char* name, const char* text);
// Samples, all finite.
Answer<std::span<const float>> samples_of(const char* name, const float* samples, size_t n);
Answer<std::span<const int32_t>> tokens_of(const char* name, const int* tokens, size_t n);
// Sound, of which the recogniser takes another rate.
Answer<void> check_rate(int sample_rate_hz);
Answer<void> check_not_null(const char* name, const void* pointer);

// The object that a handle stands for.
template <class T>
Answer<std::shared_ptr<T>> object_of(const char* name, const void* handle) {
  if (auto object = handles().find<T>(handle)) return object;
  return refuse(ELIZA_ERR_INVALID_ARG, "{} is {}", name,
                handle ? "no open handle of that kind; it was closed, or is another's" : "NULL");
}

// The handle of what was opened in a context.
template <class T>
Answer<void*> opened_in(const void* context, std::shared_ptr<T> object) {
  if (void* handle = handles().add(std::move(object), context)) return handle;
  return refuse(ELIZA_ERR_INVALID_ARG, "ctx was destroyed by another thread");
}

// As much of a text as there is room for, to a code point, and a NUL. Yields its bytes.
Answer<void> check_room(char* out_text, size_t max_bytes);
int write_text(std::string_view text, char* out_text, size_t max_bytes);

// Tokens for whoever asked: both places, or neither.
void write_tokens(std::span<const int32_t> tokens, int* out_tokens, size_t* io_n_tokens);
// The same in memory of the caller's.
Answer<int*> copy_of(std::span<const int32_t> tokens);

}  // namespace parlance::capi
