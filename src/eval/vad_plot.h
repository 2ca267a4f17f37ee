// What the voice detector heard, as a picture.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace parlance {

// A stretch of speech, in seconds from the start of the recording.
struct SpeechSpan {
  double start_s = 0;
  double end_s = 0;
};

struct VadPlot {
  std::string_view title = {};
  std::span<const float> samples = {};  // in [-1, 1]
  int sample_rate_hz = 16000;
  std::span<const float> probabilities = {};  // of speech, one per window, in [0, 1]
  int window_samples = 512;
  double threshold = 0.5;
  std::span<const SpeechSpan> segments = {};  // in the order of time
};

// An SVG file: the waveform over the probabilities with their threshold, over one axis of time, and the
// segments as shades behind both. Of a long recording it shows the extremes of the waveform and the mean
// probability in each column of pixels. Its size has a bound that does not depend on the recording's length;
// colours show on light and on dark pages alike.
std::string vad_plot_svg(const VadPlot& plot);

}  // namespace parlance
