#include "eval/speech_comparison.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "audio/mel.h"

namespace parlance {

namespace {

constexpr float kSilence = 6;  // powers of ten below the peak
constexpr double kDecibels = 10;

using Texts = std::vector<SpokenOnce>;
using Drawn = std::span<const size_t>;

double error_rate(const Texts& texts, Drawn drawn, bool is_other) {
  WordErrors sum;
  for (const size_t i : drawn) {
    if (!is_other) {
      sum += texts[i].errors;
    } else if (texts[i].other_errors) {
      sum += *texts[i].other_errors;
    }
  }
  return sum.n_words > 0 ? sum.rate() : 0;
}

template <class Value>
std::optional<double> mean(const Texts& texts, Drawn drawn, Value value) {
  double sum = 0;
  size_t n = 0;
  for (const size_t i : drawn) {
    if (const std::optional<double> one = value(texts[i])) sum += *one, ++n;
  }
  if (n == 0) return std::nullopt;
  return sum / static_cast<double>(n);
}

std::optional<double> likeness_of(const SpokenOnce& one) {
  return one.likeness;
}

std::vector<float> mel_of(std::span<const float> samples, float& largest) {
  MelFrontEnd front_end;
  front_end.push(samples);
  const auto frames = front_end.frames(0, front_end.n_final());
  for (const float x : frames) largest = std::max(largest, x);
  return {frames.begin(), frames.end()};
}

}  // namespace

std::optional<double> share_of_equal_codes(const AudioCodes& a, const AudioCodes& b, int64_t n_codebook) {
  if (a.n_frames() != b.n_frames() || a.n_codebook != b.n_codebook || a.empty()) return std::nullopt;
  const int64_t n = std::min(n_codebook, a.n_codebook) * a.n_frames();
  int64_t n_equal = 0;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) n_equal += a.codes[i] == b.codes[i] ? 1 : 0;
  return static_cast<double>(n_equal) / static_cast<double>(n);
}

std::optional<double> mel_distance_db(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return std::nullopt;
  float largest = -INFINITY;
  const std::vector<float> mel_a = mel_of(a, largest), mel_b = mel_of(b, largest);
  if (mel_a.empty()) return std::nullopt;
  double sum = 0;
  for (size_t i = 0; i < mel_a.size(); ++i) {
    const float floor = largest - kSilence;
    sum += std::fabs(static_cast<double>(std::max(mel_a[i], floor)) -
                     static_cast<double>(std::max(mel_b[i], floor)));
  }
  return kDecibels * sum / static_cast<double>(mel_a.size());
}

std::vector<WayScores> compare_ways(std::span<const std::vector<SpokenOnce>> ways) {
  assert(!ways.empty() && !ways.front().empty());
  std::vector<size_t> all(ways.front().size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  const Texts& first = ways.front();
  std::vector<WayScores> scores;
  for (const Texts& texts : ways) {
    assert(texts.size() == first.size());
    const auto difference = [&](auto statistic) {
      return MeasuredDifference{statistic(Drawn(all)), bootstrap(all.size(), statistic)};
    };
    const auto points = [&](bool is_other) {
      return difference([&, is_other](Drawn drawn) {
        return 100 * (error_rate(texts, drawn, is_other) - error_rate(first, drawn, is_other));
      });
    };
    WayScores one;
    one.word_errors = error_rate(texts, all, false);
    const bool has_other = texts.front().other_errors && first.front().other_errors;
    if (has_other) one.other_word_errors = error_rate(texts, all, true);
    one.likeness = mean(texts, all, likeness_of);
    one.alike_codes = mean(texts, all, [](const SpokenOnce& x) { return x.alike_codes; });
    one.alike_coarse = mean(texts, all, [](const SpokenOnce& x) { return x.alike_coarse; });
    one.mel_distance_db = mean(texts, all, [](const SpokenOnce& x) { return x.mel_distance_db; });
    double audio_s = 0, synthesis_s = 0, n_columns = 0;
    for (const SpokenOnce& text : texts) {
      audio_s += text.audio_s;
      synthesis_s += text.synthesis_s;
      n_columns += static_cast<double>(text.n_columns);
    }
    if (audio_s > 0) {
      one.real_time_factor = synthesis_s / audio_s;
      one.columns_per_second = n_columns / audio_s;
    }
    if (&texts != &first) {
      one.points = points(false);
      if (has_other) one.other_points = points(true);
      if (one.likeness && scores.front().likeness) {
        one.likeness_lost = difference([&](Drawn drawn) {
          return mean(texts, drawn, likeness_of).value_or(0) - mean(first, drawn, likeness_of).value_or(0);
        });
      }
    }
    scores.push_back(one);
  }
  return scores;
}

}  // namespace parlance
