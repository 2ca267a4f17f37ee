// Speech starts and ends in a stream, as Silero's own streaming iterator reports them.
#pragma once

#include <cstdint>
#include <optional>

#include "vad/silero_weights.h"

namespace parlance {

struct VadIteratorOptions {
  double threshold = 0.5;  // speech from here on; it ends below threshold - kVadHysteresis
  double min_silence_ms = 100;
  double speech_pad_ms = 30;  // that a segment is widened by on both sides
};

// How far below its threshold a probability has to fall before it counts as silence.
inline constexpr double kVadHysteresis = 0.15;

struct VadEvent {
  enum class Kind { start, end };
  Kind kind;
  int64_t sample;  // of the stream

  bool operator==(const VadEvent&) const = default;
};

class VadIterator {
 public:
  explicit VadIterator(const VadIteratorOptions& options = {});

  // What the next window's probability makes known. There is no least length of speech, and an open segment
  // has no end when the stream ends.
  std::optional<VadEvent> next(float probability);
  void reset();

 private:
  double threshold_;
  double min_silence_, pad_;   // in samples, not rounded
  int64_t n_samples_ = 0;      // that were taken
  int64_t silence_since_ = 0;  // 0: not silent
  bool is_speaking_ = false;
};

}  // namespace parlance
