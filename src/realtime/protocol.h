// The words of OpenAI's Realtime protocol: its two dialects, and what a client is told that did something
// wrong.
#pragma once

#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "json/json.h"

namespace parlance {

// What a client speaks: the protocol as it is, or as it was first shown.
enum class Dialect : uint8_t { ga, beta };

// What an event is called in a dialect; empty: it does not exist there. Names are those of `ga`.
std::string_view name_in(Dialect dialect, std::string_view event);

// Is answered by an event `error`, and changes nothing.
struct RealtimeError {
  std::string code;                       // "invalid_value"
  std::string message;                    // the thing, what was expected, what came
  std::optional<std::string> param = {};  // "session.audio.output.speed"
  std::string type = "invalid_request_error";
};

template <class T>
using RealtimeResult = tl::expected<T, RealtimeError>;

template <class... Args>
tl::unexpected<RealtimeError> reject(std::string code, std::optional<std::string> param,
                                     fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(RealtimeError{.code = std::move(code),
                                      .message = fmt::format(format, std::forward<Args>(args)...),
                                      .param = std::move(param)});
}

// What went wrong was not the client's doing.
inline RealtimeError internal_error(std::string message) {
  return {.code = "internal_error", .message = std::move(message), .type = "server_error"};
}

// The member of a path like "audio.input.format"; none where one of its steps is missing or no object.
std::optional<Json> member_at(const Json& json, std::string_view path);
// Sets it, and makes the objects on the way.
void set_at(Json& json, std::string_view path, const Json& value);

}  // namespace parlance

#define PARLANCE_EVENT_TRY(declaration, expression) \
  PARLANCE_EVENT_TRY_IMPL(PARLANCE_CONCAT(result_, __LINE__), declaration, expression)
#define PARLANCE_EVENT_TRY_IMPL(result, declaration, expression) \
  auto result = (expression);                                    \
  if (!result) return tl::unexpected(std::move(result).error()); \
  declaration = *std::move(result)

#define PARLANCE_EVENT_CHECK(expression)                 \
  if (auto event_checked = (expression); !event_checked) \
  return tl::unexpected(std::move(event_checked).error())
