#include "realtime/event_writer.h"

#include "base/random_id.h"

namespace parlance {

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
                                         {"message", error.message},
                                         {"param", error.param ? Json(*error.param) : Json()},
                                         {"event_id", event_id ? Json(*event_id) : Json()}})}});
}

}  // namespace parlance
