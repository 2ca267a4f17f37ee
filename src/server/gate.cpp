#include "server/gate.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/os/file.h"
#include "base/os/machine.h"
#include "bundle/sha256.h"
#include "server/handshake.h"
#include "server/http_text.h"
#include "server/page.h"

namespace parlance {

namespace {

constexpr size_t kLeastKeyBytes = 16;

tl::unexpected<ApiError> forbid(std::string code, std::string message) {
  return tl::unexpected(ApiError{.status = 403, .code = std::move(code), .message = std::move(message)});
}

// "localhost:8080" -> "localhost", "[::1]:8080" -> "[::1]"; empty where it is neither.
std::string host_name(std::string_view host) {
  const size_t bracket = host.starts_with('[') ? host.find(']') : std::string_view::npos;
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view port = colon == std::string_view::npos ? std::string_view() : host.substr(colon + 1);
  if (!std::all_of(port.begin(), port.end(), ascii::is_digit)) return {};
  return ascii::lower(host.substr(0, colon));
}

bool is_loopback_name(std::string_view name) {
  return name == "localhost" || name.ends_with(".localhost") || is_loopback_address(name);
}

bool is_allowed_host(const GateRules& rules, std::string_view host) {
  const std::string name = host_name(host);
  if (name.empty()) return false;
  static const std::string machine = ascii::lower(machine_name());
  if (is_loopback_name(name) || (!machine.empty() && name == machine)) return true;
  const auto is_listed = [&](const std::string& allowed) { return ascii::are_equal(allowed, name); };
  if (std::any_of(rules.allowed_hosts.begin(), rules.allowed_hosts.end(), is_listed)) return true;
  if (is_local_address(rules.bound_address)) return false;
  return name == rules.bound_address || name == "[" + rules.bound_address + "]" || name == machine + ".local";
}

bool is_listed(const GateRules& rules, std::string_view origin) {
  return std::find(rules.cors_origins.begin(), rules.cors_origins.end(), origin) != rules.cors_origins.end();
}

// A page of this very server, or one that is listed.
bool is_allowed_origin(const GateRules& rules, const HttpRequest& request) {
  if (!request.has_field("origin")) return true;
  const std::string_view origin = request.field("origin");
  const char* const scheme = request.is_secure ? "https" : "http";
  return ascii::are_equal(origin, fmt::format("{}://{}", scheme, request.field("host"))) ||
         is_listed(rules, origin);
}

std::string digest_of(std::string_view key) {
  return sha256(std::as_bytes(std::span(key)));
}

// Looks at every key and every byte, so that time tells nothing.
Caller find_key(const GateRules& rules, std::string_view key) {
  const std::string digest = digest_of(key);
  Caller found = nullptr;
  for (const ApiKey& known : rules.keys) {
    unsigned char difference = 0;
    for (size_t i = 0; i < digest.size(); ++i) {
      difference |= static_cast<unsigned char>(known.digest[i] ^ digest[i]);
    }
    if (difference == 0) found = &known;
  }
  return found;
}

}  // namespace

bool is_loopback_address(std::string_view address) {
  if (address == "::1" || address == "[::1]" || address == "localhost") return true;
  if (!address.starts_with("127.")) return false;
  return std::all_of(address.begin(), address.end(), [](char c) { return ascii::is_digit(c) || c == '.'; });
}

bool is_local_address(std::string_view address) {
  return is_loopback_address(address) || is_socket_file(address);
}

std::string given_key(const HttpRequest& request) {
  std::string_view value = request.field("authorization");
  if (!value.empty()) {
    return std::string(ascii::are_equal(next_of(value, ' '), "bearer") ? trimmed(value) : std::string_view());
  }
  if (request.has_field("x-api-key")) return std::string(request.field("x-api-key"));
  return key_of_protocols(request);
}

ApiResult<Caller> pass(const GateRules& rules, const HttpRequest& request, KeyNeed need) {
  const bool is_health = request.path == "/health" || request.path == "/live" || request.path == "/ready" ||
                         request.path == "/v1/health";
  const bool is_hostless = request.version == 10 && !request.has_field("host");
  if (!(is_hostless && is_health) && !is_allowed_host(rules, request.field("host"))) {
    return forbid("host_not_allowed",
                  "this server is not known under the name in Host; use its address or allow the name with "
                  "--allowed-host");
  }
  const bool is_strange_site = request.field("sec-fetch-site") == "cross-site" &&
                               !request.has_field("origin") &&
                               !(request.method == "GET" && find_page_file(request.path));
  if (!is_allowed_origin(rules, request) || is_strange_site) {
    return forbid("origin_not_allowed",
                  "pages of other sites may not ask this server; allow the page's origin with --cors-origin");
  }
  if (need == KeyNeed::none || rules.keys.empty() || request.method == "OPTIONS") return nullptr;
  const Caller caller = find_key(rules, given_key(request));
  if (!caller) {
    return tl::unexpected(ApiError{
        .status = 401,
        .code = "invalid_api_key",
        .message =
            "there is no such key; send one that the server was started with as 'Authorization: Bearer …'",
        .param = {},
        .fields = {{"www-authenticate", "Bearer"}}});
  }
  if (need == KeyNeed::admin && !caller->is_admin) {
    return forbid("not_admin", "this needs the key of an administrator");
  }
  return caller;
}

HttpAnswer preflight_answer(const HttpRequest& request) {
  std::string allowed;
  const std::string asked = ascii::lower(request.field("access-control-request-headers"));
  for (std::string_view rest = asked; !rest.empty();) {
    const std::string_view name = next_of(rest, ',');
    constexpr std::array kNames = {"authorization",  "content-type", "x-conversation-id",
                                   "x-request-id",   "openai-beta",  "openai-organization",
                                   "openai-project", "x-api-key"};
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end() && !name.starts_with("x-parlance-") &&
        !name.starts_with("x-stainless-")) {
      continue;
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(name);
  }
  HttpAnswer answer{
      .status = 204,
      .fields = {{"access-control-allow-methods", "GET, POST, DELETE"}, {"access-control-max-age", "600"}},
      .body = {}};
  if (!allowed.empty()) answer.fields.push_back({"access-control-allow-headers", allowed});
  return answer;
}

std::vector<HttpField> cors_fields(const GateRules& rules, const HttpRequest& request) {
  const std::string_view origin = request.field("origin");
  if (origin.empty() || !is_listed(rules, origin)) return {};
  return {{"access-control-allow-origin", std::string(origin)},
          {"vary", "Origin"},
          {"access-control-expose-headers",
           "x-request-id, x-parlance-ignored, x-parlance-model, x-parlance-note, x-parlance-voice, "
           "x-parlance-sample-rate, retry-after, retry-after-ms"}};
}

Result<ApiKey> make_key(std::string_view from, std::string_view key, std::string name, bool is_admin) {
  if (key.size() < kLeastKeyBytes) {
    return fail(ErrorCode::invalid_argument,
                "{}: a key needs {} characters or more, since shorter ones can be guessed", from,
                kLeastKeyBytes);
  }
  return ApiKey{.name = std::move(name), .digest = digest_of(key), .is_admin = is_admin};
}

Result<std::vector<ApiKey>> read_keys(const std::string& path) {
  if (is_open_to_others(path)) {
    return fail(ErrorCode::invalid_argument,
                "--api-key-file {}: others may read it; take that away with chmod 600", path);
  }
  PARLANCE_TRY(const std::string text, read_text_file(path, size_t{1} << 20));
  std::vector<ApiKey> keys;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = next_of(rest, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string name(next_of(line, ':'));
    const std::string_view key = next_of(line, ':');
    if (name.empty() || (!line.empty() && line != "admin")) {
      return fail(ErrorCode::invalid_argument, "--api-key-file {}: a line is not name:key or name:key:admin",
                  path);
    }
    PARLANCE_TRY(ApiKey one, make_key("--api-key-file", key, name, line == "admin"));
    keys.push_back(std::move(one));
  }
  return keys;
}

Result<void> check_origin(std::string_view origin) {
  const bool is_web = origin.starts_with("http://") || origin.starts_with("https://");
  if (is_web && origin.find('*') == std::string_view::npos && origin.find('/', 8) == std::string_view::npos) {
    return {};
  }
  return fail(
      ErrorCode::invalid_argument,
      "--cors-origin: '{}' is no origin; give scheme, host and port of a page, such as https://app.example",
      origin);
}

}  // namespace parlance
