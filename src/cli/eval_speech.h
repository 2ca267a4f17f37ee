// What parlance eval asr, codec and tts have in common: speech is made or read, recognised, and the words are
// counted.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assistant/regions.h"
#include "cli/terminal/command.h"
#include "cli/terminal/table.h"
#include "eval/codec_scores.h"
#include "eval/speech_judge.h"
#include "eval/speech_set.h"
#include "eval/transcripts.h"
#include "eval/watch.h"
#include "json/json.h"

namespace parlance {

// Options of all three.
struct SpeechEvalOptions {
  std::string set;
  int64_t limit = 0;
  Choice models;
  AsrRequest request;  // to the recogniser
  bool shows_failures = false;
  bool wants_json = false;
};

OptionGroup speech_set_group(SpeechEvalOptions& options, std::string help);
// `has_codec`: also the speech model's two files.
OptionGroup speech_models_group(SpeechEvalOptions& options, bool has_codec);
OptionGroup speech_output_group(SpeechEvalOptions& options);
// An error of usage. Without a set: `demo_set` of the bundled demo.
Result<void> check_options(SpeechEvalOptions& options, std::string_view demo_set);

// Members of the scores, word_error_rate among them.
Json to_json(const TranscriptScores& scores);
Json to_json(const CodecScores& scores);
Json to_json(const TtsScores& scores);

void print_misheard(const Console& io, std::span<const Misheard> all);
Json to_json(std::span<const Misheard> all);

template <class Scores>
Json to_json(const GroupedScores<Scores>& scores) {
  Json groups = Json::object();
  for (const auto& [name, group] : scores.by_group) groups.set(name, to_json(group));
  return Json::object({{"all", to_json(scores.all)}, {"groups", groups}});
}

// "12/80  3.4 % of the words wrong", while it takes a while.
void show_progress(const EvalWatch& watch, size_t n_done, size_t n_all, const TranscriptScores& scores);

}  // namespace parlance
