// Settings of what is heard: sound, transcription, the ends of turns.
#include "realtime/setting_values.h"

namespace parlance {

namespace {

constexpr int64_t kMostPaddingMs = 5000, kMostSilenceMs = 60000;

}  // namespace

RealtimeResult<void> read_input_form(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.input, read_form(r, value));
  if (r.locks.has_heard && r.settings.input != r.now.input)
    return r.refuse("cannot change any more: sound has come in");
  return {};
}

RealtimeResult<void> read_transcription(Reading& r, const Json& value) {
  if (!value.is_object()) return r.refuse("must be an object or null, got {}", value.line().substr(0, 80));
  TranscriptionSettings read = r.settings.transcription.value_or(
      TranscriptionSettings{.model = r.offer.asr_model, .language = {}, .prompt = {}, .keywords = {}});
  constexpr size_t kMostGuidingBytes = 4096, kMostKeywords = 100;
  // Whatever it is called: there is one recogniser, and the session shows its name.
  if (const auto model = value.member("model"); model && !model->is_null())
    PARLANCE_EVENT_CHECK(read_string(inside(r, "model"), *model, 256));
  const auto read_guide = [&](const char* name, std::optional<std::string>& guide) -> RealtimeResult<void> {
    const auto member = value.member(name);
    if (!member) return {};
    guide.reset();
    if (!member->is_null()) {
      PARLANCE_EVENT_TRY(guide, read_string(inside(r, name), *member, kMostGuidingBytes));
    }
    return {};
  };
  PARLANCE_EVENT_CHECK(read_guide("language", read.language));
  if (read.language && !read.language->empty() && r.offer.check_language) {
    const Reading at = inside(r, "language");
    auto known = r.offer.check_language(*read.language);
    if (!known) {
      known.error().param = at.where;
      return tl::unexpected(std::move(known).error());
    }
  }
  PARLANCE_EVENT_CHECK(read_guide("prompt", read.prompt));
  if (const auto keywords = value.member("keywords")) {
    const auto elements = keywords->elements();
    if (!keywords->is_null() && (!elements || elements->size() > kMostKeywords))
      return inside(r, "keywords").refuse("must be an array of at most {} strings", kMostKeywords);
    read.keywords.reset();
    if (elements) {
      read.keywords.emplace();
      for (const Json& one : *elements) {
        PARLANCE_EVENT_TRY(std::string word, read_string(inside(r, "keywords"), one, 256));
        read.keywords->push_back(std::move(word));
      }
    }
  }
  r.settings.transcription = std::move(read);
  return {};
}

RealtimeResult<void> read_noise_reduction(Reading& r, const Json& value) {
  const auto type = value.member("type");
  if (!value.is_object() || !type) return r.refuse("must be null or have a type");
  PARLANCE_EVENT_CHECK(read_word(inside(r, "type"), *type, "near_field|far_field"));
  return {};
}

RealtimeResult<void> read_turns(Reading& r, const Json& value) {
  using Detection = TurnSettings::Detection;
  if (!value.is_object()) return r.refuse("must be an object or null, got {}", value.line().substr(0, 80));
  const TurnSettings before = r.settings.turns;
  Detection detection = before.detection == Detection::none ? Detection::silence : before.detection;
  if (const auto type = value.member("type"); type && !type->is_null()) {
    PARLANCE_EVENT_TRY(const std::string word,
                       read_word(inside(r, "type"), *type, "server_vad|semantic_vad"));
    detection = word == "server_vad" ? Detection::silence : Detection::meaning;
  }
  TurnSettings read;
  if (detection == before.detection) read = before;
  read.detection = detection;
  for (const auto& [name, member] : value.members().value_or(std::vector<std::pair<std::string, Json>>())) {
    const Reading at = inside(r, name);
    const bool is_null = member.is_null();
    if (name == "create_response") {
      read.creates_response = true;
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.creates_response, read_truth(at, member));
      }
    } else if (name == "interrupt_response") {
      read.interrupts_response = true;
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.interrupts_response, read_truth(at, member));
      }
    } else if (detection == Detection::meaning && name == "eagerness") {
      read.eagerness = "auto";
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.eagerness, read_word(at, member, "low|medium|high|auto"));
      }
    } else if (detection == Detection::silence && name == "threshold") {
      read.threshold = 0.5;
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.threshold, read_number(at, member, 0, 1));
      }
    } else if (detection == Detection::silence && name == "prefix_padding_ms") {
      read.prefix_padding_ms = 300;
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.prefix_padding_ms, read_integer(at, member, 0, kMostPaddingMs));
      }
    } else if (detection == Detection::silence && name == "silence_duration_ms") {
      read.silence_duration_ms = 500;
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.silence_duration_ms, read_integer(at, member, 0, kMostSilenceMs));
      }
    } else if (detection == Detection::silence && name == "idle_timeout_ms") {
      read.idle_timeout_ms.reset();
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.idle_timeout_ms, read_integer(at, member, 1000, 600000));
      }
    }
  }
  r.settings.turns = read;
  return {};
}

Json show_transcription(const SessionSettings& s) {
  if (!s.transcription) return {};
  const TranscriptionSettings& t = *s.transcription;
  Json shown = Json::object({{"model", t.model},
                             {"language", t.language ? Json(*t.language) : Json()},
                             {"prompt", t.prompt ? Json(*t.prompt) : Json()}});
  if (t.keywords) {
    Json list = Json::array();
    for (const std::string& word : *t.keywords) list.push(word);
    shown.set("keywords", list);
  }
  return shown;
}

Json show_turns(const SessionSettings& s) {
  const TurnSettings& t = s.turns;
  switch (t.detection) {
    case TurnSettings::Detection::none:
      return {};
    case TurnSettings::Detection::silence:
      return Json::object({{"type", "server_vad"},
                           {"threshold", t.threshold},
                           {"prefix_padding_ms", t.prefix_padding_ms},
                           {"silence_duration_ms", t.silence_duration_ms},
                           {"create_response", t.creates_response},
                           {"interrupt_response", t.interrupts_response},
                           {"idle_timeout_ms", t.idle_timeout_ms ? Json(*t.idle_timeout_ms) : Json()}});
    case TurnSettings::Detection::meaning:
      break;
  }
  return Json::object({{"type", "semantic_vad"},
                       {"eagerness", t.eagerness},
                       {"create_response", t.creates_response},
                       {"interrupt_response", t.interrupts_response}});
}

}  // namespace parlance
