#include "realtime/settings.h"

#include <array>

#include "realtime/setting_values.h"

namespace parlance {

namespace {

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

RealtimeResult<void> read_nothing(Reading&, const Json&) {
  return {};
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
    {"parlance", "parlance", Setting::hearing, "{events, barge_in, playback, binary_audio, pace, filler}",
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
