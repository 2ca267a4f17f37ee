// How well the voice detector finds speech in recordings that say where it is.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "vad/detection_scores.h"
#include "vad/silero.h"

namespace parlance {

// A line of labels.jsonl.
struct LabelledRecording {
  std::string audio;               // a file in the folder of the labels
  std::vector<SpokenSpan> speech;  // samples at the detector's rate
  std::optional<double> snr_db;    // of speech over noise, where there are both
};

// The recordings of a folder, in its labels.jsonl. Errors name the line.
Result<std::vector<LabelledRecording>> read_labels(const std::filesystem::path& folder);

// Every window of a recording of the folder.
Result<JudgedRecording> judge(const std::filesystem::path& folder, const LabelledRecording& labelled,
                              const std::shared_ptr<const SileroModel>& model);

// What one group of recordings, those of a signal-to-noise ratio or all, comes to.
struct DetectorScores {
  size_t n_recordings = 0;
  double auc = 0;
  ThresholdScores at_threshold;
};

DetectorScores scores_of(std::span<const JudgedRecording> recordings, double threshold);

}  // namespace parlance
