#include "cli/quality_options.h"

#include <utility>

namespace parlance {

bool QualityChoice::has_shortcuts() const {
  return first_frames || block_frames || first_steps || far_frames || kept_steps || kept_share ||
         guidance_share || marginal || confidence;
}

Result<void> QualityChoice::apply(SpeechRequest& request) const {
  request.quality = quality;
  if (n_step) request.decoding.n_step = *n_step;
  if (has_shortcuts()) {
    if (quality == SpeechQuality::exact) {
      return fail(ErrorCode::invalid_argument,
                  "exact quality has no shortcuts; give --quality standard or fast with those that you try");
    }
    SpeechShortcuts shortcuts = shortcuts_of(quality);
    const auto replace = [](auto& value, const auto& given) {
      if (given) value = *given;
    };
    replace(shortcuts.first_frames, first_frames);
    replace(shortcuts.block_frames, block_frames);
    replace(shortcuts.first_steps, first_steps);
    replace(shortcuts.far_frames, far_frames);
    replace(shortcuts.kept_steps, kept_steps);
    replace(shortcuts.kept_share, kept_share);
    replace(shortcuts.guidance_share, guidance_share);
    replace(shortcuts.marginal, marginal);
    replace(shortcuts.confidence, confidence);
    request.shortcuts = shortcuts;
  }
  return check_decoding(request);
}

std::vector<Option> quality_options(QualityChoice& choice, std::string fallback) {
  Option steps = number_option<int>(
      "--steps", "N", "Passes of the network over a part, or over a block of it.", choice.n_step, 1, 1000);
  steps.fallback = "32 exact, 12 standard, 8 fast; 16 and 10 without a reference";
  return {choice_option("--quality", "QUALITY",
                        "How much is computed: exact as the model was published, standard what is heard, "
                        "fast a little less.",
                        std::string(kSpeechQualities), choice.quality, speech_quality_from_name,
                        std::move(fallback)),
          std::move(steps)};
}

OptionGroup shortcut_group(QualityChoice& choice) {
  return {
      "What standard and fast leave out",
      {number_option<int64_t>("--first-frames", "N",
                              "Frames of 40 ms that are decided before the others, so that they are heard "
                              "early. 0: none.",
                              choice.first_frames, int64_t{0}, int64_t{3000}),
       number_option<int64_t>("--block-frames", "N", "Frames of the blocks behind these. 0: one block.",
                              choice.block_frames, int64_t{0}, int64_t{3000}),
       number_option<int>("--first-block-steps", "N", "Passes over the first block. 0: as over the others.",
                          choice.first_steps, 0, 1000),
       number_option<int64_t>("--far-frames", "N",
                              "Of frames further behind the first block than it is long, the first pass "
                              "computes one of N.",
                              choice.far_frames, int64_t{1}, int64_t{3000}),
       number_option<int>("--keep-steps", "N",
                          "Compute text, reference and decided blocks anew in every Nth pass.",
                          choice.kept_steps, 1, 1000),
       number_option<float>("--keep-share", "X",
                            "Sooner, when this share of all codes has been decided since.", choice.kept_share,
                            0.0f, 1.0f),
       number_option<float>("--guidance-share", "X",
                            "Compute what guidance compares with anew when this share of a block's codes has "
                            "been decided since. 0: in every pass.",
                            choice.guidance_share, 0.0f, 1.0f),
       number_option<float>("--marginal", "X", "How far codes that are likely all over a block are put off.",
                            choice.marginal, 0.0f, 1.0f),
       number_option<float>("--confidence", "X",
                            "Probability with which the rest of a block must be right to be decided at once. "
                            "1: never.",
                            choice.confidence, 0.0f, 1.0f)}};
}

}  // namespace parlance
