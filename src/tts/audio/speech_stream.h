// From what the codec decodes to what is played: parts joined, long silences taken out, loudness set, ends
// faded. All at once, or as the parts come.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "tts/audio/cross_fader.h"
#include "tts/audio/fades.h"
#include "tts/audio/silence_stream.h"

namespace parlance {

// Fails when there is no sound in the parts. `reference_rms` is that of the recording whose voice is spoken
// with; without one, speech is scaled to a peak of 0.5.
Result<std::vector<float>> finish_speech(std::span<const std::vector<float>> parts,
                                         std::optional<float> reference_rms);

struct SpeechStreamOptions {
  std::optional<float> reference_rms = std::nullopt;
  LeadingSilence leading_silence = LeadingSilence::at_once;
};

// The same samples from parts that arrive one after the other, but for the peak, which is not known before
// the end: without a reference the loudness is the decoder's.
class SpeechStream {
 public:
  // Takes samples; false ends the stream, which then hands out nothing more.
  using Sink = std::function<bool(std::span<const float>)>;

  SpeechStream(const SpeechStreamOptions& options, Sink sink);

  // All yield whether the sink still wants samples.
  bool push(std::span<const float> part);
  // More of the part that was pushed last, whose first piece must have kFadeSamples or more.
  bool extend(std::span<const float> piece);
  bool finish();

 private:
  void hand_out(std::span<const float> samples);
  void pad(std::span<const float> samples);
  void remove_silence(std::span<const float> samples);

  Sink sink_;
  float gain_;
  CrossFader fader_;
  SilenceStream silence_;
  PadStream pad_;
  std::vector<float> scaled_;
  bool is_wanted_ = true;
};

}  // namespace parlance
