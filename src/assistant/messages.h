// Messages of a conversation in JSON, as files of conversations and of questions hold them.
#pragma once

#include <vector>

#include "base/result.h"
#include "chat/prompt.h"
#include "json/json.h"

namespace parlance {

Json to_json(const std::vector<Message>& messages);

// [{"role": "user", "content": "…"}, …]; the error says which message lacks what.
Result<std::vector<Message>> messages_from(const Json& json);

}  // namespace parlance
