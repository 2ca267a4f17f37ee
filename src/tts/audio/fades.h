// Beginnings and ends of speech: fades, and the quiet around it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "tts/audio/speech_format.h"

namespace parlance {

inline constexpr int64_t kFadeSamples = speech_samples(100);
inline constexpr int64_t kPadSamples = speech_samples(100);  // of silence before and after speech

// From nothing to full loudness over all samples, and back.
void fade_in(std::span<float> samples);
void fade_out(std::span<float> samples);

// Speech with a fade and silence at both ends.
std::vector<float> fade_and_pad(std::vector<float> samples);

// The silence before speech, of a stream. It is no sound: who plays the stream hears the voice this much
// later.
enum class LeadingSilence {
  at_once,           // by itself, when the first samples are known
  with_first_sound,  // in one piece with the first sound
  none,              // left out
};

// The same for speech that arrives in pieces, as early as it can be told. The ends differ from fade_and_pad()
// where there is less than two fades' length.
class PadStream {
 public:
  using Emit = FunctionRef<void(std::span<const float>)>;

  explicit PadStream(LeadingSilence leading_silence) : leading_silence_(leading_silence) {}

  void push(std::span<const float> samples, Emit emit);
  void finish(Emit emit);

 private:
  void emit_first(size_t n_samples, Emit emit);

  LeadingSilence leading_silence_;
  std::vector<float> held_;
  bool has_begun_ = false;  // something has arrived
  bool has_sent_head_ = false;
};

}  // namespace parlance
