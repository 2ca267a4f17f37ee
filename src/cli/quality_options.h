// --quality and what it stands for, one option each.
#pragma once

#include <optional>
#include <vector>

#include "cli/terminal/command.h"
#include "tts/speech_request.h"

namespace parlance {

struct QualityChoice {
  SpeechQuality quality = SpeechQuality::exact;
  std::optional<int> n_step;

  // In place of those of the quality.
  std::optional<int64_t> first_frames, block_frames, far_frames;
  std::optional<int> first_steps, kept_steps;
  std::optional<float> kept_share, guidance_share, marginal, confidence;

  bool has_shortcuts() const;
  // Into a request. Errors of usage: shortcuts for exact quality, numbers that have no meaning.
  Result<void> apply(SpeechRequest& request) const;
};

// --quality and --steps. `fallback` says in words which quality it is where none is given.
std::vector<Option> quality_options(QualityChoice& choice, std::string fallback);
// The rest, for trying.
OptionGroup shortcut_group(QualityChoice& choice);

}  // namespace parlance
