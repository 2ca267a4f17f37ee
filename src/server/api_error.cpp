#include "server/api_error.h"

#include <cmath>

#include "assistant/wording.h"

namespace parlance {

namespace {

struct StatusAndCode {
  int status;
  const char* code;
};

StatusAndCode status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported:
      return {400, "invalid_value"};
    case ErrorCode::too_complex:
      return {400, "grammar_too_complex"};
    case ErrorCode::not_found:
      return {404, "not_found"};
    case ErrorCode::busy:
    case ErrorCode::out_of_memory:
      return {503, "server_overloaded"};
    case ErrorCode::timed_out:
      return {504, "deadline_exceeded"};
    case ErrorCode::device_failed:
      return {503, "device_lost"};
    case ErrorCode::cancelled:
      return {503, "server_shutting_down"};
    case ErrorCode::io:
    case ErrorCode::corrupt_file:
      break;
  }
  return {500, "internal_error"};
}

}  // namespace

ApiError api_error(const Error& error) {
  const auto [status, code] = status_of(error.code);
  std::string message = worded(error.message, Door::request);
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  if (status == 503) return try_again(status, code, std::move(message), 1);
  // What went wrong with us may name files.
  if (status == 500) message = "something went wrong here; the server's log says what";
  return {.status = status,
          .code = code,
          .message = std::move(message),
          .param = named_parameter(error, Door::request)};
}

ApiError sound_error(const Error& error, std::string param) {
  ApiError refusal = api_error(error);
  if (refusal.status == 503) return refusal;
  const char* const code = error.code == ErrorCode::unsupported   ? "unsupported_audio_format"
                           : error.code == ErrorCode::too_complex ? "audio_too_long"
                                                                  : "invalid_audio";
  return {.status = 400, .code = code, .message = error.message, .param = std::move(param)};
}

std::string_view type_of_status(int status) {
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

Json to_json(const ApiError& error) {
  return Json::object({{"error", Json::object({{"message", error.message},
                                               {"type", type_of_status(error.status)},
                                               {"param", error.param ? Json(*error.param) : Json()},
                                               {"code", error.code}})}});
}

HttpAnswer json_answer(const Json& json, int status) {
  return {
      .status = status, .fields = {{"content-type", "application/json; charset=utf-8"}}, .body = json.line()};
}

HttpAnswer answer_of(const ApiError& error) {
  HttpAnswer answer = json_answer(to_json(error), error.status);
  answer.fields.insert(answer.fields.end(), error.fields.begin(), error.fields.end());
  return answer;
}

ApiError try_again(int status, std::string code, std::string message, double seconds) {
  return {.status = status,
          .code = std::move(code),
          .message = std::move(message),
          .param = {},
          .fields = {{"retry-after", fmt::format("{}", static_cast<int>(std::ceil(seconds)))},
                     {"retry-after-ms", fmt::format("{}", static_cast<int>(std::ceil(1000 * seconds)))}}};
}

}  // namespace parlance
