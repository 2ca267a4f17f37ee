// The same texts spoken in several ways, one of which the others are compared with: what is lost, and how
// sure that is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eval/bootstrap.h"
#include "eval/word_error.h"
#include "tts/audio_codes.h"

namespace parlance {

// One text in one way.
struct SpokenOnce {
  WordErrors errors;                       // by our recogniser
  std::optional<WordErrors> other_errors;  // by another one
  std::optional<double> likeness;          // of its voice
  double audio_s = 0, synthesis_s = 0;
  int64_t n_columns = 0;                            // that the network computed
  std::optional<double> alike_codes, alike_coarse;  // shares of those of the first way, all and of codebook 0
  std::optional<double> mel_distance_db;            // to the first way
};

// Share of codes that are equal; nothing where they have not the same number.
std::optional<double> share_of_equal_codes(const AudioCodes& a, const AudioCodes& b, int64_t n_codebook);

// Mean distance of the energies of mel bands in decibels, of two sounds of the same length at
// kMelSampleRateHz; what is 60 dB below the louder one's peak counts as silence. Nothing for other lengths.
std::optional<double> mel_distance_db(std::span<const float> a, std::span<const float> b);

// A way over all texts, and its difference to the first one.
struct MeasuredDifference {
  double value = 0;
  Interval interval;
};
struct WayScores {
  double word_errors = 0;  // share
  std::optional<double> other_word_errors, likeness, alike_codes, alike_coarse, mel_distance_db;
  double real_time_factor = 0, columns_per_second = 0;     // of speech
  std::optional<MeasuredDifference> points, other_points;  // of word errors, in percent
  std::optional<MeasuredDifference> likeness_lost;         // negative: less alike
};

// `ways` are as many lists of the same texts, one at least.
std::vector<WayScores> compare_ways(std::span<const std::vector<SpokenOnce>> ways);

}  // namespace parlance
