#include "realtime/settings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/ascii.h"

namespace parlance {

namespace {

constexpr size_t kMostInstructionBytes = size_t{64} << 10;
constexpr size_t kMostRealtimeToolBytes = size_t{256} << 10;  // of all together
constexpr size_t kMostRealtimeTools = 128;
constexpr int64_t kMostAnswerTokens = 4096;
constexpr int64_t kMostPaddingMs = 5000, kMostSilenceMs = 60000;

// A setting that is being read: its value, which is never null, and what it changes.
struct Reading {
  SessionSettings& settings;
  const SessionSettings& now;  // before
  const SessionOffer& offer;
  const SettingsLocks& locks;
  std::string where;  // "session.audio.output.speed"

  template <class... Args>
  tl::unexpected<RealtimeError> refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return reject("invalid_value", where, "{} {}", where, fmt::format(format, std::forward<Args>(args)...));
  }
};

RealtimeResult<double> read_number(const Reading& r, const Json& value, double lowest, double highest) {
  const auto number = value.number();
  if (!number || *number < lowest || *number > highest)
    return r.refuse("must be a number from {} to {}, got {}", lowest, highest, value.line());
  return *number;
}

RealtimeResult<int64_t> read_integer(const Reading& r, const Json& value, int64_t lowest, int64_t highest) {
  const auto number = value.integer();
  if (!number || *number < lowest || *number > highest)
    return r.refuse("must be a whole number from {} to {}, got {}", lowest, highest, value.line());
  return *number;
}

RealtimeResult<bool> read_truth(const Reading& r, const Json& value) {
  if (const auto truth = value.truth()) return *truth;
  return r.refuse("must be true or false, got {}", value.line());
}

RealtimeResult<std::string> read_string(const Reading& r, const Json& value, size_t n_most) {
  auto text = value.text();
  if (!text) return r.refuse("must be a string, got {}", value.line().substr(0, 80));
  if (text->size() > n_most) return r.refuse("may have {} bytes, got {}", n_most, text->size());
  return *std::move(text);
}

RealtimeResult<std::string> read_word(const Reading& r, const Json& value, std::string_view words) {
  const std::string word = value.text().value_or("");
  for (size_t at = 0; at <= words.size();) {
    const size_t end = std::min(words.find('|', at), words.size());
    if (!word.empty() && words.substr(at, end - at) == word) return word;
    at = end + 1;
  }
  std::string listed(words);
  for (char& c : listed) {
    if (c == '|') c = ' ';
  }
  return r.refuse("must be one of: {}; got {}", listed, value.line().substr(0, 80));
}

// The setting inside one that is an object.
Reading inside(const Reading& r, std::string_view member) {
  return {r.settings, r.now, r.offer, r.locks, fmt::format("{}.{}", r.where, member)};
}

RealtimeResult<void> read_model(Reading& r, const Json& value) {
  const auto name = value.text();
  if (name && (name->empty() || *name == r.offer.model || (r.offer.is_model && r.offer.is_model(*name))))
    return {};
  return r.refuse("cannot change; it is {}", Json(r.offer.model).line());
}

RealtimeResult<void> read_kind(Reading& r, const Json& value) {
  const std::string_view own = r.settings.kind == SessionKind::transcription ? "transcription" : "realtime";
  if (value.text() == own) return {};
  return r.refuse("is fixed when the session is opened; it is {}", own);
}

RealtimeResult<void> read_instructions(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.instructions, read_string(r, value, kMostInstructionBytes));
  return {};
}

RealtimeResult<void> read_modalities(Reading& r, const Json& value) {
  const auto elements = value.elements();
  bool has_text = false, has_audio = false, has_other = false;
  if (elements) {
    for (const Json& one : *elements) {
      has_text = has_text || one.text() == "text";
      has_audio = has_audio || one.text() == "audio";
      has_other = has_other || (one.text() != "text" && one.text() != "audio");
    }
  }
  if (has_other || (!has_text && !has_audio))
    return r.refuse("must be [\"audio\"] or [\"text\"], got {}", value.line().substr(0, 80));
  r.settings.speaks = has_audio;
  return {};
}

