#include "server/request_key.h"

#include <cmath>

#include "assistant/conversation_registry.h"
#include "bundle/sha256.h"

namespace parlance {

namespace {

constexpr size_t kMostIdBytes = 256;

std::string hex_of(std::string_view text) {
  return sha256(std::as_bytes(std::span(text)));
}

ApiResult<std::string> checked_id(std::string id, const char* param) {
  const bool has_control =
      id.find_first_of(std::string_view("\x7f")) != std::string::npos ||
      std::any_of(id.begin(), id.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; });
  if (id.size() <= kMostIdBytes && !has_control) return id;
  return refuse("invalid_value", param, "{} must have 1 to {} bytes and no control characters", param,
                kMostIdBytes);
}

// The ids that a request may give, by where they stand.
ApiResult<std::string> conversation_id(const HttpRequest& request, const Body& body) {
  std::string id;
  const std::pair<const char*, std::string> given[] = {
      {"x-conversation-id", std::string(request.field("x-conversation-id"))},
      {"parlance.conversation_id", body.object("parlance").text("conversation_id").value_or("")},
      {"session_id", body.text("session_id").value_or("")}};
  for (const auto& [param, value] : given) {
    if (value.empty()) continue;
    PARLANCE_API_TRY(const std::string checked, checked_id(value, param));
    if (!id.empty() && id != checked) {
      return refuse("invalid_value", param,
                    "{} names another conversation than the request does elsewhere; give one", param);
    }
    id = checked;
  }
  return id;
}

}  // namespace

ApiResult<RequestKey> request_key(const HttpRequest& request, const Body& body) {
  PARLANCE_API_TRY(const std::string id, conversation_id(request, body));
  if (!id.empty()) return RequestKey{.key = "conv:" + id, .conversation_id = id};
  const Body extra = body.object("parlance");
  if (const Json* segments = extra.find("prompt_segments")) {
    if (const std::string hash = stable_prefix_hash(*segments); !hash.empty())
      return RequestKey{.key = "seg:" + hash, .conversation_id = {}};
  }
  if (const auto hash = extra.text("prefix_hash"); hash && !hash->empty())
    return RequestKey{.key = "pfx:" + *hash, .conversation_id = {}};
  if (const auto key = body.text("prompt_cache_key"); key && !key->empty())
    return RequestKey{.key = *key, .conversation_id = {}};
  for (const char* name : {"id_slot", "slot_id"}) {
    const auto slot = body.integer(name);
    if (slot && *slot >= 0)
      return RequestKey{.key = fmt::format("slot:{}", *slot), .conversation_id = {}, .slot = *slot};
  }
  return RequestKey{};
}

int slot_of(std::string_view key, double n_slots) {
  if (!std::isfinite(n_slots) || n_slots <= 0 || key.empty()) return -1;
  const auto n = static_cast<uint32_t>(std::max(std::floor(n_slots), 1.0));
  return n == 1 ? 0 : slot_from_hash(key, n);
}

std::string stable_prefix_hash(const Json& segments) {
  const auto elements = segments.elements();
  if (!elements) return {};
  std::string stable;
  bool is_leading = true;
  for (const Json& one : *elements) {
    const auto content = one.member("content");
    const auto is_stable = one.member("stable");
    if (!content || !content->text() || !is_stable || !is_stable->truth()) return {};
    is_leading = is_leading && *is_stable->truth();
    if (is_leading) stable += *content->text() + '\x01';
  }
  return stable.empty() ? stable : hex_of(stable).substr(0, 16);
}

}  // namespace parlance
