// What is to be said and how, and what came of it.
#pragma once

#include <climits>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "tts/audio/fades.h"
#include "tts/audio_codes.h"
#include "tts/maskgit.h"
#include "tts/speech_lm.h"
#include "tts/speech_plan.h"
#include "tts/speech_quality.h"
#include "tts/voice.h"

namespace parlance {

struct SpeechProgress {
  int chunk = 0, n_chunks = 0;  // counted from 0
  int step = 0, n_steps = 0;    // of the chunk that are done
};

// Of MaskGitOptions in a request: as many passes as its quality takes.
inline constexpr int kStepsOfQuality = INT_MIN;

struct SpeechRequest {
  std::string text;
  std::string language;  // a name or code of languages.h; anything else leaves it to the model
  std::string instruct;  // the voice in words, in place of those that come with `voice`
  Voice voice;
  bool denoise = true;  // the reference's noise is not to be imitated

  SpeechQuality quality = SpeechQuality::exact;
  std::optional<SpeechShortcuts> shortcuts;  // other ones than those of a quality that has some
  MaskGitOptions decoding = {.n_step = kStepsOfQuality};
  GuidanceMask mask = GuidanceMask::hard;  // of exact quality; others know the hard one alone

  double seconds = 0;  // of the whole speech, in one chunk; 0: as long as the text takes
  float speed = 1;
  Chunking chunking;

  bool is_processed = true;  // silences cut, loudness set, ends faded; else the decoder's sound, joined
  LeadingSilence leading_silence = LeadingSilence::with_first_sound;  // of a stream

  // Chunks whose pace is far off that of the ones before are spoken again, once; their sound comes chunk by
  // chunk for it.
  bool checks_pace = false;
  bool is_windowed = true;  // a stream's chunks are handed out window by window; else each as a whole

  std::function<void(const SpeechProgress&)> on_progress = {};
  Cancellation cancellation = {};  // ends the request, even before its turn has come
};

// What is computed with where the voice has a reference, or has none.
MaskGitOptions decoding_of(const SpeechRequest& request, bool has_reference);
// None where every pass takes all columns.
std::optional<SpeechShortcuts> shortcuts_of(const SpeechRequest& request);
// Refuses numbers that the decoder has no meaning for.
Result<void> check_decoding(const SpeechRequest& request);

struct SpokenChunk {
  std::string text;
  AudioCodes codes;
  int64_t n_reference = 0;  // frames
  int n_attempts = 0;       // where the pace is checked
  int n_steps = 0;          // passes of the network, of all attempts
  int64_t n_columns = 0;    // that these computed, of both rows
  double model_seconds = 0, codec_seconds = 0;
};

struct SpeechReport {
  std::vector<SpokenChunk> chunks;
  int64_t n_samples = 0;           // that were handed out
  double first_audio_seconds = 0;  // from the request to the first of them
  double total_seconds = 0;

  double audio_seconds() const { return static_cast<double>(n_samples) / kSpeechRateHz; }
};

struct Speech {
  std::vector<float> samples;  // at kSpeechRateHz
  SpeechReport report;
};

// Takes samples as soon as they are final; the span is valid during the call. The last call has none and
// is_last. False from any other ends the request. It may call nothing of the synthesizer.
using OnSpeech = std::function<bool(std::span<const float> samples, bool is_last)>;

}  // namespace parlance
