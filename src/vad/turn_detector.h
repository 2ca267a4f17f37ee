// When somebody begins to speak, pauses and has finished: a state machine over the windows of a stream.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "vad/silero_weights.h"

namespace parlance {

enum class TurnPhase { idle, speaking, paused };

// What a window means to the state machine.
enum class TurnInput {
  speech,           // at or above the onset
  unclear,          // between offset and onset: changes nothing
  silence,          // below the offset
  pause_silence,    // and this for as long as the hangover of a pause
  closing_silence,  // and this for as long as the hangover of the end
  flush,            // the stream has ended
};

enum class TurnAction { none, start, go_on, pause, resume, end };

struct TurnMove {
  TurnPhase phase;
  TurnAction action;

  bool operator==(const TurnMove&) const = default;
};

// The state machine itself.
TurnMove next_move(TurnPhase phase, TurnInput input);

// The end hangover when a model that judges whether the sentence is complete is attached.
inline constexpr double kEndHangoverWithTurnModelMs = 300;

struct TurnOptions {
  double onset = 0.5;                           // probability from which on a window is speech
  std::optional<double> offset = std::nullopt;  // below which it is silence; else max(0.1, onset - 0.15)
  double pause_hangover_ms = 100;               // of silence until speech has paused
  double end_hangover_ms = 500;                 // of silence until it has ended
  double min_speech_ms = 250;                   // what is shorter was a blip
  double heartbeat_ms = 200;                    // between reports that speech goes on

  // A voice that falls fast has finished its phrase: the hangover of the pause is shortened while the level
  // falls by this per window or faster, over three windows.
  double falling_rms_slope = -0.02;
  double falling_hangover_factor = 0.5;
  double min_hangover_ms = 50;

  // Speech begins only while this gate is open: from a level on, until it was below a part of that for a
  // while.
  double gate_rms = 0.012;
  double gate_fall = 0.6;
  double gate_hold_ms = 200;

  int64_t pre_roll_windows = 10;  // of audio that precede the onset, for the recogniser
};

// All positions are samples of the stream.
struct TurnEvent {
  enum class Kind {
    speech_start,
    speech_active,  // a heartbeat
    speech_pause,
    speech_resume,
    speech_end,
    blip,  // in place of speech_end: too short to be speech
  };
  Kind kind;
  int64_t first_sample;  // of the segment's audio, with what precedes its onset
  int64_t speech_start;  // where the first window of speech begins
  int64_t speech_end;    // where silence began, or how far speech is known to go
  int64_t n_heard;       // samples of the stream when this became known

  bool operator==(const TurnEvent&) const = default;
};

class TurnDetector {
 public:
  explicit TurnDetector(const TurnOptions& options = {});

  // What the next window makes known: its probability of speech and its root mean square. Only a stream's
  // last window may have fewer samples than the others.
  std::optional<TurnEvent> next(float probability, float rms, int64_t n_samples = kSileroWindow);

  // Another end hangover for the silence that began at `speech_end`, if that still goes on.
  void expect_end(int64_t speech_end, double hangover_ms);

  // Another gate than the options', in root mean square, from the next window on.
  void set_gate(double rms) { options_.gate_rms = rms; }

  // Ends the stream and begins a new one.
  std::optional<TurnEvent> flush();

  TurnPhase phase() const { return phase_; }
  // The level of the segment's last 200 ms of speech beside that of all its speech; 1 before there is any.
  double final_level() const;

 private:
  bool is_gate_open(double rms);
  TurnInput input_of(double probability, double rms);
  std::optional<TurnEvent> move(TurnInput input);

  TurnOptions options_;
  double offset_;
  TurnPhase phase_ = TurnPhase::idle;
  int64_t n_heard_ = 0;         // samples
  int64_t window_start_ = 0;    // of the last window
  int64_t n_handed_out_ = 0;    // up to the end of the last segment's audio: not given again as pre-roll
  int64_t first_sample_ = 0;    // of the segment, as in TurnEvent
  int64_t speech_start_ = 0;    // likewise
  int64_t silence_since_ = -1;  // within the segment; -1: it speaks
  int64_t last_report_ = 0;     // n_heard_ of the last heartbeat, start or resumption
  int64_t gate_open_until_ = 0;
  double end_hangover_ms_;               // of this silence
  std::array<double, 3> levels_{};       // of the last windows, the latest last
  std::array<double, 6> last_spoken_{};  // levels of the segment's last windows of speech, by n_spoken_
  int64_t n_spoken_ = 0;                 // windows of speech in the segment
  double sum_spoken_ = 0;                // of their levels
};

}  // namespace parlance
