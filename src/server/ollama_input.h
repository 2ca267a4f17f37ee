// What Ollama's clients send, as a chat.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/fields.h"

namespace parlance {

inline constexpr std::string_view kOllamaTag = ":latest";

std::optional<std::string> without_tag(std::optional<std::string> name);

// The body of a chat that says the same as a body that keeps ollama_chat_fields() or
// ollama_generate_fields().
ApiResult<Json> chat_of_ollama(const Body& body);

// An error of the chat in the names that the client has used; where it is no chat, the messages are a prompt.
ApiError in_names_of_ollama(ApiError error, bool is_chat);

}  // namespace parlance
