// What parlance eval asr, codec and tts have in common: speech is made or read, recognised, and the words are
// counted.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/listen_models.h"
#include "cli/say_models.h"
#include "cli/terminal/command.h"
#include "cli/terminal/table.h"
#include "eval/speech_set.h"
#include "eval/word_error.h"
#include "json/json.h"

namespace parlance {

// Options of all three.
struct SpeechEvalOptions {
  std::string set;
  int64_t limit = 0;
  ListenOptions listen;  // the recogniser; its folder is the bundle of all models
  std::string base, codec;
  bool shows_failures = false;
  bool wants_json = false;

  // The speech model of the same bundle on the same device.
  SayModelChoice say_models() const;
};

OptionGroup speech_set_group(SpeechEvalOptions& options, std::string help);
// `has_codec`: also the speech model's two files.
OptionGroup speech_models_group(SpeechEvalOptions& options, bool has_codec);
OptionGroup speech_output_group(SpeechEvalOptions& options);
// An error of usage. Without a set: `demo_set` of the bundled demo.
Result<void> check_options(SpeechEvalOptions& options, std::string_view demo_set);

// What the transcripts of recordings come to. Words are compared in their spoken form, so that "28" and
// "twenty-eight" are the same.
struct TranscriptScores {
  size_t n_recordings = 0;
  WordErrors errors;
  size_t n_silent = 0;        // recordings without speech
  size_t n_silent_right = 0;  // of which the recogniser says so: language None, no words
  double audio_s = 0;
  double processing_s = 0;

  double real_time_factor() const { return audio_s > 0 ? processing_s / audio_s : 0; }
  TranscriptScores& operator+=(const TranscriptScores& other);
};

// Members of the scores, word_error_rate among them.
Json to_json(const TranscriptScores& scores);
std::string percent_of_words(const TranscriptScores& scores);

// One recording that was not understood word for word.
struct Misheard {
  std::string name, group, text, heard;
};
void print_misheard(const Console& io, std::span<const Misheard> all);
Json to_json(std::span<const Misheard> all);

// The recogniser with its clock.
class Hearer {
 public:
  static Result<Hearer> load(const ListenOptions& options);

  // Scores of one recording: mono samples at kMelSampleRateHz in which `text` is said.
  Result<TranscriptScores> hear(std::span<const float> samples, const std::string& text, std::string& heard,
                                const Cancellation& cancellation);
  const std::string& model_name() const { return loaded_.text_name; }

 private:
  Hearer(LoadedRecognizer loaded, AsrRequest request)
      : loaded_(std::move(loaded)), request_(std::move(request)) {}

  LoadedRecognizer loaded_;
  AsrRequest request_;
};

// Scores of all and of each group that the set names.
template <class Scores>
struct GroupedScores {
  Scores all;
  std::map<std::string, Scores> by_group;

  void add(const std::string& group, const Scores& scores) {
    all += scores;
    if (!group.empty()) by_group[group] += scores;
  }
  // row(name, scores) for each group, then for all.
  template <class Row>
  void for_each(Row row) const {
    for (const auto& [name, scores] : by_group) row(name, scores);
    row(std::string("all"), all);
  }
};

template <class Scores>
Json to_json(const GroupedScores<Scores>& scores) {
  Json groups = Json::object();
  for (const auto& [name, group] : scores.by_group) groups.set(name, to_json(group));
  return Json::object({{"all", to_json(scores.all)}, {"groups", groups}});
}

// "12/80  3.4 % of the words wrong", while it takes a while.
void show_progress(const Console& io, size_t n_done, size_t n_all, const TranscriptScores& scores);

}  // namespace parlance
