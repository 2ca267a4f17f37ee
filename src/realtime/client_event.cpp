#include "realtime/client_event.h"

#include <array>
#include <cmath>

#include "text/base64.h"

namespace parlance {

namespace {

using What = decltype(ClientEvent::what);

constexpr size_t kMostEventIdBytes = 512;

std::optional<std::string> text_of(const Json& event, std::string_view name) {
  const auto member = event.member(name);
  return member ? member->text() : std::nullopt;
}

RealtimeResult<std::string> needed(const Json& event, const char* name) {
  if (auto text = text_of(event, name)) return *std::move(text);
  return reject("invalid_value", name, "{} must be a string", name);
}

// An object; none, or null, is an empty one.
RealtimeResult<Json> object_of(const Json& event, const char* name, bool is_needed) {
  auto member = event.member(name);
  if (!member || member->is_null()) {
    if (is_needed) return reject("invalid_value", name, "{} must be an object", name);
    return Json::object();
  }
  if (!member->is_object()) return reject("invalid_value", name, "{} must be an object", name);
  return *std::move(member);
}

RealtimeResult<What> read_append(const Json& event) {
  PARLANCE_EVENT_TRY(const std::string letters, needed(event, "audio"));
  auto bytes = from_base64(letters);
  if (!bytes) return reject("invalid_value", "audio", "audio must be base64: the standard alphabet, padded");
  return AppendSound{*std::move(bytes)};
}

RealtimeResult<What> read_create_item(const Json& event) {
  PARLANCE_EVENT_TRY(const Json item, object_of(event, "item", true));
  CreateItem create;
  PARLANCE_EVENT_TRY(create.item, read_item(item, "item"));
  if (const auto behind = event.member("previous_item_id"); behind && !behind->is_null()) {
    PARLANCE_EVENT_TRY(create.behind, needed(event, "previous_item_id"));
  }
  return create;
}

RealtimeResult<double> milliseconds(const Json& event, const char* name) {
  const auto member = event.member(name);
  const auto number = member ? member->number() : std::nullopt;
  if (!number || !(*number >= 0) || *number > 1e12)
    return reject("invalid_value", name, "{} must be a number of milliseconds, 0 or more", name);
  return *number;
}

RealtimeResult<What> read_truncate(const Json& event) {
  PARLANCE_EVENT_TRY(std::string id, needed(event, "item_id"));
  PARLANCE_EVENT_TRY(const double end_ms, milliseconds(event, "audio_end_ms"));
  const auto index = event.member("content_index");
  if (index && !index->is_null() && index->integer() != 0)
    return reject("invalid_value", "content_index", "content_index must be 0: items have one part");
  return TruncateItem{.id = std::move(id), .end_ms = static_cast<int64_t>(std::floor(end_ms))};
}

RealtimeResult<What> read_playback(const Json& event) {
  PARLANCE_EVENT_TRY(std::string id, needed(event, "item_id"));
  PARLANCE_EVENT_TRY(const double played_ms, milliseconds(event, "played_ms"));
  return ReportPlayback{.item_id = std::move(id), .played_ms = played_ms};
}

struct Reader {
  std::string_view type;
  RealtimeResult<What> (*read)(const Json&);
};

constexpr std::array<Reader, 13> kReaders = {{
    {"session.update",
     [](const Json& event) -> RealtimeResult<What> {
       PARLANCE_EVENT_TRY(Json session, object_of(event, "session", true));
       return UpdateSession{.session = std::move(session)};
     }},
    {"transcription_session.update",
     [](const Json& event) -> RealtimeResult<What> {
       PARLANCE_EVENT_TRY(Json session, object_of(event, "session", true));
       return UpdateSession{.session = std::move(session), .is_transcription = true};
     }},
    {"input_audio_buffer.append", read_append},
    {"input_audio_buffer.commit", [](const Json&) -> RealtimeResult<What> { return CommitSound{}; }},
    {"input_audio_buffer.clear", [](const Json&) -> RealtimeResult<What> { return ClearSound{}; }},
    {"conversation.item.create", read_create_item},
    {"conversation.item.delete",
     [](const Json& event) -> RealtimeResult<What> {
       PARLANCE_EVENT_TRY(std::string id, needed(event, "item_id"));
       return DeleteItem{std::move(id)};
     }},
    {"conversation.item.retrieve",
     [](const Json& event) -> RealtimeResult<What> {
       PARLANCE_EVENT_TRY(std::string id, needed(event, "item_id"));
       return RetrieveItem{std::move(id)};
     }},
    {"conversation.item.truncate", read_truncate},
    {"response.create",
     [](const Json& event) -> RealtimeResult<What> {
       PARLANCE_EVENT_TRY(Json response, object_of(event, "response", false));
       return CreateResponse{std::move(response)};
     }},
    {"response.cancel",
     [](const Json& event) -> RealtimeResult<What> { return CancelResponse{text_of(event, "response_id")}; }},
    {"output_audio_buffer.clear", [](const Json&) -> RealtimeResult<What> { return ClearOutput{}; }},
    {"parlance.playback", read_playback},
}};

}  // namespace

tl::expected<ClientEvent, WrongEvent> read_client_event(std::string_view text) {
  const auto wrong = [](RealtimeError error, std::optional<std::string> event_id = {}) {
    return tl::unexpected(WrongEvent{std::move(error), std::move(event_id)});
  };
  const auto json = Json::parse_request(text);
  if (!json) return wrong({"invalid_event", "this is no JSON: " + json.error().message});
  if (!json->is_object()) return wrong({"invalid_event", "an event must be a JSON object"});
  auto id = text_of(*json, "event_id");
  if (id && id->size() > kMostEventIdBytes) id->resize(kMostEventIdBytes);
  const auto type = text_of(*json, "type");
  if (!type) return wrong({"invalid_event", "an event needs a type", "type"}, id);
  for (const Reader& reader : kReaders) {
    if (reader.type != *type) continue;
    auto what = reader.read(*json);
    if (!what) return wrong(std::move(what).error(), id);
    return ClientEvent{.id = std::move(id), .type = *type, .what = *std::move(what)};
  }
  return wrong(
      {"invalid_event", fmt::format("there is no event {}", Json(type->substr(0, 80)).line()), "type"}, id);
}

}  // namespace parlance
