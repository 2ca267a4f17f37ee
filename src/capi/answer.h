// How what happens inside becomes what a C function yields: a number or a handle, and the caller's error
// text.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "base/result.h"

namespace parlance::capi {

// An error as the C library's callers know it.
struct Refusal {
  int status;           // ELIZA_ERR_*
  std::string message;  // parameters are marked

  Refusal(int of_status, std::string text) : status(of_status), message(std::move(text)) {}
  Refusal(Error error);  // NOLINT: implicit, as errors become refusals on their way out
};

template <class T>
using Answer = tl::expected<T, Refusal>;

template <class... Args>
tl::unexpected<Refusal> refuse(int status, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Refusal>(Refusal(status, fmt::format(format, std::forward<Args>(args)...)));
}

// The same for an error of loading: whatever is wrong with a file is wrong with the bundle.
Refusal bundle_refusal(Error error);

// PARLANCE_TRY() for answers.
#define CAPI_TRY(declaration, expression) \
  CAPI_TRY_IMPL(PARLANCE_CONCAT(answer_, __LINE__), declaration, expression)
#define CAPI_TRY_IMPL(answer, declaration, expression)                                        \
  auto answer = (expression);                                                                 \
  if (!answer) return ::tl::unexpected<::parlance::capi::Refusal>(std::move(answer).error()); \
  declaration = *std::move(answer)
#define CAPI_CHECK(expression)               \
  if (auto checked = (expression); !checked) \
  return ::tl::unexpected<::parlance::capi::Refusal>(std::move(checked).error())

// Where the caller wants to read the error of a call that begins.
void clear(char** out_error) noexcept;
// Puts the refusal there, and yields its status.
int report(char** out_error, const Refusal& refusal) noexcept;

// The end of every C function that can fail: nothing is thrown into the caller's language.
template <class Body>
int answer_with(char** out_error, Body&& body) noexcept {
  clear(out_error);
  try {
    const Answer<int> answer = std::forward<Body>(body)();
    return answer ? *answer : report(out_error, answer.error());
  } catch (const std::bad_alloc&) {
    return report(out_error, Error{ErrorCode::out_of_memory, "there is not enough memory for this call"});
  } catch (const std::exception& e) {
    return report(out_error, Error{ErrorCode::device_failed, e.what()});
  }
}

// The same for openers, which yield a handle.
template <class Opaque, class Body>
Opaque* handle_with(char** out_error, Body&& body) noexcept {
  void* handle = nullptr;
  answer_with(out_error, [&]() -> Answer<int> {
    CAPI_TRY(handle, body());
    return 0;
  });
  return static_cast<Opaque*>(handle);
}

// For those without an error text.
template <class Body>
void quietly(Body&& body) noexcept {
  answer_with(nullptr, [&]() -> Answer<int> {
    body();
    return 0;
  });
}

}  // namespace parlance::capi
