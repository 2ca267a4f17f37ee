// What requests have in common that belong together: the key of a conversation, and the slot that it names.
#pragma once

#include <string>
#include <string_view>

#include "server/fields.h"
#include "server/http_message.h"

namespace parlance {

struct RequestKey {
  std::string key;              // "conv:…", "seg:…", "pfx:…", a cache key, "slot:…"; empty: none
  std::string conversation_id;  // of a "conv:" key
  int64_t slot = -1;            // of a "slot:" key
};

// The first that is there: X-Conversation-Id, parlance.conversation_id or session_id;
// parlance.prompt_segments; parlance.prefix_hash; prompt_cache_key; id_slot or slot_id. Errors: two ids that
// differ; an id that is no name.
ApiResult<RequestKey> request_key(const HttpRequest& request, const Body& body);

// The slot that clients of llama.cpp's server derive from a key (slot_from_hash()); -1 without a key or slots.
int slot_of(std::string_view key, double n_slots);

// Of the leading stable segments, their texts each with a byte 1 behind: 16 digits; empty where there are
// none.
std::string stable_prefix_hash(const Json& segments);

}  // namespace parlance
