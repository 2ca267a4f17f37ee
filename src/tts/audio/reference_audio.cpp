#include "tts/audio/reference_audio.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "tts/audio/loudness.h"
#include "tts/audio/silence.h"
#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

// Whole frames of it, since what is beyond the last one is cut away.
void add_quiet(std::vector<float>& samples, int64_t quiet_ms) {
  if (quiet_ms == 0 || samples.empty()) return;
  std::vector<int16_t> whole(samples.size());
  std::ranges::transform(samples, whole.begin(), s16_of);
  const int64_t n_missing = speech_samples(quiet_ms) - quiet_end(whole);
  if (n_missing <= 0) return;
  const int64_t n = std::ssize(samples) + n_missing;
  samples.resize(static_cast<size_t>(align_up<int64_t>(n, kSpeechFrameSamples)), 0.0f);
}

}  // namespace

Result<ReferenceAudio> prepare_reference(std::span<const float> samples,
                                         const ReferencePreparation& preparation) {
  ReferenceAudio reference{.samples = {samples.begin(), samples.end()}, .rms = rms_of(samples)};
  if (!std::isfinite(reference.rms)) {
    return fail(ErrorCode::invalid_argument,
                "the reference recording has samples that are no finite numbers; convert it to 16-bit WAV");
  }
  if (reference.rms > 0 && reference.rms < kReferenceRms) {
    const float gain = kReferenceRms / reference.rms;
    for (float& sample : reference.samples) sample *= gain;
  }
  if (preparation.removes_silence) reference.samples = remove_silence(reference.samples, kReferenceSilence);
  add_quiet(reference.samples, preparation.quiet_ms);
  reference.samples.resize(reference.samples.size() / kSpeechFrameSamples * kSpeechFrameSamples);
  if (reference.samples.empty()) {
    return fail(ErrorCode::invalid_argument,
                "the reference recording has less than {} ms of sound; give one of 3 to 10 seconds of speech",
                1000 * kSpeechFrameSamples / kSpeechRateHz);
  }
  return reference;
}

}  // namespace parlance