RealtimeResult<SoundForm> read_form(const Reading& r, const Json& value) {
  using Coding = SoundForm::Coding;
  const bool is_word = value.kind() == JsonKind::text;
  const auto type = is_word                ? value.text()
                    : value.member("type") ? value.member("type")->text()
                                           : std::nullopt;
  if (type == "audio/pcmu" || type == "g711_ulaw") return SoundForm{.coding = Coding::ulaw, .rate_hz = 8000};
  if (type == "audio/pcma" || type == "g711_alaw") return SoundForm{.coding = Coding::alaw, .rate_hz = 8000};
  if (type != "audio/pcm" && type != "pcm16") {
    return r.refuse("must be {}, got {}",
                    is_word ? "pcm16, g711_ulaw or g711_alaw" : "of type audio/pcm, audio/pcmu or audio/pcma",
                    value.line().substr(0, 80));
  }
  const auto rate = value.member("rate");
  if (!rate || rate->is_null()) return SoundForm{};
  constexpr std::array<int64_t, 4> kRates = {24000, 8000, 16000, 48000};
  const auto hz = rate->integer();
  if (!hz || std::find(kRates.begin(), kRates.end(), *hz) == kRates.end())
    return r.refuse("has the rate {}; it must be 24000, 8000, 16000 or 48000", rate->line().substr(0, 40));
  return SoundForm{.coding = Coding::pcm, .rate_hz = static_cast<int>(*hz)};
}

RealtimeResult<void> read_input_form(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.input, read_form(r, value));
  if (r.locks.has_heard && r.settings.input != r.now.input)
    return r.refuse("cannot change any more: sound has come in");
  return {};
}

RealtimeResult<void> read_output_form(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.output, read_form(r, value));
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

RealtimeResult<void> read_voice(Reading& r, const Json& value) {
  const auto id = value.member("id");
  const auto name = id ? id->text() : value.text();
  if (!name) return r.refuse("must be a name, got {}", value.line().substr(0, 80));
  std::string voice = *name;
  if (r.offer.find_voice) {
    auto found = r.offer.find_voice(*name);
    if (!found) {
      found.error().param = r.where;
      return tl::unexpected(std::move(found).error());
    }
    voice = *std::move(found);
  }
  if (r.locks.has_spoken && voice != r.now.voice)
    return r.refuse("cannot change any more: the session has been heard; open another one");
  r.settings.voice = std::move(voice);
  return {};
}

RealtimeResult<void> read_speed(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.speed, read_number(r, value, 0.25, 1.5));
  return {};
}

bool is_tool_word(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return ascii::is_letter(c) || ascii::is_digit(c) || c == '_' || c == '-';
  });
}

RealtimeResult<void> read_session_tools(Reading& r, const Json& value) {
  const auto elements = value.elements();
  if (!elements) return r.refuse("must be an array, got {}", value.line().substr(0, 80));
  if (elements->size() > kMostRealtimeTools) return r.refuse("may have {} elements", kMostRealtimeTools);
  if (value.line().size() > kMostRealtimeToolBytes)
    return r.refuse("may have {} bytes", kMostRealtimeToolBytes);
  std::set<std::string> names;
  for (size_t i = 0; i < elements->size(); ++i) {
    const Json& tool = (*elements)[i];
    const Reading at{r.settings, r.now, r.offer, r.locks, fmt::format("{}[{}]", r.where, i)};
    const auto type = tool.member("type"), name = tool.member("name"), parameters = tool.member("parameters");
    if (!type || type->text() != "function") return inside(at, "type").refuse("can only be \"function\"");
    const std::string word = name ? name->text().value_or("") : std::string();
    if (!is_tool_word(word))
      return inside(at, "name")
          .refuse("must have 1 to 64 letters, digits, _ or -, got {}", Json(word).line());
    if (!names.insert(word).second) return inside(at, "name").refuse("is given to two tools; rename one");
    if (parameters && !parameters->is_null() && !parameters->is_object())
      return inside(at, "parameters").refuse("must be a schema");
  }
  r.settings.tools = value;
  return {};
}

RealtimeResult<void> read_session_choice(Reading& r, const Json& value) {
  if (value.is_object()) {
    const auto type = value.member("type"), name = value.member("name");
    if (!type || type->text() != "function" || !name || !name->text())
      return r.refuse("must be auto, none, required, or a function with its name");
  } else {
    PARLANCE_EVENT_CHECK(read_word(r, value, "auto|none|required"));
  }
  r.settings.tool_choice = value;
  return {};
}

RealtimeResult<void> read_parallel(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.has_parallel_calls, read_truth(r, value));
  return {};
}

RealtimeResult<void> read_most_tokens(Reading& r, const Json& value) {
  r.settings.n_most_tokens.reset();
  if (value.text() == "inf") return {};
  const auto n = value.integer();
  if (!n || *n < 1 || *n > kMostAnswerTokens)
    return r.refuse("must be a whole number from 1 to {}, or \"inf\"; got {}", kMostAnswerTokens,
                    value.line().substr(0, 80));
  r.settings.n_most_tokens = *n;
  return {};
}

