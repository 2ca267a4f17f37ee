// When what happened in a turn: checkpoints on one clock, and how they are distributed over many turns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parlance {

enum class Checkpoint : uint8_t {
  speech_start,       // the first window of speech was heard
  asr_first_partial,  // the first words were recognised
  speech_end,         // the last window of speech was heard: zero of a turn
  pause,              // the voice detector noticed the silence behind it
  asr_final,          // the text of the turn is known
  llm_start,          // the prompt is handed to the language model
  llm_first_token,
  phrase_emit,  // the first phrase is complete
  tts_start,    // and is being spoken
  turn_end,     // the silence was long enough: the turn is over
  llm_end,
  tts_first_audio,     // the first samples of the answer were computed
  audio_first_played,  // and handed to the loudspeaker
  tts_end,
  audio_last_played,
  barge_in,   // the person began to speak into the answer
  hushed,     // it fell silent
  hard_stop,  // and was ended
};
inline constexpr int kCheckpoints = 18;

// As traces call them: "llm-first-token".
std::string_view name_of(Checkpoint checkpoint);

struct PhraseTrace {
  std::string text;
  double emit_ms = 0;  // all on the clock of the conversation
  std::optional<double> tts_start_ms = std::nullopt, tts_first_audio_ms = std::nullopt,
                        tts_end_ms = std::nullopt;
  int64_t n_samples = 0;
};

// All times are milliseconds on the clock of the conversation.
class TurnTrace {
 public:
  void mark(Checkpoint checkpoint, double now_ms) { at_[index(checkpoint)] = now_ms; }
  void mark_first(Checkpoint checkpoint, double now_ms) {
    if (!at_[index(checkpoint)]) mark(checkpoint, now_ms);
  }
  void clear(Checkpoint checkpoint) { at_[index(checkpoint)].reset(); }

  std::optional<double> at_ms(Checkpoint checkpoint) const { return at_[index(checkpoint)]; }
  // Since the end of speech; none when either is unknown.
  std::optional<double> after_speech_ms(Checkpoint checkpoint) const {
    return between_ms(Checkpoint::speech_end, checkpoint);
  }
  std::optional<double> between_ms(Checkpoint from, Checkpoint to) const;

  std::vector<PhraseTrace> phrases;

 private:
  static size_t index(Checkpoint checkpoint) { return static_cast<size_t>(checkpoint); }
  std::array<std::optional<double>, kCheckpoints> at_;
};

// A figure of merit of a turn, from one checkpoint to another.
struct TurnMetric {
  std::string_view name;  // "first_audio"
  std::string_view meaning;
  Checkpoint from, to;
};
std::span<const TurnMetric> turn_metrics();

struct Percentiles {
  size_t n = 0;
  double p50 = 0, p90 = 0, p99 = 0;
};

// By the nearest rank: values that occurred. Zeros when there are none.
Percentiles percentiles_of(std::vector<double> values);

}  // namespace parlance
