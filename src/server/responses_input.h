// What POST /v1/responses is given, as a chat: items become messages, other names the chat's own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/fields.h"

namespace parlance {

using FindItem = std::function<std::optional<Json>(const std::string& id)>;

// The items of `input`, each with an id; those that are references are looked up. Errors name the item.
ApiResult<std::vector<Json>> read_items(const Json& input, const FindItem& find_item);

// The body of a chat that says the same, with these items. `body` keeps responses_fields().
ApiResult<Json> chat_of_response(const Body& body, const std::vector<Json>& items);

// The n oldest go, and the results of calls that went with them.
void cut_oldest(std::vector<Json>& items, size_t n);

// An error of the chat in the names that the client has used.
ApiError in_names_of_responses(ApiError error);

}  // namespace parlance
