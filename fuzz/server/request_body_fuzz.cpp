// Any bytes as the body of a request in JSON, against the tables of fields.
#include <cstdint>
#include <string_view>

#include "allocations.h"
#include "server/chat_messages.h"
#include "server/fields.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  const auto json = parse_body({reinterpret_cast<const char*>(data), size});
  if (!json) {
    fuzz::require(json.error().status == 400, "what is no JSON is the client's mistake");
    return 0;
  }
  for (const auto fields : {chat_fields(), completion_fields(), speech_fields()}) {
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
  return 0;
}
