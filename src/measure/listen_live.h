// Speech that comes in while it is transcribed: what previews cost, and how long the final text takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "asr/recognizer.h"
#include "base/result.h"

namespace parlance {

// A stream that is fed pieces of 100 ms at the pace of speech, by a thread that asks for the preview every
// 20 ms.
struct LiveStream {
  double processor_s = 0;      // that all threads spent, to the final text
  double first_partial_s = 0;  // after the beginning of the speech
  double final_s = 0;          // from the last sample to the final text
  uint64_t n_updates = 0;      // previews that were shown
  double longest_feed_us = 0;  // calls of the feeding thread
  double longest_partial_us = 0;
};

// What it takes to take in another 300 ms of audio and show the text of all of it.
struct LiveUpdate {
  double audio_s = 0;
  double seconds = 0;
};

Result<LiveStream> run_live_stream(Recognizer& recognizer, std::span<const float> samples);

// The median time from pause(), said right behind the last sample, to the final text.
Result<double> pause_to_final_s(Recognizer& recognizer, std::span<const float> samples, int n_repetitions);

// At several lengths of audio, as far as the samples reach.
Result<std::vector<LiveUpdate>> run_live_updates(const AsrModel& model, std::span<const float> samples,
                                                 int n_repetitions);

}  // namespace parlance
