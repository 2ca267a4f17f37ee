// Settings that other servers do not have.
#include "realtime/setting_values.h"

namespace parlance {

RealtimeResult<void> read_extensions(Reading& r, const Json& value) {
  if (!value.is_object()) return r.refuse("must be an object, got {}", value.line().substr(0, 80));
  ExtensionSettings& read = r.settings.extensions;
  for (const auto& [name, member] : value.members().value_or(std::vector<std::pair<std::string, Json>>())) {
    const Reading at = inside(r, name);
    const ExtensionSettings otherwise;
    const bool is_null = member.is_null();
    if (name == "events") {
      const auto elements = is_null ? std::vector<Json>() : member.elements();
      if (!elements) return at.refuse("must be an array of timing, barge_in, partial, state");
      read.tells_timing = read.tells_barge_in = read.tells_partial = read.tells_state = false;
      for (const Json& one : *elements) {
        PARLANCE_EVENT_TRY(const std::string word, read_word(at, one, "timing|barge_in|partial|state"));
        (word == "timing"     ? read.tells_timing
         : word == "barge_in" ? read.tells_barge_in
         : word == "partial"  ? read.tells_partial
                              : read.tells_state) = true;
      }
    } else if (name == "barge_in") {
      read.confirms_barge_in = false;
      if (!is_null) {
        PARLANCE_EVENT_TRY(const std::string word, read_word(at, member, "immediate|confirm"));
        read.confirms_barge_in = word == "confirm";
      }
    } else if (name == "playback") {
      read.has_playback = false;
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.has_playback, read_truth(at, member));
      }
    } else if (name == "binary_audio") {
      read.has_binary_audio = false;
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.has_binary_audio, read_truth(at, member));
      }
    } else if (name == "filler") {
      read.filler = FillerMoment::never;
      if (!is_null) {
        PARLANCE_EVENT_TRY(const std::string word, read_word(at, member, "never|speech_start|turn_end"));
        read.filler = word == "speech_start" ? FillerMoment::speech_start
                      : word == "turn_end"   ? FillerMoment::turn_end
                                             : FillerMoment::never;
      }
    } else if (name == "pace") {
      read.pace_seconds = otherwise.pace_seconds;
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.pace_seconds, read_number(at, member, 0.1, 600));
      }
    }
  }
  return {};
}

Json show_extensions(const SessionSettings& s) {
  const ExtensionSettings& e = s.extensions;
  Json events = Json::array();
  if (e.tells_timing) events.push("timing");
  if (e.tells_barge_in) events.push("barge_in");
  if (e.tells_partial) events.push("partial");
  if (e.tells_state) events.push("state");
  return Json::object({{"events", events},
                       {"barge_in", e.confirms_barge_in ? "confirm" : "immediate"},
                       {"playback", e.has_playback},
                       {"binary_audio", e.has_binary_audio},
                       {"pace", e.pace_seconds},
                       {"filler", e.filler == FillerMoment::speech_start ? "speech_start"
                                  : e.filler == FillerMoment::turn_end   ? "turn_end"
                                                                         : "never"}});
}

}  // namespace parlance
