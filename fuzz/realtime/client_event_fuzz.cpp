// Any bytes as an event of a Realtime client, and as an update of a session's settings.
#include <cstdint>
#include <string_view>

#include "allocations.h"
#include "realtime/client_event.h"
#include "realtime/settings.h"

namespace {

using namespace parlance;

void check_update(const Json& update) {
  SessionOffer offer;
  offer.model = "model";
  offer.asr_model = "asr";
  for (const Dialect dialect : {Dialect::ga, Dialect::beta}) {
    for (const SessionKind kind : {SessionKind::conversation, SessionKind::transcription}) {
      const SessionSettings first = first_settings(offer, kind);
      const auto changed = changed_settings(first, update, offer, dialect, {.has_heard = true});
      if (!changed) {
        fuzz::require(!changed.error().message.empty() && changed.error().param, "errors name the setting");
        continue;
      }
      fuzz::require(changed->input == first.input, "what is locked stays");
      // What is shown can be given again.
      const Json shown = shown_settings(*changed, offer, dialect, "sess_x");
      const auto again = changed_settings(*changed, shown, offer, dialect);
      fuzz::require(again && shown_settings(*again, offer, dialect, "sess_x").line() == shown.line(),
                    "settings as they are shown are settings");
    }
  }
  (void)settings_of_response(first_settings(offer, SessionKind::conversation), update, offer, Dialect::ga,
                             {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto event = read_client_event({reinterpret_cast<const char*>(data), size});
  if (!event) {
    const std::string& code = event.error().error.code;
    fuzz::require(code == "invalid_event" || code == "invalid_value", "errors have a code of the protocol");
    fuzz::require(!event.error().error.message.empty(), "and words");
    return 0;
  }
  if (const auto* update = std::get_if<UpdateSession>(&event->what)) check_update(update->session);
  if (const auto* create = std::get_if<CreateItem>(&event->what)) {
    fuzz::require(!create->item.id.empty(), "an item has a name");
    const Json shown = to_json(create->item, Dialect::ga, true);
    if (!create->item.awaits_text())
      fuzz::require(read_item(shown, "item").has_value(), "items are read as shown");
  }
  return 0;
}