RealtimeResult<void> read_truncation(Reading& r, const Json& value) {
  TruncationSettings read;
  read.shown = value;
  if (const auto word = value.text()) {
    PARLANCE_EVENT_CHECK(read_word(r, value, "auto|disabled"));
    if (*word == "disabled") read.rule = TruncationSettings::Rule::disabled;
  } else {
    const auto type = value.member("type");
    if (!type || type->text() != "retention_ratio")
      return r.refuse("must be auto, disabled, or of type retention_ratio");
    read.rule = TruncationSettings::Rule::ratio;
    if (const auto ratio = value.member("retention_ratio"); ratio && !ratio->is_null()) {
      PARLANCE_EVENT_TRY(read.ratio, read_number(inside(r, "retention_ratio"), *ratio, 0, 1));
    }
    const auto limit = member_at(value, "token_limits.post_instructions");
    if (limit && !limit->is_null()) {
      PARLANCE_EVENT_TRY(read.n_most_tokens,
                         read_integer(inside(r, "token_limits.post_instructions"), *limit, 1, 1 << 30));
    }
  }
  r.settings.truncation = std::move(read);
  return {};
}

RealtimeResult<void> read_reasoning(Reading& r, const Json& value) {
  const auto effort = value.member("effort");
  if (!value.is_object()) return r.refuse("must be an object, got {}", value.line().substr(0, 80));
  r.settings.effort.clear();
  if (!effort || effort->is_null()) return {};
  PARLANCE_EVENT_TRY(r.settings.effort,
                     read_word(inside(r, "effort"), *effort, "none|minimal|low|medium|high|xhigh|max"));
  return {};
}

RealtimeResult<void> read_temperature(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.temperature, read_number(r, value, 0, 2));
  return {};
}

RealtimeResult<void> read_nothing(Reading&, const Json&) {
  return {};
}

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
    } else if (name == "pace") {
      read.pace_seconds = otherwise.pace_seconds;
      if (!is_null) {
        PARLANCE_EVENT_TRY(read.pace_seconds, read_number(at, member, 0.1, 600));
      }
    }
  }
  return {};
}

Json show_modalities(const SessionSettings& s, Dialect dialect) {
  if (!s.speaks) return Json::array().push("text");
  if (dialect == Dialect::ga) return Json::array().push("audio");
  return Json::array().push("text").push("audio");
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
                       {"pace", e.pace_seconds}});
}

struct Shown {
  const SessionSettings& settings;
  const SessionOffer& offer;
  Dialect dialect;
};

struct Setting {
  std::string_view ga, beta;                                  // paths; empty: it does not exist there
  enum Scope : uint8_t { session, hearing, response } scope;  // hearing: of transcriptions too
  std::string_view values, about;
  RealtimeResult<void> (*read)(Reading&, const Json&);
  void (*clear)(SessionSettings& settings, const SessionSettings& first);  // null in an update
  Json (*show)(const Shown&);
};

#define PARLANCE_CLEARS(member) \
  [](SessionSettings& s, const SessionSettings& first) { s.member = first.member; }

constexpr auto kNoClear = [](SessionSettings&, const SessionSettings&) {};

