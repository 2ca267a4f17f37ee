// What environment variables say of a context when it is created, under the names that users of the loaders
// know.
#pragma once

#include <optional>
#include <string>

#include "asr/recognizer.h"
#include "capi/answer.h"
#include "tts/speech_request.h"

namespace parlance::capi {

struct Knobs {
  std::string device = "cpu";          // ELIZA_DEVICE
  int n_threads = 0;                   // ELIZA_ASR_THREADS, of all that the CPU computes; 0: every processor
  std::optional<int> n_steps;          // ELIZA_TTS_MASKGIT_STEPS
  std::optional<float> chunk_seconds;  // ELIZA_TTS_CHUNK_DURATION_SEC
  std::optional<float> longest_seconds;  // ELIZA_TTS_CHUNK_THRESHOLD_SEC
  AsrRequest recognition;                // ELIZA_ASR_FORCE_LANGUAGE

  // A request with what they say in place of what it says.
  void apply(SpeechRequest& request) const;
};

// The refusal names the variable, its value, and what it may be.
Answer<Knobs> read_knobs();

}  // namespace parlance::capi
