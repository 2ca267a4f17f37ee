// Speech from the request to its last sample, with the shortcuts of each quality.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "measure/say_steps.h"
#include "tts/speech_quality.h"

namespace parlance {

struct SayRun {
  double audio_s = 0;
  int n_steps = 0;                                                  // passes of the network
  int64_t n_columns = 0;                                            // that these computed
  double first_sound_s = 0, model_s = 0, codec_s = 0, total_s = 0;  // medians
};

// A case as it is streamed, n_repetitions times after one to warm up. Weights without a meaning are never
// sure, so that no block ends before its last step.
Result<SayRun> run_say_quality(const TtsModel& model, const SayCase& chunk, SpeechQuality quality,
                               int n_repetitions);

}  // namespace parlance
