// Where a request of another form was answered as a chat: what is wrong with the chat, in the words of the
// request.
#pragma once

#include <span>
#include <string_view>

#include "server/api_error.h"

namespace parlance {

struct RenamedField {
  std::string_view of_chat, of_request;
};

// The first that fits counts: longer names before those that they begin with.
ApiError in_words_of_request(ApiError error, std::span<const RenamedField> names);

}  // namespace parlance
