#include "assistant/speech.h"

#include <algorithm>
#include <array>

#include "audio/audio_file.h"
#include "audio/mel.h"
#include "audio/resampler.h"
#include "tts/audio/sinc_resampler.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// The sooner, the better they fit most questions.
constexpr std::array kFillers = {"one sec", "okay", "let me check", "hmm", "got it"};

constexpr double kMostFileSeconds = 3600;  // a recording of that length is refused, but its own is then named

// As it is kept, without the mark at its end.
std::string words_of(std::string_view phrase) {
  std::string words = PhraseCache::normalise(phrase).value_or("");
  while (!words.empty() && std::string_view(".,!?;:").find(words.back()) != std::string_view::npos)
    words.pop_back();
  return words;
}

// Of those that the preset has; null: it does not have it.
const SpokenPhrase* spoken_phrase(const VoicePreset& preset, std::string_view text) {
  const auto phrase = std::ranges::find_if(
      preset.phrases, [text](const SpokenPhrase& one) { return words_of(one.text) == text; });
  return phrase == preset.phrases.end() ? nullptr : &*phrase;
}

Result<std::vector<float>> read_all(AudioFile& file) {
  std::vector<float> samples;
  std::array<float, 1 << 14> piece;
  for (;;) {
    PARLANCE_TRY(const int64_t n, file.read(piece));
    if (n == 0) break;
    samples.insert(samples.end(), piece.begin(), piece.begin() + n);
  }
  return sinc_resample(samples, file.sample_rate_hz(), kSpeechRateHz);
}

}  // namespace

Result<std::vector<float>> read_for_codec(const fs::path& path) {
  PARLANCE_TRY(AudioFile file, AudioFile::open(path, {.max_seconds = kMostFileSeconds}));
  return read_all(file);
}

Result<std::vector<float>> read_for_codec(std::span<const std::byte> bytes, std::string name) {
  PARLANCE_TRY(AudioFile file, AudioFile::open(bytes, std::move(name), {.max_seconds = kMostFileSeconds}));
  return read_all(file);
}

void suit_quality(VoiceChoice& choice, SpeechQuality quality) {
  if (quality == SpeechQuality::exact) return;
  choice.reference_seconds = kReferenceSeconds;
  choice.ends_quiet = true;
}

HearReference hear_with(std::function<Result<std::shared_ptr<AsrRegion>>()> ears) {
  return [ears = std::move(ears)](std::span<const float> samples,
                                  const Cancellation& cancellation) -> Result<std::string> {
    const auto region = ears();
    // Voices do without it; a recogniser that is broken is no reason to be silent either.
    if (!region) return std::string();
    PARLANCE_TRY(const Transcription heard,
                 (*region)->recognizer->transcribe(sinc_resample(samples, kSpeechRateHz, kMelSampleRateHz),
                                                   {}, {}, cancellation));
    return heard.transcript.text;
  };
}

std::vector<std::string> Narrator::voices() const {
  return list_voice_presets(mouth_->voices);
}

Result<Voice> Narrator::voice(const VoiceChoice& choice, const Cancellation& cancellation) const {
  Synthesizer& synthesizer = *mouth_->synthesizer;
  if (choice.recording.empty()) return find_voice(mouth_->voices, choice.name, synthesizer.code_format());
  PARLANCE_TRY(const std::vector<float> samples, read_for_codec(choice.recording));
  return voice_of(samples, choice.recording, choice.recording_text, choice, cancellation);
}

Result<Voice> Narrator::voice_of(std::span<const float> samples, std::string_view name, std::string_view text,
                                 const VoiceChoice& how, const Cancellation& cancellation) const {
  PARLANCE_TRY(const ReferenceRecording recording,
               prepare_recording(samples, {.name = name, .text = text, .most_seconds = how.reference_seconds},
                                 hear_, on_remark_, cancellation));
  auto voice = mouth_->synthesizer->encode_voice(recording.samples, recording.text,
                                                 {.quiet_ms = how.ends_quiet ? kQuietBehindReferenceMs : 0},
                                                 cancellation);
  if (voice) return *std::move(voice);
  return fail(voice.error().code, "{}: {}", name, voice.error().message);
}

Result<void> Narrator::remember_phrases(const std::string& preset, const SpeechRequest& manner) const {
  PARLANCE_TRY(const VoicePreset known, find_voice_preset(mouth_->voices, preset));
  SpeechRequest request = manner;
  for (const SpokenPhrase& phrase : known.phrases) {
    PARLANCE_TRY(const std::vector<float> samples,
                 resample(phrase.samples, phrase.sample_rate_hz, kSpeechRateHz));
    request.text = phrase.text;
    mouth_->synthesizer->remember(request, samples);
  }
  return {};
}

std::string Narrator::filler_text(const std::string& preset) const {
  const auto known = find_voice_preset(mouth_->voices, preset);
  for (const char* const text : kFillers) {
    if (known && spoken_phrase(*known, text)) return text;
  }
  return kFillers.front();
}

Result<std::vector<float>> Narrator::filler(const std::string& preset, const SpeechRequest& manner) const {
  SpeechRequest request = manner;
  request.text = filler_text(preset);
  if (const auto known = find_voice_preset(mouth_->voices, preset)) {
    if (const SpokenPhrase* const phrase = spoken_phrase(*known, request.text))
      return resample(phrase->samples, phrase->sample_rate_hz, kSpeechRateHz);
  }
  PARLANCE_TRY(Speech speech, say(request));
  return std::move(speech.samples);
}

}  // namespace parlance
