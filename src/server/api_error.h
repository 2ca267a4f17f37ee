// What a client did wrong, or the server cannot do, as OpenAI's interface says it: a status, a code for
// programs, one line for people.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "server/http_message.h"

namespace parlance {

struct ApiError {
  int status = 400;
  std::string code;                       // "invalid_value"
  std::string message;                    // one line: the thing, what was expected, what came, the remedy
  std::optional<std::string> param = {};  // "messages[0].role"
  std::vector<HttpField> fields = {};
};

template <class T>
using ApiResult = tl::expected<T, ApiError>;

template <class... Args>
tl::unexpected<ApiError> refuse(std::string code, std::optional<std::string> param,
                                fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(ApiError{.status = 400,
                                 .code = std::move(code),
                                 .message = fmt::format(format, std::forward<Args>(args)...),
                                 .param = std::move(param)});
}

// What the rooms below say is wrong with a request, in the words of requests.
ApiError api_error(const Error& error);

// What is wrong with a recording that came in a field: the client's mistake, unless there is no room to read
// it.
ApiError sound_error(const Error& error, std::string param);

// "invalid_request_error": the kind of error that a status stands for.
std::string_view type_of_status(int status);

// {"error": {"message", "type", "param", "code"}}
Json to_json(const ApiError& error);
HttpAnswer answer_of(const ApiError& error);

HttpAnswer json_answer(const Json& json, int status = 200);

// With both of the fields that clients read, in seconds and in milliseconds.
ApiError try_again(int status, std::string code, std::string message, double seconds);

}  // namespace parlance

#define PARLANCE_API_TRY(declaration, expression) \
  PARLANCE_API_TRY_IMPL(PARLANCE_CONCAT(result_, __LINE__), declaration, expression)
#define PARLANCE_API_TRY_IMPL(result, declaration, expression)               \
  auto result = (expression);                                                \
  if (!result) return ::parlance::api_unexpected(std::move(result).error()); \
  declaration = *std::move(result)

#define PARLANCE_API_CHECK(expression)               \
  if (auto api_checked = (expression); !api_checked) \
  return ::parlance::api_unexpected(std::move(api_checked).error())

namespace parlance {
inline tl::unexpected<ApiError> api_unexpected(ApiError error) {
  return tl::unexpected(std::move(error));
}
inline tl::unexpected<ApiError> api_unexpected(const Error& error) {
  return tl::unexpected(api_error(error));
}
}  // namespace parlance
