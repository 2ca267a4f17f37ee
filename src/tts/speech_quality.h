// How much work goes into speech: all of it, as the model was published, or as much as is heard.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace parlance {

enum class SpeechQuality : uint8_t {
  exact,     // every pass over all columns, as omnivoice.cpp and the authors compute it
  standard,  // for who listens while it is made: sounds alike
  fast,      // for slow machines
};

std::optional<SpeechQuality> speech_quality_from_name(std::string_view name);
std::string_view name_of(SpeechQuality quality);
inline constexpr std::string_view kSpeechQualities = "exact, standard, fast";

// What is left out; the defaults leave out nothing. Each on its own.
struct SpeechShortcuts {
  // Blocks of frames that are decided from left to right: the first one, whose sound comes early, and the
  // others. 0: there are none, all frames are decided together.
  int64_t first_frames = 0, block_frames = 0;
  int first_steps = 0;  // passes over a first block that others follow; 0: as many as over these

  // Of the frames further behind a first block than it is long, the first pass, which has nothing decided
  // yet, computes one of so many; 1: each.
  int64_t far_frames = 1;

  // Text, reference and decided blocks are computed anew every so many passes, 1: in each; or sooner, when
  // this share of all codes has been decided since.
  int kept_steps = 1;
  float kept_share = 1;
  // The unconditional row is computed anew when more than this share of a block's codes has been decided
  // since.
  float guidance_share = 0;

  float marginal = 0;  // as BlockOptions has them
  float confidence = 1;

  bool operator==(const SpeechShortcuts&) const = default;
};

SpeechShortcuts shortcuts_of(SpeechQuality quality);

// Passes over a block, where nobody says how many.
int steps_of(SpeechQuality quality, bool has_reference);

Result<void> check_shortcuts(const SpeechShortcuts& shortcuts);

// Where the blocks of so many frames end, ascending; the last one with them.
std::vector<int64_t> block_ends(const SpeechShortcuts& shortcuts, int64_t n_frames);

}  // namespace parlance
