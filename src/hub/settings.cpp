#include "hub/settings.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "base/os/environment.h"
#include "base/os/file.h"
#include "base/os/folder.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kHub = "https://huggingface.co";
constexpr size_t kMostTokenBytes = 4096;

fs::path user_cache() {
  if (const auto folder = environment("XDG_CACHE_HOME")) return *folder;
  return fs::path(environment("HOME").value_or(".")) / ".cache";
}

bool is_on(const char* variable) {
  const std::string value = ascii::lower(environment(variable).value_or(""));
  return value == "1" || value == "on" || value == "yes" || value == "true";
}

std::string_view trimmed_token(std::string_view text) {
  while (!text.empty() && ascii::is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && ascii::is_blank(text.back())) text.remove_suffix(1);
  return text;
}

Result<std::string> token_from(const fs::path& hub_home) {
  std::string token;
  std::string from = "HF_TOKEN";
  if (const auto value = environment("HF_TOKEN")) {
    token = *value;
  } else if (const auto older = environment("HUGGING_FACE_HUB_TOKEN")) {
    token = *older;
  } else {
    const auto named = environment("HF_TOKEN_PATH");
    const fs::path file = named ? fs::path(*named) : hub_home / "token";
    if (!is_file(file)) return std::string();
    PARLANCE_TRY(token, read_text_file(file, kMostTokenBytes));
    from = file.string();
  }
  token = std::string(trimmed_token(token));
  // It becomes a line of a request.
  if (std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; })) return token;
  return fail(ErrorCode::invalid_argument,
              "{}: the token has characters that no token has; copy it again from "
              "https://huggingface.co/settings/tokens",
              from);
}

// "host", "host:port" of an address.
std::string_view authority_of(std::string_view url) {
  const size_t begin = url.find("://");
  if (begin == url.npos) return {};
  const std::string_view rest = url.substr(begin + 3);
  return rest.substr(0, std::min(rest.find_first_of("/?#"), rest.size()));
}

bool is_this_machine(std::string_view authority) {
  const std::string_view host =
      authority.starts_with('[') ? authority : authority.substr(0, authority.find(':'));
  return host == "127.0.0.1" || host == "localhost" || host.starts_with("[::1]");
}

}  // namespace

Result<HubSettings> hub_settings() {
  HubSettings settings;
  settings.endpoint = environment("HF_ENDPOINT").value_or(std::string(kHub));
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  const bool is_address =
      settings.endpoint.starts_with("https://") || settings.endpoint.starts_with("http://");
  if (!is_address || authority_of(settings.endpoint).empty() ||
      settings.endpoint.find_first_of(" \t\r\n?#") != std::string::npos) {
    return fail(ErrorCode::invalid_argument, "HF_ENDPOINT: expected an address such as {}, got '{}'", kHub,
                settings.endpoint);
  }
  const auto home = environment("HF_HOME");
  const fs::path hub_home = home ? fs::path(*home) : user_cache() / "huggingface";
  const auto cache = environment("HF_HUB_CACHE");
  const auto older = environment("HUGGINGFACE_HUB_CACHE");
  settings.cache = absolute_path(cache ? fs::path(*cache) : older ? fs::path(*older) : hub_home / "hub");
  settings.own_cache = absolute_path(user_cache() / "parlance");
  settings.is_offline = is_on("HF_HUB_OFFLINE") || is_on("TRANSFORMERS_OFFLINE");
  PARLANCE_TRY(settings.token, token_from(hub_home));
  return settings;
}

bool may_know_token(const HubSettings& settings, std::string_view url) {
  const std::string_view there = authority_of(url);
  return there == authority_of(settings.endpoint) && (url.starts_with("https://") || is_this_machine(there));
}

}  // namespace parlance
