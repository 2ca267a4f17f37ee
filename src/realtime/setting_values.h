// How the values of settings are read: each is checked, and what is refused is named by its path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "realtime/settings.h"

namespace parlance {

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

// A number in a range; errors say which.
RealtimeResult<double> read_number(const Reading& r, const Json& value, double lowest, double highest);
RealtimeResult<int64_t> read_integer(const Reading& r, const Json& value, int64_t lowest, int64_t highest);
RealtimeResult<bool> read_truth(const Reading& r, const Json& value);
RealtimeResult<std::string> read_string(const Reading& r, const Json& value, size_t n_most);
// One of the words, between which there is |.
RealtimeResult<std::string> read_word(const Reading& r, const Json& value, std::string_view words);
// The setting inside one that is an object.
Reading inside(const Reading& r, std::string_view member);

// What the table of settings (settings.cpp) has of sound that comes in and of turns, …
RealtimeResult<void> read_input_form(Reading& r, const Json& value);
RealtimeResult<void> read_transcription(Reading& r, const Json& value);
RealtimeResult<void> read_noise_reduction(Reading& r, const Json& value);
RealtimeResult<void> read_turns(Reading& r, const Json& value);
Json show_transcription(const SessionSettings& s);
Json show_turns(const SessionSettings& s);

// … of answers, …
RealtimeResult<void> read_instructions(Reading& r, const Json& value);
RealtimeResult<void> read_modalities(Reading& r, const Json& value);
RealtimeResult<void> read_output_form(Reading& r, const Json& value);
RealtimeResult<void> read_voice(Reading& r, const Json& value);
RealtimeResult<void> read_speed(Reading& r, const Json& value);
RealtimeResult<void> read_session_tools(Reading& r, const Json& value);
RealtimeResult<void> read_session_choice(Reading& r, const Json& value);
RealtimeResult<void> read_parallel(Reading& r, const Json& value);
RealtimeResult<void> read_most_tokens(Reading& r, const Json& value);
RealtimeResult<void> read_truncation(Reading& r, const Json& value);
RealtimeResult<void> read_reasoning(Reading& r, const Json& value);
RealtimeResult<void> read_temperature(Reading& r, const Json& value);
Json show_modalities(const SessionSettings& s, Dialect dialect);

// … and of what other servers do not have.
RealtimeResult<void> read_extensions(Reading& r, const Json& value);
Json show_extensions(const SessionSettings& s);

// Of both directions.
RealtimeResult<SoundForm> read_form(const Reading& r, const Json& value);

}  // namespace parlance
