// Speech synthesis in its two halves, each beside the work that it cannot do without: passes of the language
// model with the decisions between them, and the codec.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/step_cost.h"
#include "tts/speech_lm.h"
#include "tts/tts_model.h"

namespace parlance {

// A chunk of speech. What is said does not matter, only how much.
struct SayCase {
  std::string name;
  int64_t n_text = 0;       // tokens
  int64_t n_reference = 0;  // frames of a voice to be imitated
  int64_t n_frames = 0;     // of the speech; 0: as the text says, in parts as who listens gets them

  bool has_reference() const { return n_reference > 0; }
};

struct SayStep {
  int64_t n_columns = 0;    // of both rows of a pass
  double pass_s = 0;        // medians: the network,
  double decide_s = 0;      // and the decisions by what it says
  StepCost cost;            // of a pass
  size_t memory_bytes = 0;  // at most, beside the weights; 0: the system does not say
};

// The steps of a case, as many as n_repetitions after one to warm up. `codes` [n_codebook][n_frames] is the
// speech.
Result<SayStep> run_say_steps(const TtsModel& model, const SayCase& chunk, GuidanceMask mask,
                              int n_repetitions, std::vector<int32_t>& codes);

struct SayDecode {
  double whole_s = 0;         // medians: all frames at once,
  double windowed_s = 0;      // window by window, with margins that are computed twice,
  double first_window_s = 0;  // and up to the first sound of a stream
  StepCost cost;              // of all frames at once
  size_t memory_bytes = 0;    // at most, window by window
};

inline constexpr int64_t kBenchFirstWindow = 20, kBenchWindow = 50;  // frames

Result<SayDecode> run_say_decode(const TtsModel& model, const std::vector<int32_t>& codes, int64_t n_frames,
                                 int n_repetitions);

// Speaks until the process grows no more, so that memory and times of what follows are those of a program
// that has spoken before: all weights are touched, and have moved into huge pages.
Result<void> warm_up_speech(const TtsModel& model);

}  // namespace parlance
