// How many words a recogniser gets wrong.
#pragma once

#include <map>
#include <span>
#include <string>

#include "asr/recognizer.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "eval/word_error.h"

namespace parlance {

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

// One recording that was not understood word for word.
struct Misheard {
  std::string name, group, text, heard;
};
std::string percent_of_words(const TranscriptScores& scores);  // "3.4 %"; "-" where no words were said

// A recogniser with a clock.
class Hearer {
 public:
  Hearer(Recognizer& recognizer, AsrRequest request)
      : recognizer_(recognizer), request_(std::move(request)) {}

  // Scores of one recording: mono samples at kMelSampleRateHz in which `text` is said.
  Result<TranscriptScores> hear(std::span<const float> samples, const std::string& text, std::string& heard,
                                const Cancellation& cancellation);

 private:
  Recognizer& recognizer_;
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

}  // namespace parlance
