#include "server/handshake.h"

#include <algorithm>

#include "base/ascii.h"
#include "server/head_text.h"
#include "server/http_text.h"

namespace parlance {

namespace {

constexpr std::string_view kKeyProtocol = "openai-insecure-api-key.";

// Whether a list such as "keep-alive, Upgrade" has a word.
bool lists(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    if (ascii::are_equal(next_of(list, ','), word)) return true;
  }
  return false;
}

// 16 bytes in base64.
bool is_socket_key(std::string_view key) {
  return key.size() == 24 && key.ends_with("==") && std::all_of(key.begin(), key.end() - 2, [](char c) {
           return ascii::is_letter(c) || ascii::is_digit(c) || c == '+' || c == '/';
         });
}

ApiError no_upgrade(std::string message) {
  return {.status = 426,
          .code = "upgrade_required",
          .message = std::move(message),
          .param = {},
          .fields = {{"upgrade", "websocket"}, {"sec-websocket-version", "13"}}};
}

ApiError bad_handshake(std::string message) {
  return {.status = 400, .code = "bad_request", .message = std::move(message)};
}

size_t n_fields(const HttpRequest& request, std::string_view name) {
  return static_cast<size_t>(std::count_if(request.fields.begin(), request.fields.end(),
                                           [&](const HttpField& field) { return field.name == name; }));
}

}  // namespace

std::optional<ApiError> check_handshake(const HttpRequest& request) {
  if (!lists(request.field("upgrade"), "websocket")) {
    return no_upgrade("this path is a WebSocket; ask with Upgrade: websocket");
  }
  if (request.field("sec-websocket-version") != "13" && request.has_field("sec-websocket-version")) {
    return no_upgrade("the only version of WebSockets here is 13");
  }
  if (request.method != "GET" || request.version != 11 || has_body(request)) {
    return bad_handshake("a WebSocket is opened by a GET of HTTP/1.1 without a body");
  }
  if (!lists(request.field("connection"), "upgrade")) {
    return bad_handshake("Upgrade: websocket needs Connection: Upgrade beside it");
  }
  if (n_fields(request, "sec-websocket-version") != 1) {
    return bad_handshake("a WebSocket is opened with one Sec-WebSocket-Version: 13");
  }
  if (n_fields(request, "sec-websocket-key") != 1 || !is_socket_key(request.field("sec-websocket-key"))) {
    return bad_handshake("a WebSocket is opened with one Sec-WebSocket-Key, which is 16 bytes in base64");
  }
  return std::nullopt;
}

std::vector<std::string> offered_protocols(const HttpRequest& request) {
  std::vector<std::string> offered;
  for (const HttpField& field : request.fields) {
    if (field.name != "sec-websocket-protocol") continue;
    for (std::string_view rest = field.value; !rest.empty();) {
      if (const std::string_view one = next_of(rest, ','); !one.empty()) offered.emplace_back(one);
    }
  }
  return offered;
}

std::string key_of_protocols(const HttpRequest& request) {
  for (const std::string& protocol : offered_protocols(request)) {
    if (protocol.starts_with(kKeyProtocol)) return protocol.substr(kKeyProtocol.size());
  }
  return {};
}

}  // namespace parlance
