#include "tts/audio/silence.h"

#include <algorithm>
#include <cmath>

namespace parlance {

namespace {

const double kThreshold = 32768 * std::pow(10.0, -50.0 / 20);

struct Range {
  int64_t begin, end;  // samples
};

double rms_of(int64_t sum_of_squares, int64_t n_samples) {
  return std::sqrt(static_cast<double>(sum_of_squares) / static_cast<double>(n_samples));
}

// Silent windows, those that follow each other joined.
std::vector<Range> silent_ranges(std::span<const int16_t> samples, int64_t window) {
  const auto n = static_cast<int64_t>(samples.size());
  std::vector<int64_t> sums(samples.size() + 1);  // of the squares before each sample
  for (size_t i = 0; i < samples.size(); ++i) sums[i + 1] = sums[i] + int64_t{samples[i]} * samples[i];
  std::vector<Range> ranges;
  int64_t previous = 0;
  const auto look_at = [&](int64_t start) {
    const int64_t sum = sums[static_cast<size_t>(start + window)] - sums[static_cast<size_t>(start)];
    if (!is_silent(sum, window)) return;
    if (ranges.empty() || start > previous + window) ranges.push_back({start, start});
    ranges.back().end = start + window;
    previous = start;
  };
  for (int64_t start = 0; start + window <= n; start += kSilenceStep) look_at(start);
  // The last window of all, where the steps do not meet it.
  if (n >= window && (n - window) % kSilenceStep != 0) look_at(n - window);
  return ranges;
}

// What lies between silent ranges, with `keep` samples of silence on both sides where there are as many.
std::vector<Range> ranges_to_keep(const std::vector<Range>& silent, int64_t n, int64_t keep) {
  std::vector<Range> kept;
  int64_t begin = 0;
  for (const Range& range : silent) {
    if (range.begin > 0) kept.push_back({begin, range.begin});
    begin = range.end;
  }
  if (begin < n) kept.push_back({begin, n});
  for (Range& range : kept) range = {range.begin - keep, range.end + keep};
  for (size_t i = 0; i + 1 < kept.size(); ++i) {
    if (kept[i + 1].begin < kept[i].end)
      kept[i].end = kept[i + 1].begin = (kept[i].end + kept[i + 1].begin) / 2;
  }
  for (Range& range : kept) range = {std::max<int64_t>(range.begin, 0), std::min(range.end, n)};
  return kept;
}

}  // namespace

bool is_silent(int64_t sum_of_squares, int64_t n_samples) {
  return rms_of(sum_of_squares, n_samples) <= kThreshold;
}

bool is_quiet(int64_t sum_of_squares, int64_t n_samples) {
  return rms_of(sum_of_squares, n_samples) < kThreshold;
}

int64_t sum_of_squares(std::span<const int16_t> samples) {
  int64_t sum = 0;
  for (const int16_t sample : samples) sum += int64_t{sample} * sample;
  return sum;
}

int16_t s16_of(float sample) {
  if (std::isnan(sample)) return 0;
  return static_cast<int16_t>(std::clamp(sample * 32768, -32768.0f, 32767.0f));
}

int64_t quiet_start(std::span<const int16_t> samples) {
  const auto n = static_cast<int64_t>(samples.size());
  int64_t quiet = 0;
  while (quiet < n) {
    const int64_t length = std::min(kSilenceStep, n - quiet);
    const auto step = samples.subspan(static_cast<size_t>(quiet), static_cast<size_t>(length));
    if (!is_quiet(sum_of_squares(step), length)) break;
    quiet += length;
  }
  return quiet;
}

int64_t quiet_end(std::span<const int16_t> samples) {
  const auto n = static_cast<int64_t>(samples.size());
  int64_t quiet = 0;
  while (quiet < n) {
    const int64_t length = std::min(kSilenceStep, n - quiet);
    const auto step = samples.subspan(static_cast<size_t>(n - quiet - length), static_cast<size_t>(length));
    if (!is_quiet(sum_of_squares(step), length)) break;
    quiet += length;
  }
  return quiet;
}

std::vector<int16_t> remove_silence(std::span<const int16_t> samples, const SilenceRule& rule) {
  const int64_t window = speech_samples(rule.mid_ms);
  const auto n = static_cast<int64_t>(samples.size());
  std::vector<int16_t> out;
  for (const Range& range : ranges_to_keep(silent_ranges(samples, window), n, window))
    out.insert(out.end(), samples.begin() + range.begin, samples.begin() + range.end);
  const int64_t too_early = std::max<int64_t>(quiet_start(out) - speech_samples(rule.lead_ms), 0);
  out.erase(out.begin(), out.begin() + too_early);
  const int64_t too_late = std::max<int64_t>(quiet_end(out) - speech_samples(rule.trail_ms), 0);
  out.resize(out.size() - static_cast<size_t>(too_late));
  return out;
}

std::vector<float> remove_silence(std::span<const float> samples, const SilenceRule& rule) {
  std::vector<int16_t> whole(samples.size());
  std::ranges::transform(samples, whole.begin(), s16_of);
  std::vector<float> out;
  for (const int16_t sample : remove_silence(whole, rule)) out.push_back(static_cast<float>(sample) / 32768);
  return out;
}

}  // namespace parlance
