// What a session is set to: how it hears, speaks and takes turns. One table (settings.cpp) says what each
// setting is called in both dialects, what it may be, and how it is shown; the documentation comes from it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realtime/protocol.h"
#include "voice/filler.h"

namespace parlance {

// What a session is for, from its opening on.
enum class SessionKind : uint8_t { conversation, transcription };

// One channel of sound as it goes over the socket.
struct SoundForm {
  enum class Coding : uint8_t { pcm, ulaw, alaw };  // 16 bits, little-endian; G.711
  Coding coding = Coding::pcm;
  int rate_hz = 24000;

  int n_bytes() const { return coding == Coding::pcm ? 2 : 1; }  // of a sample
  bool operator==(const SoundForm&) const = default;
};

// When a turn of the person ends.
struct TurnSettings {
  enum class Detection : uint8_t {
    none,     // when the client says so
    silence,  // "server_vad"
    meaning,  // "semantic_vad"
  };
  Detection detection = Detection::silence;
  double threshold = 0.5;
  int64_t prefix_padding_ms = 300, silence_duration_ms = 500;
  std::optional<int64_t> idle_timeout_ms;
  std::string eagerness = "auto";
  bool creates_response = true, interrupts_response = true;

  bool operator==(const TurnSettings&) const = default;
};

// Whether the client is told what was understood, and what guides the recogniser.
struct TranscriptionSettings {
  std::string model;
  std::optional<std::string> language, prompt;
  std::optional<std::vector<std::string>> keywords;
};

// How much of a long conversation the model is told.
struct TruncationSettings {
  enum class Rule : uint8_t { automatic, disabled, ratio };
  Rule rule = Rule::automatic;
  double ratio = 0.7;                    // that is left when something goes
  std::optional<int64_t> n_most_tokens;  // of all behind the instructions
  Json shown = "auto";
};

// What other servers do not have: only for those who ask for it.
struct ExtensionSettings {
  bool tells_timing = false, tells_barge_in = false, tells_partial = false, tells_state = false;
  bool confirms_barge_in = false;  // an answer goes on when there were no words
  bool has_playback = false;       // the client says how far it has played
  bool has_binary_audio = false;
  double pace_seconds = 30;                   // of sound that may be ahead of what is played
  FillerMoment filler = FillerMoment::never;  // when a short sound stands in for an answer
};

struct SessionSettings {
  SessionKind kind = SessionKind::conversation;
  std::string instructions;
  bool speaks = true;  // else answers are text
  SoundForm input, output;
  std::optional<TranscriptionSettings> transcription;
  TurnSettings turns;
  std::string voice;
  double speed = 1;
  Json tools = Json::array();  // as the client gave them
  Json tool_choice = "auto";
  bool has_parallel_calls = true;
  std::optional<int64_t> n_most_tokens;  // of an answer; none: "inf"
  TruncationSettings truncation;
  std::string effort;  // of thinking; empty: not said
  std::optional<double> temperature;
  ExtensionSettings extensions;
};

// What a server offers to sessions.
struct SessionOffer {
  std::string model, asr_model;
  std::string voice = "default";
  std::string instructions;
  double temperature = 0;  // of answers where nobody says
  // The real name of a voice; an error lists those that there are.
  std::function<RealtimeResult<std::string>(std::string_view)> find_voice = {};
  // A language that the recogniser knows, as clients may call it; an error lists those that there are.
  std::function<RealtimeResult<void>(std::string_view)> check_language = {};
  // Whether a model of that name is this one.
  std::function<bool(std::string_view)> is_model = {};
};

// What can no longer be changed.
struct SettingsLocks {
  bool has_heard = false;   // sound has come in
  bool has_spoken = false;  // and out
};

// As a session of this kind begins.
SessionSettings first_settings(const SessionOffer& offer, SessionKind kind);

// With the members that `update` has; null is the value at the beginning. Nothing is changed by an error.
// What is not known here is passed over. `where` is what errors call the update.
RealtimeResult<SessionSettings> changed_settings(const SessionSettings& now, const Json& update,
                                                 const SessionOffer& offer, Dialect dialect,
                                                 const SettingsLocks& locks = {},
                                                 std::string_view where = "session");

// All that is in effect, as clients are shown it.
Json shown_settings(const SessionSettings& settings, const SessionOffer& offer, Dialect dialect,
                    std::string_view id);

// What one response may have otherwise than its session.
RealtimeResult<SessionSettings> settings_of_response(const SessionSettings& session, const Json& response,
                                                     const SessionOffer& offer, Dialect dialect,
                                                     const SettingsLocks& locks);

Json shown_form(const SoundForm& form, Dialect dialect);

// For the documentation: a table in Markdown.
std::string settings_table();

}  // namespace parlance
