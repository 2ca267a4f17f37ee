// Any bytes as the body of a request in JSON, against the tables of fields, and what keeps one as a chat.
#include <cstdint>
#include <string_view>

#include "allocations.h"
#include "server/chat_messages.h"
#include "server/fields.h"
#include "server/ollama_input.h"
#include "server/responses_input.h"

namespace {

using namespace parlance;

void check_response(const Body& body) {
  const Json* input = body.find("input");
  if (!input) return;
  const auto items = read_items(*input, [](const std::string&) { return std::nullopt; });
  if (!items) return;
  const auto chat = chat_of_response(body, *items);
  if (!chat) return fuzz::require(!in_names_of_responses(chat.error()).message.empty(), "errors have words");
  (void)check_fields(chat_fields(), *chat, {.is_strict = false, .n_ctx = 4096});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = parse_body({reinterpret_cast<const char*>(data), size});
  if (!json) {
    fuzz::require(json.error().status == 400, "what is no JSON is the client's mistake");
    return 0;
  }
  for (const auto fields : {chat_fields(), client_secret_fields(), completion_fields(), embedding_fields(), prewarm_fields(), speech_fields()}) {
    for (const bool is_strict : {false, true}) {
      const auto checked = check_fields(fields, *json, {.is_strict = is_strict, .n_ctx = 4096});
      fuzz::require(checked || (checked.error().status == 400 && !checked.error().message.empty()),
                    "errors have words");
      fuzz::require(!checked || ignored_text(checked->ignored).size() <= 512, "names fit a field");
      if (checked && checked->body.has("messages") && checked->body.find("messages")->elements()) {
        (void)read_messages(*checked->body.find("messages"));
      }
    }
  }
  const FieldRules rules{.is_strict = false, .n_ctx = 4096};
  if (const auto checked = check_fields(responses_fields(), *json, rules)) check_response(checked->body);
  for (const auto fields : {ollama_chat_fields(), ollama_generate_fields()}) {
    const auto checked = check_fields(fields, *json, rules);
    const auto chat = checked ? chat_of_ollama(checked->body) : api_unexpected(checked.error());
    if (chat) (void)check_fields(chat_fields(), *chat, rules);
  }
  return 0;
}
