// When each word of a transcript was said: Qwen3-ForcedAligner, the recogniser's network with a classifier of
// times in place of its output.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "asr/asr_model.h"
#include "base/result.h"

namespace parlance {

struct TimedWord {
  std::string word;  // letters, numbers and apostrophes, see alignment_words()
  double start_seconds = 0, end_seconds = 0;
};

// The pair in a folder (a bundle or its folder `asr`) whose names contain "aligner", one of them also
// "mmproj"; nothing when there is none. An error when there are several.
Result<std::optional<AsrFiles>> find_aligner(const std::filesystem::path& folder);

class Aligner {
 public:
  // The device must outlive the aligner.
  static Result<std::unique_ptr<Aligner>> load(const AsrFiles& files, Device& device);

  // Times of the words of what was said in `samples`, finite mono at kMelSampleRateHz of at most 300 seconds;
  // they never fall. The model gives every time for itself, and in a transcript that fits the audio nearly
  // all of them are in order already: an error says so when they are not, since times that were mended
  // throughout mean nothing. Other errors: cancelled.
  Result<std::vector<TimedWord>> align(std::span<const float> samples, std::string_view text,
                                       std::string_view language, Cancellation cancellation = {});

 private:
  Aligner(std::unique_ptr<AsrModel> model, Token timestamp)
      : model_(std::move(model)), timestamp_(timestamp) {}
  Result<std::vector<int64_t>> classes(std::span<const float> samples, const std::vector<std::string>& words,
                                       const Cancellation& cancellation);

  std::unique_ptr<AsrModel> model_;
  Token timestamp_;
};

}  // namespace parlance
