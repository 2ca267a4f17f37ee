// Who may ask for what: every request passes here before anything is done for it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/address_block.h"
#include "server/api_error.h"
#include "server/http_message.h"

namespace parlance {

struct ApiKey {
  std::string name;    // for logs
  std::string digest;  // SHA-256, so that comparing takes the same time whatever came
  bool is_admin = false;
};

struct GateRules {
  std::string bound_address = "127.0.0.1";
  std::vector<std::string> allowed_hosts;  // beside those that the binding implies
  std::vector<std::string> cors_origins;   // exact
  std::vector<ApiKey> keys;                // none: everybody may ask
  std::vector<AddressBlock> proxies;       // that are believed about who asks (forwarded.h)
};

enum class KeyNeed : uint8_t { none, any, admin };

// Who asks: null where no keys are configured, or none is needed.
using Caller = const ApiKey*;

// An error has status 401 or 403.
ApiResult<Caller> pass(const GateRules& rules, const HttpRequest& request, KeyNeed need);

// What a request gives for a key: as Authorization, X-Api-Key, or, for a WebSocket, as a sub-protocol; empty:
// nothing.
std::string given_key(const HttpRequest& request);

// The answer to a browser that asks whether it may ask, where it may.
HttpAnswer preflight_answer(const HttpRequest& request);
// What a listed page is told, nothing for others.
std::vector<HttpField> cors_fields(const GateRules& rules, const HttpRequest& request);

// Keys are texts of 16 bytes or more. Errors name the flag or the file.
Result<ApiKey> make_key(std::string_view from, std::string_view key, std::string name, bool is_admin);
// Lines "name:key" or "name:key:admin"; # begins a comment. The file must be the owner's alone.
Result<std::vector<ApiKey>> read_keys(const std::string& path);

// Whether an address is one of the machine's own loopback addresses.
bool is_loopback_address(std::string_view address);
// Whether nobody but this machine reaches it: such an address, or a socket in a folder.
bool is_local_address(std::string_view address);
// "https://host:port"; never "*" or "null".
Result<void> check_origin(std::string_view origin);

}  // namespace parlance
