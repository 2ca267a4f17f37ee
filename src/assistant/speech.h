// Text to sound on the caller's thread, with the voices of a bundle.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assistant/reference_recording.h"
#include "assistant/voice_regions.h"
#include "base/cancellation.h"
#include "base/result.h"

namespace parlance {

// Whose voice is to be spoken with: one of the bundle or a file, that of a recording, or, where nothing is
// named, one that the model chooses.
struct VoiceChoice {
  std::string name;  // an id of the bundle, a preset (.bin) or codes (.rvq)
  // Or a recording to be spoken like, and the words in it.
  std::string recording = {}, recording_text = {};
  // Of that: longer ones are cut behind a word, where somebody hears what is said in them. 0: they are not.
  double reference_seconds = 0;
  bool ends_quiet = false;  // quiet is put behind it
};

// As recordings are used in a quality: exact takes them as they are.
void suit_quality(VoiceChoice& choice, SpeechQuality quality);
// Enough to know a voice by; more costs time and gives nothing (docs/speaking.md).
inline constexpr double kReferenceSeconds = 4;

// A recogniser for what is said in recordings, which is loaded when it is first wanted; without one nothing
// is heard.
HearReference hear_with(std::function<Result<std::shared_ptr<AsrRegion>>()> ears);

// All of a recording at the rate of the codec, resampled as it was for the codec's training.
Result<std::vector<float>> read_for_codec(const std::filesystem::path& path);
// The same of a recording in memory, which messages call `name`.
Result<std::vector<float>> read_for_codec(std::span<const std::byte> bytes, std::string name);

// From any thread: requests are made one after the other.
// Short texts whose sound a synthesizer of conversations keeps (SynthesizerOptions::n_phrases).
inline constexpr size_t kKeptPhrases = 128;

class Narrator {
 public:
  // `hear` says what is said in a recording that comes without words; none: nobody does. `on_remark` is told
  // what should be known of a recording.
  explicit Narrator(std::shared_ptr<TtsRegion> mouth, HearReference hear = {}, OnRemark on_remark = {})
      : mouth_(std::move(mouth)), hear_(std::move(hear)), on_remark_(std::move(on_remark)) {}

  const TtsRegion& region() const { return *mouth_; }
  // The ids of the bundle's voices, sorted.
  std::vector<std::string> voices() const;

  // Errors: no such voice, one that the codec does not know; a recording of less than kLeastReferenceSeconds
  // or more than Synthesizer::kMostReferenceSeconds; cancelled.
  Result<Voice> voice(const VoiceChoice& choice, const Cancellation& cancellation = {}) const;

  // The voice of a recording at the rate of the codec, in which `text` is said. Errors: as above.
  // `how` says how the recording is used, and not where it is.
  Result<Voice> voice_of(std::span<const float> samples, std::string_view name, std::string_view text,
                         const VoiceChoice& how, const Cancellation& cancellation = {}) const;

  // Takes up what a preset has spoken ahead of time, so that the same request for one of these texts need not
  // be computed; as many as the region's synthesizer keeps (SynthesizerOptions::n_phrases). Errors: no such
  // preset; phrases at a rate that sound does not have.
  Result<void> remember_phrases(const std::string& preset, const SpeechRequest& manner) const;

  // What is said while there is no answer: of the phrases for that, the first one that the preset has spoken
  // ahead of time, else the first of all.
  std::string filler_text(const std::string& preset) const;
  // Its sound, which is spoken now unless the preset has it. Errors: as of say().
  Result<std::vector<float>> filler(const std::string& preset, const SpeechRequest& manner) const;

  // As Synthesizer::synthesize() and stream().
  Result<Speech> say(const SpeechRequest& request) const { return mouth_->synthesizer->synthesize(request); }
  Result<SpeechReport> stream(const SpeechRequest& request, const OnSpeech& on_speech) const {
    return mouth_->synthesizer->stream(request, on_speech);
  }

 private:
  std::shared_ptr<TtsRegion> mouth_;
  HearReference hear_;
  OnRemark on_remark_;
};

}  // namespace parlance
