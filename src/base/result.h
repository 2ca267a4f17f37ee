// Errors as values: what comes from outside (a file, a request, a device) returns a Result whose error names
// the thing, the expectation and the remedy in one line. What can only be our own mistake is an assertion.
#pragma once

#include <fmt/core.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace parlance {

enum class ErrorCode {
  invalid_argument,  // a value that the caller gave cannot be used
  not_found,         // a file, device, key or tensor that was named does not exist
  io,                // the operating system refused to read or write
  corrupt_file,      // bytes that are not what their format promises
  unsupported,       // well-formed, but this program has no code for it
  out_of_memory,     // does not fit, with the figure that was needed
  cancelled,         // the user or a newer request stopped it
  device_failed,     // a device stopped working: lost, reset, or its driver reports an error
  busy,              // too many wait already; the same will do later
  timed_out,         // was not ready by the time that the caller set
  too_complex,       // would take more time or memory to understand than any such text may
};

struct Error {
  ErrorCode code;
  std::string message;  // one line, without a period at its end; parameters are marked (base/parameter.h)
};

template <class T>
using Result = tl::expected<T, Error>;

// return fail(ErrorCode::corrupt_file, "{}: tensor {} ends at byte {}, the file has {}; download it again",
// ...);
template <class... Args>
tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace parlance

#define PARLANCE_CONCAT_INNER(a, b) a##b
#define PARLANCE_CONCAT(a, b) PARLANCE_CONCAT_INNER(a, b)

// PARLANCE_TRY(auto file, MappedFile::open(path)); — the value, or return the error to the caller.
#define PARLANCE_TRY(declaration, expression) \
  PARLANCE_TRY_IMPL(PARLANCE_CONCAT(result_, __LINE__), declaration, expression)
#define PARLANCE_TRY_IMPL(result, declaration, expression)                            \
  auto result = (expression);                                                         \
  if (!result) return ::tl::unexpected<::parlance::Error>(std::move(result).error()); \
  declaration = *std::move(result)

// The same for Result<void>.
#define PARLANCE_CHECK(expression)           \
  if (auto checked = (expression); !checked) \
  return ::tl::unexpected<::parlance::Error>(std::move(checked).error())