const std::array<Setting, 21> kSettings = {{
    {"type", "", Setting::hearing, "realtime, transcription", "fixed when the session is opened", read_kind,
     kNoClear,
     [](const Shown& s) -> Json {
       return s.settings.kind == SessionKind::transcription ? "transcription" : "realtime";
     }},
    {"model", "model", Setting::session, "the server's", "cannot change", read_model, kNoClear,
     [](const Shown& s) -> Json { return s.offer.model; }},
    {"instructions", "instructions", Setting::response, "up to 64 KiB", "the system message",
     read_instructions, PARLANCE_CLEARS(instructions),
     [](const Shown& s) -> Json { return s.settings.instructions; }},
    {"output_modalities", "modalities", Setting::response, "[\"audio\"], [\"text\"]",
     "whether answers are spoken", read_modalities, PARLANCE_CLEARS(speaks),
     [](const Shown& s) { return show_modalities(s.settings, s.dialect); }},
    {"audio.input.format", "input_audio_format", Setting::hearing,
     "audio/pcm at 24000, 8000, 16000 or 48000 Hz; audio/pcmu, audio/pcma (in beta pcm16, g711_ulaw, "
     "g711_alaw)",
     "cannot change once sound has come in", read_input_form, PARLANCE_CLEARS(input),
     [](const Shown& s) { return shown_form(s.settings.input, s.dialect); }},
    {"audio.input.transcription", "input_audio_transcription", Setting::hearing,
     "null, {language, prompt, keywords}",
     "whether events tell what was understood, and what guides the recogniser", read_transcription,
     PARLANCE_CLEARS(transcription), [](const Shown& s) { return show_transcription(s.settings); }},
    {"audio.input.noise_reduction", "input_audio_noise_reduction", Setting::hearing, "null",
     "near_field and far_field are taken and have no effect", read_noise_reduction, kNoClear,
     [](const Shown&) -> Json { return {}; }},
    {"audio.input.turn_detection", "turn_detection", Setting::hearing,
     "server_vad {threshold, prefix_padding_ms, silence_duration_ms, idle_timeout_ms}, semantic_vad "
     "{eagerness}, "
     "both with create_response and interrupt_response; null",
     "when a turn ends; null: when the client commits it", read_turns,
     [](SessionSettings& s, const SessionSettings&) { s.turns.detection = TurnSettings::Detection::none; },
     [](const Shown& s) { return show_turns(s.settings); }},
    {"audio.output.format", "output_audio_format", Setting::response, "as of the input", "of answers",
     read_output_form, PARLANCE_CLEARS(output),
     [](const Shown& s) { return shown_form(s.settings.output, s.dialect); }},
    {"audio.output.voice", "voice", Setting::response, "GET /v1/audio/voices lists them",
     "cannot change once the session has been heard", read_voice, PARLANCE_CLEARS(voice),
     [](const Shown& s) -> Json { return s.settings.voice; }},
    {"audio.output.speed", "speed", Setting::response, "0.25 to 1.5", "of the next answers", read_speed,
     PARLANCE_CLEARS(speed), [](const Shown& s) -> Json { return s.settings.speed; }},
    {"tools", "tools", Setting::response, "functions {type, name, description, parameters}",
     "what the model may call", read_session_tools, PARLANCE_CLEARS(tools),
     [](const Shown& s) { return s.settings.tools; }},
    {"tool_choice", "tool_choice", Setting::response, "auto, none, required, {type: function, name}",
     "whether it has to", read_session_choice, PARLANCE_CLEARS(tool_choice),
     [](const Shown& s) { return s.settings.tool_choice; }},
    {"parallel_tool_calls", "", Setting::response, "true, false", "whether an answer may have several calls",
     read_parallel, PARLANCE_CLEARS(has_parallel_calls),
     [](const Shown& s) -> Json { return s.settings.has_parallel_calls; }},
    {"max_output_tokens", "max_response_output_tokens", Setting::response, "1 to 4096, \"inf\"",
     "of an answer", read_most_tokens, PARLANCE_CLEARS(n_most_tokens),
     [](const Shown& s) { return s.settings.n_most_tokens ? Json(*s.settings.n_most_tokens) : Json("inf"); }},
    {"truncation", "", Setting::session,
     "auto, disabled, {type: retention_ratio, retention_ratio, token_limits: {post_instructions}}",
     "what becomes of a conversation that is too long", read_truncation, PARLANCE_CLEARS(truncation),
     [](const Shown& s) { return s.settings.truncation.shown; }},
    {"reasoning", "", Setting::response, "{effort}",
     "whether the model thinks first; thoughts are never spoken", read_reasoning, PARLANCE_CLEARS(effort),
     [](const Shown& s) {
       const std::string& effort = s.settings.effort;
       return effort.empty() ? Json() : Json::object({{"effort", effort}});
     }},
    {"", "temperature", Setting::response, "0 to 2", "of the sampler", read_temperature,
     PARLANCE_CLEARS(temperature),
     [](const Shown& s) -> Json { return s.settings.temperature.value_or(s.offer.temperature); }},
    {"include", "", Setting::hearing, "taken, without effect", "", read_nothing, kNoClear,
     [](const Shown&) { return Json::array(); }},
    {"tracing", "tracing", Setting::session, "taken, without effect", "", read_nothing, kNoClear,
     [](const Shown&) -> Json { return {}; }},
    {"parlance", "parlance", Setting::hearing, "{events, barge_in, playback, binary_audio, pace}",
     "what other servers do not have", read_extensions, PARLANCE_CLEARS(extensions),
     [](const Shown& s) { return show_extensions(s.settings); }},
}};

std::string_view path_in(const Setting& setting, Dialect dialect) {
  return dialect == Dialect::ga ? setting.ga : setting.beta;
}

