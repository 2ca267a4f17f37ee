// A whole recording to text, stage by stage: seconds, and the work that each stage cannot do without.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "asr/asr_model.h"
#include "asr/recognizer.h"
#include "base/result.h"
#include "engine/session.h"
#include "measure/step_cost.h"

namespace parlance {

// Tokens that speech of so many seconds is taken to be: three a second, as random weights say nothing of use.
std::vector<Token> scripted_answer(double seconds);

// The language that is forced, as applications that know it do.
inline constexpr std::string_view kBenchLanguage = "English";

// One that takes the script for what it hears.
Result<std::unique_ptr<Recognizer>> make_bench_recognizer(const AsrModel& model);

// Room for the language model's part of so much speech, and for verifying drafts.
Result<std::unique_ptr<Session>> make_speech_session(const AsrModel& model, const AsrMode& mode,
                                                     double seconds);

struct ListenStage {
  std::string name;
  double seconds = 0;  // the median of the rounds
  StepCost cost;       // zero where it is not worth counting
};

struct ListenBatch {
  std::vector<ListenStage> stages;  // in the order of the work
  double total_s = 0;               // from the samples to the text, in one call: the median
  double processor_s = 0;           // that all threads together spent on it
  int64_t n_audio_tokens = 0;
  int64_t n_answer_tokens = 0;

  double seconds_of(std::string_view stage) const;
};

// Mono samples at kMelSampleRateHz, no more than one inference takes. `files` are those of the model. One
// round to warm up comes before the n_repetitions. Errors: as Recognizer::create().
Result<ListenBatch> run_listen_batch(const AsrModel& model, const AsrFiles& files,
                                     std::span<const float> samples, int n_repetitions);

}  // namespace parlance
