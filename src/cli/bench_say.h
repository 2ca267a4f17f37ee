// parlance bench say: the speed of speech synthesis.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/terminal/console.h"
#include "tts/speech_lm.h"
#include "tts/speech_quality.h"

namespace parlance {

// Chunks of speech that are timed.
std::vector<std::string> say_bench_cases();

struct SayBench {
  std::string folder;              // with the pair of files
  std::vector<std::string> cases;  // of say_bench_cases(); empty: all
  std::vector<GuidanceMask> masks = {GuidanceMask::hard, GuidanceMask::soft};
  std::string device = "cpu";
  std::vector<int64_t> n_threads = {0};  // one run each
  int n_repetitions = 3;
  // In place of steps and codec: whole speech in each of these.
  std::vector<SpeechQuality> qualities = {};
  bool wants_json = false;
};

Result<int> bench_say(const Console& io, const SayBench& options);

}  // namespace parlance
