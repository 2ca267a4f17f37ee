// Messages of a request, as the chat template takes them.
#pragma once

#include <vector>

#include "chat/prompt.h"
#include "server/fields.h"

namespace parlance {

// Errors name the part: "messages[2].content[0]".
ApiResult<std::vector<Message>> read_messages(const Json& messages);

}  // namespace parlance