RealtimeResult<void> read_setting(const Setting& setting, const std::string& where, const Json& value,
                                  const SessionSettings& now, SessionSettings& changed,
                                  const SessionOffer& offer, const SettingsLocks& locks) {
  Reading reading{changed, now, offer, locks, where};
  if (!value.is_null()) return setting.read(reading, value);
  setting.clear(changed, first_settings(offer, now.kind));
  if (locks.has_heard && changed.input != now.input)
    return reading.refuse("cannot change any more: sound has come in");
  if (locks.has_spoken && changed.voice != now.voice)
    return reading.refuse("cannot change any more: the session has been heard; open another one");
  return {};
}

}  // namespace

SessionSettings first_settings(const SessionOffer& offer, SessionKind kind) {
  SessionSettings settings;
  settings.kind = kind;
  settings.instructions = offer.instructions;
  settings.voice = offer.voice;
  if (kind == SessionKind::transcription) {
    settings.transcription =
        TranscriptionSettings{.model = offer.asr_model, .language = {}, .prompt = {}, .keywords = {}};
  }
  return settings;
}

RealtimeResult<SessionSettings> changed_settings(const SessionSettings& now, const Json& update,
                                                 const SessionOffer& offer, Dialect dialect,
                                                 const SettingsLocks& locks, std::string_view where) {
  if (!update.is_object()) return reject("invalid_value", std::string(where), "{} must be an object", where);
  SessionSettings changed = now;
  for (const Setting& setting : kSettings) {
    const std::string_view path = path_in(setting, dialect);
    if (path.empty()) continue;
    const auto value = member_at(update, path);
    if (!value) continue;
    PARLANCE_EVENT_CHECK(
        read_setting(setting, fmt::format("{}.{}", where, path), *value, now, changed, offer, locks));
  }
  return changed;
}

RealtimeResult<SessionSettings> settings_of_response(const SessionSettings& session, const Json& response,
                                                     const SessionOffer& offer, Dialect dialect,
                                                     const SettingsLocks& locks) {
  SessionSettings changed = session;
  for (const Setting& setting : kSettings) {
    if (setting.scope != Setting::response) continue;
    std::string_view path = path_in(setting, dialect);
    if (path.empty()) continue;
    auto value = member_at(response, path);
    // The one that responses call otherwise than sessions.
    if (!value && path == "max_response_output_tokens")
      value = member_at(response, path = "max_output_tokens");
    if (!value || value->is_null()) continue;
    PARLANCE_EVENT_CHECK(
        read_setting(setting, fmt::format("response.{}", path), *value, session, changed, offer, locks));
  }
  return changed;
}

Json shown_form(const SoundForm& form, Dialect dialect) {
  using Coding = SoundForm::Coding;
  if (dialect == Dialect::beta) {
    return form.coding == Coding::pcm ? "pcm16" : form.coding == Coding::ulaw ? "g711_ulaw" : "g711_alaw";
  }
  if (form.coding == Coding::pcm) return Json::object({{"type", "audio/pcm"}, {"rate", form.rate_hz}});
  return Json::object({{"type", form.coding == Coding::ulaw ? "audio/pcmu" : "audio/pcma"}});
}

Json shown_settings(const SessionSettings& settings, const SessionOffer& offer, Dialect dialect,
                    std::string_view id) {
  const bool is_transcription = settings.kind == SessionKind::transcription;
  Json shown =
      Json::object({{"id", id},
                    {"object", is_transcription ? "realtime.transcription_session" : "realtime.session"},
                    {"expires_at", 0}});
  for (const Setting& setting : kSettings) {
    const std::string_view path = path_in(setting, dialect);
    if (path.empty() || (is_transcription && setting.scope != Setting::hearing)) continue;
    set_at(shown, path, setting.show({settings, offer, dialect}));
  }
  if (dialect == Dialect::ga && !is_transcription) shown.set("prompt", Json());
  return shown;
}

std::string settings_table() {
  std::string table = "| setting | in beta | values | |\n|---|---|---|---|\n";
  const auto cell = [](std::string_view text, bool is_code) {
    std::string escaped;
    for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
    return escaped.empty() ? std::string() : is_code ? "`" + escaped + "`" : escaped;
  };
  for (const Setting& setting : kSettings) {
    table += fmt::format("| {} | {} | {} | {} |\n", cell(setting.ga, true), cell(setting.beta, true),
                         cell(setting.values, false), cell(setting.about, false));
  }
  return table;
}

}  // namespace parlance
