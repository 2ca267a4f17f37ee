#include "realtime/protocol.h"

#include <array>

namespace parlance {

namespace {

// Where they differ.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kNamesInBeta = {{
    {"conversation.item.added", "conversation.item.created"},
    {"conversation.item.done", ""},
    {"response.output_text.delta", "response.text.delta"},
    {"response.output_text.done", "response.text.done"},
    {"response.output_audio_transcript.delta", "response.audio_transcript.delta"},
    {"response.output_audio_transcript.done", "response.audio_transcript.done"},
    {"response.output_audio.delta", "response.audio.delta"},
    {"response.output_audio.done", "response.audio.done"},
}};

}  // namespace

std::string_view name_in(Dialect dialect, std::string_view event) {
  if (dialect == Dialect::ga) return event;
  for (const auto& [ga, beta] : kNamesInBeta) {
    if (event == ga) return beta;
  }
  return event;
}

std::optional<Json> member_at(const Json& json, std::string_view path) {
  const size_t dot = path.find('.');
  auto member = json.member(path.substr(0, dot));
  if (!member || dot == std::string_view::npos) return member;
  return member_at(*member, path.substr(dot + 1));
}

void set_at(Json& json, std::string_view path, const Json& value) {
  const size_t dot = path.find('.');
  const std::string_view name = path.substr(0, dot);
  if (dot == std::string_view::npos) {
    json.set(name, value);
    return;
  }
  Json inner = json.member(name).value_or(Json::object());
  if (!inner.is_object()) inner = Json::object();
  set_at(inner, path.substr(dot + 1), value);
  json.set(name, inner);
}

}  // namespace parlance
