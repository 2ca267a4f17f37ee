#include "tts/audio/speech_stream.h"

#include <utility>

#include "tts/audio/loudness.h"
#include "tts/audio/silence.h"

namespace parlance {

Result<std::vector<float>> finish_speech(std::span<const std::vector<float>> parts,
                                         std::optional<float> reference_rms) {
  std::vector<float> speech = remove_silence(join_parts(parts), kSpeechSilence);
  if (speech.empty()) {
    return fail(ErrorCode::invalid_argument,
                "the speech model produced no sound for this text; say more, or use another seed or voice");
  }
  if (reference_rms) {
    const float gain = reference_gain(reference_rms);
    for (float& sample : speech) sample *= gain;
  } else {
    normalise_peak(speech);
  }
  return fade_and_pad(std::move(speech));
}

SpeechStream::SpeechStream(const SpeechStreamOptions& options, Sink sink)
    : sink_(std::move(sink)), gain_(reference_gain(options.reference_rms)), pad_(options.leading_silence) {}

void SpeechStream::hand_out(std::span<const float> samples) {
  if (is_wanted_) is_wanted_ = sink_(samples);
}

void SpeechStream::pad(std::span<const float> samples) {
  scaled_.assign(samples.begin(), samples.end());
  for (float& sample : scaled_) sample *= gain_;
  pad_.push(scaled_, [&](std::span<const float> ready) { hand_out(ready); });
}

void SpeechStream::remove_silence(std::span<const float> samples) {
  silence_.push(samples, [&](std::span<const float> kept) { pad(kept); });
}

bool SpeechStream::push(std::span<const float> part) {
  if (is_wanted_) fader_.push(part, [&](std::span<const float> joined) { remove_silence(joined); });
  return is_wanted_;
}

bool SpeechStream::extend(std::span<const float> piece) {
  if (is_wanted_) fader_.extend(piece, [&](std::span<const float> joined) { remove_silence(joined); });
  return is_wanted_;
}

bool SpeechStream::finish() {
  if (!is_wanted_) return false;
  fader_.finish([&](std::span<const float> joined) { remove_silence(joined); });
  silence_.finish([&](std::span<const float> kept) { pad(kept); });
  pad_.finish([&](std::span<const float> ready) { hand_out(ready); });
  return is_wanted_;
}

}  // namespace parlance
