// How a client asks for a WebSocket (RFC 6455, section 4.2), and what it offers beside.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/http_message.h"

namespace parlance {

// What is wrong with a request that is to open a WebSocket: 426 where it does not ask for one or for another
// version, 400 where it asks in a way that cannot be.
std::optional<ApiError> check_handshake(const HttpRequest& request);

// The sub-protocols that a client offers, in its order.
std::vector<std::string> offered_protocols(const HttpRequest& request);

// Browsers cannot set Authorization for a WebSocket: their key is the end of a sub-protocol, which is never
// chosen and never written anywhere. Empty: there is none.
std::string key_of_protocols(const HttpRequest& request);

}  // namespace parlance
