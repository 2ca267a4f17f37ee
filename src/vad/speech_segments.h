// Segments of speech in a whole recording, as Silero's own offline segmenter finds them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace parlance {

struct SegmentOptions {
  double threshold = 0.5;
  std::optional<double> negative_threshold =
      std::nullopt;            // below it is silence; without one max(threshold - 0.15, 0.01)
  double min_speech_ms = 250;  // segments that are not longer are left out
  double max_speech_s = std::numeric_limits<double>::infinity();
  double min_silence_ms = 100;  // that ends a segment
  double speech_pad_ms = 30;    // that segments are widened by, as far as their neighbours allow

  // Where speech longer than max_speech_s is cut: at its longest silence above the given length; or (an older
  // rule) at its last one.
  double min_silence_at_max_speech_ms = 98;
  bool cuts_at_longest_silence = true;
};

struct SpeechSegment {
  int64_t first_sample, end_sample;         // the end is not part of it
  float mean_probability, max_probability;  // of the windows that it overlaps
};

// `probabilities` are those of consecutive windows of 512 samples, the last of which may be partly beyond
// n_samples.
std::vector<SpeechSegment> speech_segments(std::span<const float> probabilities, int64_t n_samples,
                                           const SegmentOptions& options = {});

}  // namespace parlance
