#include "assistant/messages.h"

namespace parlance {

Json to_json(const std::vector<Message>& messages) {
  Json array = Json::array();
  for (const Message& message : messages) {
    array.push(Json::object({{"role", message.role}, {"content", message.content}}));
  }
  return array;
}

Result<std::vector<Message>> messages_from(const Json& json) {
  const auto elements = json.elements();
  if (!elements) return fail(ErrorCode::invalid_argument, "\"messages\" must be an array");
  std::vector<Message> messages;
  for (const Json& element : *elements) {
    const auto role = element.member("role");
    const auto content = element.member("content");
    const auto role_text = role ? role->text() : std::nullopt;
    const auto content_text = content ? content->text() : std::nullopt;
    if (!role_text || !content_text) {
      return fail(ErrorCode::invalid_argument, "message {} needs \"role\" and \"content\", both texts",
                  messages.size() + 1);
    }
    messages.push_back({*role_text, *content_text});
  }
  return messages;
}

}  // namespace parlance
