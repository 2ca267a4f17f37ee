#include "vad/speech_segments.h"

#include <algorithm>
#include <cmath>

#include "vad/vad_iterator.h"

namespace parlance {

namespace {

constexpr double kSamplesPerMs = static_cast<double>(kSileroSampleRateHz) / 1000;

struct Range {
  int64_t first, end;  // samples
};

// Walks over windows and cuts speech out of them; positions are those of window starts.
class Segmenter {
 public:
  explicit Segmenter(const SegmentOptions& options)
      : options_(options),
        negative_threshold_(
            options.negative_threshold.value_or(std::max(options.threshold - kVadHysteresis, 0.01))),
        min_speech_(options.min_speech_ms * kSamplesPerMs),
        max_speech_(static_cast<double>(kSileroSampleRateHz) * options.max_speech_s -
                    static_cast<double>(kSileroWindow) - 2 * options.speech_pad_ms * kSamplesPerMs),
        min_silence_(options.min_silence_ms * kSamplesPerMs),
        min_silence_at_max_(options.min_silence_at_max_speech_ms * kSamplesPerMs) {}

  void next(int64_t sample, double p) {
    if (p >= options_.threshold) {
      if (silence_since_ != kNone) end_silence(sample);
      if (start_ == kNone) {
        start_ = sample;
        return;
      }
    }
    if (start_ != kNone && is_longer(start_, sample, max_speech_) && cut(sample)) return;
    if (p < negative_threshold_ && start_ != kNone) be_silent(sample);
  }

  std::vector<Range> finish(int64_t n_samples) {
    if (start_ != kNone && is_longer(start_, n_samples, min_speech_))
      segments_.push_back({start_, n_samples});
    return std::move(segments_);
  }

 private:
  static constexpr int64_t kNone = -1;
  struct Silence {
    int64_t first, length;
  };

  static bool is_longer(int64_t from, int64_t to, double length) {
    return static_cast<double>(to - from) > length;
  }

  // Speech goes on after a silence, where it might be cut later.
  void end_silence(int64_t sample) {
    const Silence silence{silence_since_, sample - silence_since_};
    if (static_cast<double>(silence.length) > min_silence_at_max_) silences_.push_back(silence);
    silence_since_ = kNone;
    if (next_start_ < last_end_) next_start_ = sample;
  }

  // Ends a segment that has become too long; true when the window at `sample` is done with.
  bool cut(int64_t sample) {
    if (options_.cuts_at_longest_silence && !silences_.empty()) {
      const Silence longest = *std::max_element(
          silences_.begin(), silences_.end(),
          [](const Silence& a, const Silence& b) { return a.length < b.length; });  // the first of equals
      segments_.push_back({start_, longest.first});
      start_ = kNone;
      if (longest.length < sample) start_ = longest.first + longest.length;
      forget();
      return false;
    }
    if (last_end_) {
      segments_.push_back({start_, last_end_});
      start_ = kNone;
      if (next_start_ >= last_end_) start_ = next_start_;
      forget();
      return false;
    }
    segments_.push_back({start_, sample});
    start_ = kNone;
    forget();
    return true;
  }

  void be_silent(int64_t sample) {
    if (silence_since_ == kNone) silence_since_ = sample;
    const auto gap = static_cast<double>(sample - silence_since_);
    if (!options_.cuts_at_longest_silence && gap > min_silence_at_max_) last_end_ = silence_since_;
    if (gap < min_silence_) return;
    if (is_longer(start_, silence_since_, min_speech_)) segments_.push_back({start_, silence_since_});
    start_ = kNone;
    forget();
  }

  void forget() {
    last_end_ = next_start_ = 0;
    silence_since_ = kNone;
    silences_.clear();
  }

  const SegmentOptions& options_;
  const double negative_threshold_;
  const double min_speech_, max_speech_, min_silence_, min_silence_at_max_;  // samples, not rounded

  std::vector<Range> segments_;
  int64_t start_ = kNone;          // of the speech that goes on
  int64_t silence_since_ = kNone;  // within it
  std::vector<Silence> silences_;  // within it, long enough to cut at
  // The older rule: where the last silence that is long enough began, and where speech went on after it; 0
  // when there is none.
  int64_t last_end_ = 0, next_start_ = 0;
};

int64_t whole(double sample) {
  return static_cast<int64_t>(std::floor(sample));
}

// Widens segments by `pad` samples; neighbours that are too close share the gap.
void widen(std::vector<Range>& segments, double pad, int64_t n_samples) {
  if (segments.empty()) return;
  const auto earlier = [&](int64_t sample, double by) {
    return whole(std::max(0.0, static_cast<double>(sample) - by));
  };
  const auto later = [&](int64_t sample) {
    return whole(std::min(static_cast<double>(n_samples), static_cast<double>(sample) + pad));
  };
  segments.front().first = earlier(segments.front().first, pad);
  for (size_t i = 0; i + 1 < segments.size(); ++i) {
    Range& next = segments[i + 1];
    const int64_t gap = next.first - segments[i].end;
    if (static_cast<double>(gap) < 2 * pad) {
      const double half = std::floor(static_cast<double>(gap) / 2);
      segments[i].end += static_cast<int64_t>(half);
      next.first = earlier(next.first, half);
    } else {
      segments[i].end = later(segments[i].end);
      next.first = earlier(next.first, pad);
    }
  }
  segments.back().end = later(segments.back().end);
}

SpeechSegment described(const Range& range, std::span<const float> probabilities) {
  const auto first = static_cast<size_t>(range.first / kSileroWindow);
  const auto last = static_cast<size_t>((range.end + kSileroWindow - 1) / kSileroWindow);
  SpeechSegment segment{range.first, range.end, 0, 0};
  double sum = 0;
  size_t n = 0;
  for (size_t i = first; i < std::min(last, probabilities.size()); ++i, ++n) {
    sum += static_cast<double>(probabilities[i]);
    segment.max_probability = std::max(segment.max_probability, probabilities[i]);
  }
  if (n > 0) segment.mean_probability = static_cast<float>(sum / static_cast<double>(n));
  return segment;
}

}  // namespace

std::vector<SpeechSegment> speech_segments(std::span<const float> probabilities, int64_t n_samples,
                                           const SegmentOptions& options) {
  Segmenter segmenter(options);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    segmenter.next(static_cast<int64_t>(i) * kSileroWindow, static_cast<double>(probabilities[i]));
  }
  std::vector<Range> ranges = segmenter.finish(n_samples);
  widen(ranges, options.speech_pad_ms * kSamplesPerMs, n_samples);
  std::vector<SpeechSegment> segments;
  for (const Range& range : ranges) segments.push_back(described(range, probabilities));
  return segments;
}

}  // namespace parlance
