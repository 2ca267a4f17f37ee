// What must be true of all that a session tells its client, whatever happens: the order of events, their
// shapes, and that everything that was begun is ended.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "realtime/protocol.h"
#include "server/support/schema.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance::test {

using nlohmann::json;

struct RealtimeShapes {
  json ga, beta, sequences;
};

// Null where they are not on this machine.
inline const RealtimeShapes* realtime_shapes() {
  static const auto shapes = []() -> std::optional<RealtimeShapes> {
    const auto folder = fixtures_root() / "server";
    if (!std::filesystem::exists(folder / "shapes/realtime_ga.json")) return std::nullopt;
    return RealtimeShapes{read_json(folder / "shapes/realtime_ga.json"),
                          read_json(folder / "shapes/realtime_beta.json"),
                          read_json(folder / "sequences.json")};
  }();
  return shapes ? &*shapes : nullptr;
}

// A part of a response's item.
struct CheckedPart {
  std::string deltas;
  bool has_transcript = false, has_audio = false;
  bool is_text_done = false, is_audio_done = false, is_done = false;
};

class RealtimeChecker {
 public:
  explicit RealtimeChecker(Dialect dialect) : dialect_(dialect) {}

  void take(const json& event) {
    if (!breach_.empty()) return;
    check_shape(event);
    const std::string type = ga_name(event.at("type"));
    if (!ids_.insert(event.at("event_id").get<std::string>()).second) fail(event, "its id was used before");
    if (type == "conversation.item.added") return check_added(event);
    if (type == "conversation.item.deleted") {
      std::erase(items_, event.at("item_id").get<std::string>());
      return;
    }
    if (type == "input_audio_buffer.speech_started") {
      if (!speech_.empty()) fail(event, "speech has started already");
      speech_ = event.at("item_id");
      check_time(event, event.at("audio_start_ms"), /*is_end=*/false);
    } else if (type == "input_audio_buffer.speech_stopped") {
      if (speech_ != event.at("item_id")) fail(event, "other speech was open");
      speech_.clear();
      stopped_ = event.at("item_id");
      check_time(event, event.at("audio_end_ms"), /*is_end=*/true);
    } else if (type == "input_audio_buffer.committed") {
      if (!stopped_.empty() && stopped_ != event.at("item_id")) fail(event, "another one has stopped");
      stopped_.clear();
      if (event.at("previous_item_id") != (items_.empty() ? json() : json(items_.back())))
        fail(event, "previous_item_id is not that of the last item");
    } else if (type == "input_audio_buffer.cleared") {
      stopped_.clear();
    } else if (type.starts_with("conversation.item.input_audio_transcription.")) {
      check_transcription(type, event);
    } else if (type.starts_with("response.")) {
      check_response(type, event);
    }
  }

  // Nothing is going on any more.
  void finish() {
    if (breach_.empty() && !responses_.empty() && !is_cut) breach_ = "a response has no done";
    if (breach_.empty() && !stopped_.empty()) breach_ = "speech that stopped was not committed";
  }
  const std::string& breach() const { return breach_; }
  bool is_cut = false;        // the client has left
  bool checks_shapes = true;  // which takes most of the time

 private:
  struct Response {
    bool is_aside = false;
    std::string item;  // that is open
    std::string kind;
    std::optional<CheckedPart> part;
    std::string arguments;
    bool are_arguments_done = false;
  };

  void fail(const json& event, const std::string& why) {
    if (breach_.empty()) breach_ = event.dump().substr(0, 300) + ": " + why;
  }

  // Without the recorded shapes, too.
  std::string ga_name(const std::string& type) const {
    static const std::map<std::string, std::string> kOfBeta = {
        {"conversation.item.created", "conversation.item.added"},
        {"response.text.delta", "response.output_text.delta"},
        {"response.text.done", "response.output_text.done"},
        {"response.audio_transcript.delta", "response.output_audio_transcript.delta"},
        {"response.audio_transcript.done", "response.output_audio_transcript.done"},
        {"response.audio.delta", "response.output_audio.delta"},
        {"response.audio.done", "response.output_audio.done"}};
    if (dialect_ == Dialect::ga) return type;
    const auto found = kOfBeta.find(type);
    return found == kOfBeta.end() ? type : found->second;
  }

  // Of the events of fillers, which the recorded shapes may lack.
  static const json& filler_shapes() {
    static const json shapes = [] {
      const json text = {{"type", "string"}};
      const json cleared = {{"type", "object"},
                            {"required", {"type", "event_id"}},
                            {"properties", {{"type", text}, {"event_id", text}}},
                            {"additionalProperties", false}};
      json filler = cleared;
      filler["required"].push_back("audio");
      filler["properties"]["audio"] = text;
      return json{{"parlance.filler", filler}, {"parlance.filler.cleared", cleared}};
    }();
    return shapes;
  }

  void check_shape(const json& event) {
    const RealtimeShapes* shapes = realtime_shapes();
    if (!shapes || !checks_shapes) return;
    const json& all = dialect_ == Dialect::ga ? shapes->ga : shapes->beta;
    const std::string type = event.at("type");
    const bool is_event = all["events"].contains(type);
    if (type.starts_with("transcription_session.")) return;  // has no shape
    if (type.starts_with("session.") && event["session"].value("type", "") == "transcription") return;
    if (!is_event && !all["extensions"].contains(type) && !filler_shapes().contains(type))
      return fail(event, "there is no such event");
    const json& shape = is_event                           ? all["events"][type]
                        : all["extensions"].contains(type) ? all["extensions"][type]
                                                           : filler_shapes()[type];
    const std::string why = breach_of(shape, event, all);
    if (!why.empty()) fail(event, why);
  }

