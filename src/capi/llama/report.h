// How what happens inside reaches programs that know llama.cpp's interface: a value that stands for failure,
// and a line in the log that says why.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/result.h"

namespace parlance::capi {

// A line for whoever llama_log_set() named, else on standard error, whatever the log's level.
void llama_say(LogLevel level, std::string_view text);

// An error as a line of the log.
void llama_log_error(const char* function, const Error& error) noexcept;

// The end of every function that can fail: the body's result, or `failed` and a line.
template <class R, class Body>
R llama_answer(const char* function, R failed, Body&& body) noexcept {
  try {
    Result<R> result = std::forward<Body>(body)();
    if (result) return *std::move(result);
    llama_log_error(function, result.error());
  } catch (const std::bad_alloc&) {
    llama_log_error(function, {ErrorCode::out_of_memory, "there is not enough memory for this call"});
  } catch (const std::exception& e) {
    llama_log_error(function, {ErrorCode::device_failed, e.what()});
  }
  return failed;
}

// The same for those that yield nothing.
template <class Body>
void llama_do(const char* function, Body&& body) noexcept {
  llama_answer(function, false, [&]() -> Result<bool> {
    PARLANCE_CHECK(body());
    return true;
  });
}

}  // namespace parlance::capi
