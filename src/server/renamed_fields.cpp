#include "server/renamed_fields.h"

#include "base/ascii.h"

namespace parlance {

namespace {

// Whether a text begins with this field, and not with another one that is called alike.
bool begins_with_field(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return false;
  if (text.size() == name.size()) return true;
  const char next = text[name.size()];
  return !ascii::is_letter(next) && !ascii::is_digit(next) && next != '_';
}

}  // namespace

ApiError in_words_of_request(ApiError error, std::span<const RenamedField> names) {
  const auto rename = [&](std::string& text) {
    for (const auto& [of_chat, of_request] : names) {
      if (!begins_with_field(text, of_chat)) continue;
      text.replace(0, of_chat.size(), of_request);
      return;
    }
  };
  rename(error.message);
  if (error.param) rename(*error.param);
  return error;
}

}  // namespace parlance
