// Which routes there are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/gate.h"
#include "server/site.h"

namespace parlance {

enum class BodyKind : uint8_t { none, json, multipart };

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/v1/models/{id}"
  KeyNeed need = KeyNeed::any;
  BodyKind body = BodyKind::none;
  Handler handler = nullptr;  // on a thread that prepares
  // Or on the listener's, from what is known at once.
  HttpAnswer (*at_once)(const Site& site, const HttpRequest& request) = nullptr;
  SocketOpener open_socket = nullptr;  // or it is a WebSocket
};

std::span<const Route> all_routes();

struct RouteMatch {
  const Route* route = nullptr;
  std::vector<std::string> values;
};

// HEAD is found where GET is. Errors: 404 where nothing has the path, with a remedy where others' servers
// have it; 405 where it has other methods.
ApiResult<RouteMatch> find_route(std::string_view method, std::string_view path);

// The table in words: method, path, who may ask.
std::string routes_text();

}  // namespace parlance
