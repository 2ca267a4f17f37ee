// From a microphone's samples to turns: the model, the state machine over its probabilities, and the audio of
// what was spoken.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "base/function_ref.h"
#include "vad/pre_roll.h"
#include "vad/silero.h"
#include "vad/turn_detector.h"

namespace parlance {

// Takes 16 kHz samples in pieces of any length; what it reports does not depend on how they are split. One
// thread feeds it. Nothing is allocated while it runs.
class SpeechDetector {
 public:
  using OnEvent = FunctionRef<void(const TurnEvent&)>;
  // Audio of a segment, in order and without gaps from its first_sample on until its end is reported; the
  // position is that of the first sample in the stream. No sample is given twice.
  using OnAudio = FunctionRef<void(std::span<const float> samples, int64_t position)>;

  explicit SpeechDetector(std::shared_ptr<const SileroModel> model, const TurnOptions& options = {},
                          Isa isa = available_isas().back());

  // Samples that are no finite numbers are taken as 0, also in the audio.
  void feed(std::span<const float> samples, OnEvent on_event, OnAudio on_audio);

  // Ends the stream: fills the last window up with zeros, reports the end of speech that goes on, and is as
  // new. The zeros are not given as audio.
  void flush(OnEvent on_event, OnAudio on_audio);

  // As new; what was heard is forgotten.
  void reset();

  // As those of TurnDetector.
  void expect_end(int64_t speech_end, double hangover_ms) { turns_.expect_end(speech_end, hangover_ms); }
  // Behind a gate that no sound can open (above 1), the model hears nothing as long as nobody is speaking: it
  // would take what is left of an echo for the beginning of whatever opens the gate.
  void set_gate(double rms) {
    turns_.set_gate(rms);
    is_shut_ = rms > 1;
  }
  double final_level() const { return turns_.final_level(); }

  TurnPhase phase() const { return turns_.phase(); }
  float probability() const { return probability_; }  // of speech in the last whole window

 private:
  void take_window(int64_t n_samples, OnEvent on_event, OnAudio on_audio);

  SileroVad vad_;
  TurnOptions options_;
  TurnDetector turns_;
  PreRoll pre_roll_;
  std::array<float, kSileroWindow> window_{};
  int64_t n_filled_ = 0;  // samples in the window
  int64_t position_ = 0;  // of the window's first sample in the stream
  float probability_ = 0;
  bool is_shut_ = false;
};

}  // namespace parlance
