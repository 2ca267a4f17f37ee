// Long silences taken out of speech that arrives in pieces: what remove_silence() keeps, as early as it is
// sure, and with all its bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "tts/audio/silence.h"

namespace parlance {

class SilenceStream {
 public:
  using Emit = FunctionRef<void(std::span<const float>)>;

  explicit SilenceStream(const SilenceRule& rule = kSpeechSilence);

  void push(std::span<const float> samples, Emit emit);
  void finish(Emit emit);

 private:
  // Positions are samples from the beginning of the stream.
  bool is_window_silent(int64_t begin) const;
  void begin_at(int64_t sound);
  void end_pause(Emit emit);
  void emit_until(int64_t position, Emit emit);
  void drop_until(int64_t position);

  int64_t window_, lead_, trail_;
  std::vector<float> held_;             // the samples from sent_ on,
  std::vector<int16_t> held_s16_;       // which are measured with 16 bits
  std::vector<int64_t> step_energies_;  // sums of squares of all whole steps
  int64_t sent_ = 0;                    // emitted, or left out
  int64_t received_ = 0;
  bool has_sound_ = false;
  int64_t scan_ = 0;                // the next window
  std::optional<int64_t> pause_;    // where the first of the silent windows that were last seen begins,
  int64_t last_silent_window_ = 0;  // and the last of them
};

}  // namespace parlance
