#include "realtime/event_writer.h"

#include "base/random_id.h"
#include "text/display.h"

namespace parlance {

namespace {

constexpr size_t kMostMessage = 500;  // code points: what a client has sent is not sent back at any length

}  // namespace

void EventWriter::send(std::string_view type, Members members) {
  const std::string_view name = name_in(dialect_, type);
  if (name.empty()) return;
  Json event = Json::object({{"type", name}, {"event_id", random_id("event_")}});
  for (const auto& [member, value] : members) event.add(member, value);
  sink_.send(event.line());
  on_sent_(type);
}

void EventWriter::error(const RealtimeError& error, const std::optional<std::string>& event_id) {
  send("error", {{"error", Json::object({{"type", error.type},
                                         {"code", error.code},
                                         {"message", shorten(error.message, kMostMessage)},
                                         {"param", error.param ? Json(*error.param) : Json()},
                                         {"event_id", event_id ? Json(*event_id) : Json()}})}});
}

}  // namespace parlance