  void check_added(const json& event) {
    const std::string id = event.at("item").at("id");
    if (std::find(items_.begin(), items_.end(), id) != items_.end())
      return fail(event, "it was added before");
    const json& before = event.at("previous_item_id");
    auto place = items_.begin();
    if (!before.is_null()) {
      place = std::find(items_.begin(), items_.end(), before.get<std::string>());
      if (place == items_.end()) return fail(event, "there is no such item before it");
      ++place;
    }
    items_.insert(place, id);
  }

  void check_time(const json& event, int64_t ms, bool is_end) {
    if (ms < last_ms_) fail(event, "time goes back");
    if (is_end && ms <= start_ms_) fail(event, "it ends before it starts");
    if (!is_end) start_ms_ = ms;
    last_ms_ = ms;
  }

  void check_transcription(const std::string& type, const json& event) {
    const std::string item = event.at("item_id");
    if (transcribed_.contains(item)) return fail(event, "the text was complete");
    if (type.ends_with(".delta")) {
      if (item != speech_ && std::find(items_.begin(), items_.end(), item) == items_.end())
        fail(event, "nobody knows the item");
      transcripts_[item] += event.at("delta");
      return;
    }
    transcribed_.insert(item);
    if (std::find(items_.begin(), items_.end(), item) == items_.end()) fail(event, "the item was not added");
    if (type.ends_with(".completed") && transcripts_[item] != event.at("transcript"))
      fail(event, "deltas were " + transcripts_[item]);
  }

  void check_response(const std::string& type, const json& event) {
    if (type == "response.created") {
      const std::string id = event.at("response").at("id");
      const bool is_aside = event.at("response").value("conversation_id", json()).is_null();
      for (const auto& [other, response] : responses_) {
        if (!is_aside && !response.is_aside) fail(event, "another one is being made");
      }
      if (!known_responses_.insert(id).second) fail(event, "it was created before");
      responses_[id].is_aside = is_aside;
      return;
    }
    const std::string id = type == "response.done" ? event.at("response").at("id") : event.at("response_id");
    if (!responses_.contains(id)) return fail(event, "there is no such response, or it is done");
    Response& response = responses_[id];
    if (type == "response.done") {
      if (!response.item.empty()) fail(event, "an item of it is open");
      responses_.erase(id);
      return;
    }
    if (type == "response.output_item.added") {
      if (!response.item.empty()) return fail(event, "another item is open");
      response.item = event.at("item").at("id");
      response.kind = event.at("item").at("type");
      response.part.reset();
      response.arguments.clear();
      response.are_arguments_done = false;
      return;
    }
    const std::string item =
        type == "response.output_item.done" ? event.at("item").at("id") : event.at("item_id");
    if (item != response.item) return fail(event, "the item is not open");
    if (type == "response.output_item.done") {
      if (response.part && !response.part->is_done) fail(event, "a part of it is open");
      if (response.kind == "function_call" && !response.are_arguments_done) fail(event, "arguments are open");
      response.item.clear();
      return;
    }
    if (type == "response.function_call_arguments.delta") {
      response.arguments += event.at("delta");
    } else if (type == "response.function_call_arguments.done") {
      response.are_arguments_done = true;
      if (event.at("arguments") != response.arguments) fail(event, "deltas were " + response.arguments);
    } else if (type == "response.content_part.added") {
      if (response.part) return fail(event, "it has a part");
      response.part.emplace();
    } else if (!response.part || response.part->is_done) {
      fail(event, "no part is open");
    } else {
      check_part(type, event, *response.part);
    }
  }

  void check_part(const std::string& type, const json& event, CheckedPart& part) {
    const bool is_transcript = type.find("transcript") != std::string::npos;
    if (type == "response.content_part.done") {
      const json& shown = event.at("part");
      if (!part.is_text_done) fail(event, "its text is open");
      if (shown.at("type") == "audio" && !part.is_audio_done) fail(event, "its sound is open");
      if (shown.value("transcript", shown.value("text", "")) != part.deltas)
        fail(event, "deltas were " + part.deltas);
      part.is_done = true;
    } else if (type == "response.output_audio.done") {
      part.is_audio_done = true;
    } else if (type == "response.output_audio.delta") {
      if (part.is_audio_done) fail(event, "its sound was over");
      if (part.deltas.empty()) fail(event, "sound came before the text of its phrase");
    } else if (type.ends_with(".done")) {
      part.is_text_done = true;
      if (event.at(is_transcript ? "transcript" : "text") != part.deltas)
        fail(event, "deltas were " + part.deltas);
    } else if (part.is_text_done) {
      fail(event, "its text was over");
    } else {
      part.deltas += event.at("delta");
    }
  }

  const Dialect dialect_;
  std::string breach_;
  std::set<std::string> ids_, known_responses_, transcribed_;
  std::vector<std::string> items_;
  std::string speech_, stopped_;
  int64_t start_ms_ = -1, last_ms_ = 0;
  std::map<std::string, std::string> transcripts_;
  std::map<std::string, Response> responses_;
};

// "<type><type>…" of events, without those that may come anywhere.
inline std::string order_of(const std::vector<json>& events, size_t from = 0) {
  std::string order;
  for (size_t i = from; i < events.size(); ++i) {
    const std::string type = events[i]["type"];
    if (type.starts_with("conversation.item.input_audio_transcription.")) continue;
    order += "<" + type + ">";
  }
  return order;
}

}  // namespace parlance::test
