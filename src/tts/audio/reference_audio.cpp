#include "tts/audio/reference_audio.h"

#include <cmath>

#include "tts/audio/loudness.h"
#include "tts/audio/silence.h"
#include "tts/audio/speech_format.h"

namespace parlance {

Result<ReferenceAudio> prepare_reference(std::span<const float> samples, bool removes_silence) {
  ReferenceAudio reference{.samples = {samples.begin(), samples.end()}, .rms = rms_of(samples)};
  if (!std::isfinite(reference.rms)) {
    return fail(ErrorCode::invalid_argument,
                "the reference recording has samples that are no finite numbers; convert it to 16-bit WAV");
  }
  if (reference.rms > 0 && reference.rms < kReferenceRms) {
    const float gain = kReferenceRms / reference.rms;
    for (float& sample : reference.samples) sample *= gain;
  }
  if (removes_silence) reference.samples = remove_silence(reference.samples, kReferenceSilence);
  reference.samples.resize(reference.samples.size() / kSpeechFrameSamples * kSpeechFrameSamples);
  if (reference.samples.empty()) {
    return fail(ErrorCode::invalid_argument,
                "the reference recording has less than {} ms of sound; give one of 3 to 10 seconds of speech",
                1000 * kSpeechFrameSamples / kSpeechRateHz);
  }
  return reference;
}

}  // namespace parlance
