// What is to be said and how, and what came of it.
#pragma once

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
#include "tts/voice.h"

namespace parlance {

struct SpeechProgress {
  int chunk = 0, n_chunks = 0;  // counted from 0
  int step = 0, n_steps = 0;    // of the chunk that are done
};

struct SpeechRequest {
  std::string text;
  std::string language;  // a name or code of languages.h; anything else leaves it to the model
  std::string instruct;  // the voice in words, in place of those that come with `voice`
  Voice voice;
  bool denoise = true;  // the reference's noise is not to be imitated

  MaskGitOptions decoding;
  GuidanceMask mask = GuidanceMask::hard;

  double seconds = 0;  // of the whole speech, in one chunk; 0: as long as the text takes
  float speed = 1;
  Chunking chunking;

  bool is_processed = true;  // silences cut, loudness set, ends faded; else the decoder's sound, joined
  LeadingSilence leading_silence = LeadingSilence::with_first_sound;  // of a stream

  bool is_windowed = true;  // a stream's chunks are handed out window by window; else each as a whole

  std::function<void(const SpeechProgress&)> on_progress = {};
  Cancellation cancellation = {};  // ends the request, even before its turn has come
};

struct SpokenChunk {
  std::string text;
  AudioCodes codes;
  int64_t n_reference = 0;  // frames
  int n_steps = 0;          // passes of the network, of both rows each
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
