#include "assistant/events.h"

#include <cmath>
#include <optional>

#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

// Times to the millisecond: more is noise.
double rounded(double seconds) {
  return std::round(seconds * 1000) / 1000;
}

double to_tenths(double ms) {
  return std::round(ms * 10) / 10;
}

Json milliseconds(std::optional<double> ms) {
  return ms ? Json(to_tenths(*ms)) : Json();
}

Json checkpoints_of(const TurnTrace& trace) {
  Json json = Json::object();
  for (int i = 0; i < kCheckpoints; ++i) {
    const auto checkpoint = static_cast<Checkpoint>(i);
    if (const auto ms = trace.after_speech_ms(checkpoint)) json.add(name_of(checkpoint), to_tenths(*ms));
  }
  return json;
}

Json phrases_of(const TurnTrace& trace) {
  const double zero_ms = trace.at_ms(Checkpoint::speech_end).value_or(0);
  const auto since = [&](std::optional<double> at_ms) {
    return milliseconds(at_ms ? std::optional(*at_ms - zero_ms) : std::nullopt);
  };
  Json list = Json::array();
  for (const PhraseTrace& phrase : trace.phrases) {
    list.push(Json::object({{"text", phrase.text},
                            {"emit", since(phrase.emit_ms)},
                            {"tts_start", since(phrase.tts_start_ms)},
                            {"tts_first_audio", since(phrase.tts_first_audio_ms)},
                            {"tts_end", since(phrase.tts_end_ms)},
                            {"audio_seconds", static_cast<double>(phrase.n_samples) / kSpeechRateHz}}));
  }
  return list;
}

// What is in an event beside its type.
void add_members(Json& json, const HeardSegment& segment) {
  json.set("start", rounded(segment.start_s))
      .set("end", rounded(segment.end_s))
      .set("text", segment.transcript.text)
      .set("language", segment.transcript.language)
      .set("complete", segment.is_complete);
  if (segment.words.empty()) return;
  Json words = Json::array();
  for (const TimedWord& word : segment.words) {
    words.push(Json::object(
        {{"word", word.word}, {"start", rounded(word.start_seconds)}, {"end", rounded(word.end_seconds)}}));
  }
  json.set("words", words);
}
// What the end of a turn was judged by; null where that does not depend on what was said.
Json end_of(const TurnReport& report) {
  if (!report.end_signs) return {};
  const TurnEndSigns& signs = *report.end_signs;
  return Json::object({{"probability", signs.probability ? Json(*signs.probability) : Json()},
                       {"mark", signs.has_mark},
                       {"stable", signs.is_stable},
                       {"final_level", signs.final_level},
                       {"reply", signs.is_reply},
                       {"silence_ms", to_tenths(report.end_silence_ms)}});
}

void add_members(Json& json, const TurnReport& report) {
  Json metrics = Json::object();
  for (const TurnMetric& metric : turn_metrics()) {
    if (const auto ms = report.trace.between_ms(metric.from, metric.to))
      metrics.add(metric.name, to_tenths(*ms));
  }
  json.set("turn", report.number)
      .set("question", report.question)
      .set("answer", report.answer)
      .set("heard", report.heard)
      .set("interrupted", report.is_interrupted)
      .set("drafts", report.n_drafts)
      .set("audio_seconds", static_cast<double>(report.n_samples) / kSpeechRateHz)
      .set("end", end_of(report))
      .set("ms", metrics)
      .set("checkpoints_ms", checkpoints_of(report.trace))
      .set("phrases", phrases_of(report.trace))
      .set("drafting", Json::object({{"steps", report.draft.n_steps},
                                     {"verification_steps", report.draft.n_verified},
                                     {"drafted_tokens", report.draft.n_drafted},
                                     {"drafted_tokens_accepted", report.draft.n_accepted},
                                     {"drafted_tokens_rejected", report.draft.n_rejected()}}));
}

void add_members(Json& json, const PartialEvent& event) {
  json.set("start", event.start_s)
      .set("end", event.start_s + event.partial.seconds)
      .set("text", event.partial.transcript.text)
      .set("stable", event.partial.stable)
      .set("language", event.partial.transcript.language);
}
void add_members(Json& json, const SegmentEvent& event) {
  add_members(json, event.segment);
}
void add_members(Json& json, const StateEvent& event) {
  json.set("state", std::string(name_of(event.state)));
}
void add_members(Json& json, const HearingEvent& event) {
  json.set("text", event.hearing.text).set("stable", event.hearing.text.substr(0, event.hearing.n_stable));
}
void add_members(Json& json, const QuestionEvent& event) {
  json.set("text", event.text);
}
void add_members(Json& json, const AnswerEvent& event) {
  json.set("text", event.text);
}
void add_members(Json& json, const TurnEndEvent& event) {
  add_members(json, event.report);
}
void add_members(Json& json, const ErrorEvent& event) {
  json.set("message", event.error.message);
}

}  // namespace

std::string_view type_of(const AssistantEvent& event) {
  constexpr std::string_view kTypes[] = {"partial",  "final",  "state", "hearing",
                                         "question", "answer", "turn",  "error"};
  static_assert(std::size(kTypes) == std::variant_size_v<AssistantEvent>);
  return kTypes[event.index()];
}

Json to_json(const AssistantEvent& event) {
  Json json = Json::object({{"type", std::string(type_of(event))}});
  std::visit([&](const auto& known) { add_members(json, known); }, event);
  return json;
}

Json to_json(const HeardSegment& segment) {
  Json json = Json::object({});
  add_members(json, segment);
  return json;
}

Json to_json(const TurnReport& report) {
  Json json = Json::object({});
  add_members(json, report);
  return json;
}

}  // namespace parlance
