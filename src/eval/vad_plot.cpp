#include "eval/vad_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/display.h"
#include "text/unicode.h"

namespace parlance {

namespace {

constexpr std::string_view kText = "#7b8088", kGrid = "#9097a055";
constexpr std::string_view kWaveform = "#2f80ed", kProbability = "#e0701a", kSpeech = "#a05fd0";

// Pixels.
constexpr double kWidth = 1120, kHeight = 372;
constexpr double kLeft = 56, kRight = kWidth - 26;
constexpr double kWaveformTop = 64, kWaveformBottom = 194;
constexpr double kProbabilityTop = 214, kProbabilityBottom = 324;
constexpr size_t kColumns = 1038;  // one a pixel: more could not be seen
constexpr size_t kMostTicks = 14;

// How far a stretch of values reaches down and up.
struct Extent {
  double low = 0, high = 0;
};

// Maps values to pixels.
struct Axis {
  double low, high;      // values
  double start, finish;  // pixels

  double at(double value) const {
    return start + (finish - start) * (std::clamp(value, low, high) - low) / (high - low);
  }
};

std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string text_at(double x, double y, std::string_view anchor, int size, std::string_view words) {
  return fmt::format(
      "<text x='{:.1f}' y='{:.1f}' text-anchor='{}' font-size='{}' fill='{}' "
      "font-family='system-ui, sans-serif'>{}</text>\n",
      x, y, anchor, size, kText, escape(words));
}

std::string horizontal_line(double x1, double x2, double y, std::string_view colour,
                            std::string_view more = "") {
  return fmt::format("<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' stroke='{}'{}/>\n", x1, x2, y, y,
                     colour, more);
}

std::string frame(double top, double bottom) {
  return fmt::format("<rect x='{}' y='{}' width='{}' height='{}' fill='none' stroke='{}'/>\n", kLeft, top,
                     kRight - kLeft, bottom - top, kGrid);
}

// What is no number counts as zero.
double number(float value) {
  return std::isfinite(value) ? static_cast<double>(value) : 0.0;
}

// The values in at most kColumns stretches of about equal length, none empty.
std::vector<std::span<const float>> columns_of(std::span<const float> values) {
  std::vector<std::span<const float>> columns(std::min(kColumns, values.size()));
  for (size_t i = 0; i < columns.size(); ++i) {
    const size_t begin = i * values.size() / columns.size();
    const size_t end = (i + 1) * values.size() / columns.size();
    columns[i] = values.subspan(begin, end - begin);
  }
  return columns;
}

std::vector<Extent> extents_of(std::span<const float> values) {
  std::vector<Extent> extents;
  for (const std::span<const float> column : columns_of(values)) {
    Extent extent{number(column[0]), number(column[0])};
    for (const float value : column) {
      extent.low = std::min(extent.low, number(value));
      extent.high = std::max(extent.high, number(value));
    }
    extents.push_back(extent);
  }
  return extents;
}

std::vector<double> means_of(std::span<const float> values) {
  std::vector<double> means;
  for (const std::span<const float> column : columns_of(values)) {
    double sum = 0;
    for (const float value : column) sum += number(value);
    means.push_back(sum / static_cast<double>(column.size()));
  }
  return means;
}

// The middle of column i of n that share the duration.
double column_x(size_t i, size_t n, double duration_s, const Axis& x) {
  return x.at(duration_s * (static_cast<double>(i) + 0.5) / static_cast<double>(n));
}

// An area along the upper ends of the extents and back along the lower ones; its outline shows where they
// meet.
std::string waveform_area(std::span<const Extent> extents, double duration_s, const Axis& x, const Axis& y) {
  const size_t n = extents.size();
  if (n == 0) return {};
  std::string points;
  for (size_t i = 0; i < n; ++i) {
    points += fmt::format("{:.1f},{:.1f} ", column_x(i, n, duration_s, x), y.at(extents[i].high));
  }
  for (size_t i = n; i-- > 0;) {
    points += fmt::format("{:.1f},{:.1f} ", column_x(i, n, duration_s, x), y.at(extents[i].low));
  }
  return fmt::format("<polygon points='{}' fill='{}' stroke='{}' stroke-linejoin='round'/>\n", points,
                     kWaveform, kWaveform);
}

std::string probability_line(std::span<const double> means, double duration_s, const Axis& x, const Axis& y) {
  const size_t n = means.size();
  if (n == 0) return {};
  std::string points;
  for (size_t i = 0; i < n; ++i) {
    points += fmt::format("{:.1f},{:.1f} ", column_x(i, n, duration_s, x), y.at(means[i]));
  }
  return fmt::format(
      "<polyline points='{}' fill='none' stroke='{}' stroke-width='1.6' stroke-linejoin='round'/>\n", points,
      kProbability);
}

// All segments in one path, those less than a pixel apart as one.
std::string shades(std::span<const SpeechSpan> segments, const Axis& x) {
  constexpr double kNarrowest = 1;
  std::string path;
  double from = 0, to = -1;  // of the shade that is not written yet
  const auto write = [&] {
    if (to < from) return;
    path += fmt::format("M{:.1f} {}H{:.1f}V{}H{:.1f}Z", from, kWaveformTop, to, kProbabilityBottom, from);
  };
  for (const SpeechSpan& segment : segments) {
    const double start = x.at(segment.start_s), end = x.at(segment.end_s);
    if (!(end >= start)) continue;
    if (to >= from && start >= from && start - to < kNarrowest) {
      to = std::max(to, end);
      continue;
    }
    write();
    from = start;
    to = std::max(end, start + kNarrowest);
  }
  write();
  return path.empty() ? path : fmt::format("<path d='{}' fill='{}' fill-opacity='0.2'/>\n", path, kSpeech);
}

// "1.5" in recordings below a minute, else "2:03" or "1:02:03".
std::string time_label(double seconds, double step, double duration_s) {
  if (duration_s < 60) return fmt::format("{:.{}f}", seconds, step < 0.1 ? 2 : step < 1 ? 1 : 0);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

double time_step(double duration_s) {
  constexpr std::array kSteps = {0.01, 0.02, 0.05, 0.1,   0.2,   0.5,   1.0,   2.0,    5.0,   10.0,
                                 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0};
  const double least = duration_s / static_cast<double>(kMostTicks - 1);
  const auto step = std::lower_bound(kSteps.begin(), kSteps.end(), least);
  return step != kSteps.end() ? *step : kSteps.back() * std::ceil(least / kSteps.back());
}

std::string time_axis(const Axis& x) {
  std::string svg;
  const double step = time_step(x.high);
  for (int i = 0; i * step <= x.high; ++i) {
    const double at = x.at(i * step);
    svg += fmt::format("<line x1='{:.1f}' x2='{:.1f}' y1='{}' y2='{}' stroke='{}'/>\n", at, at, kWaveformTop,
                       kProbabilityBottom, kGrid);
    svg += text_at(at, kProbabilityBottom + 16, "middle", 11, time_label(i * step, step, x.high));
  }
  const std::string_view unit = x.high < 60     ? "seconds"
                                : x.high < 3600 ? "minutes:seconds"
                                                : "hours:minutes:seconds";
  return svg + text_at((kLeft + kRight) / 2, kProbabilityBottom + 36, "middle", 12, unit);
}

std::string legend(double threshold) {
  const auto swatch = [](double x, std::string_view colour, double opacity) {
    return fmt::format("<rect x='{}' y='38' width='22' height='10' fill='{}' fill-opacity='{}'/>\n", x,
                       colour, opacity);
  };
  return swatch(kLeft, kWaveform, 1) + text_at(kLeft + 28, 47, "start", 12, "waveform") +
         swatch(kLeft + 110, kProbability, 1) +
         text_at(kLeft + 138, 47, "start", 12, "probability of speech") +
         horizontal_line(kLeft + 284, kLeft + 306, 43, kText, " stroke-dasharray='5 4'") +
         text_at(kLeft + 312, 47, "start", 12, fmt::format("threshold {:.2f}", threshold)) +
         swatch(kLeft + 420, kSpeech, 0.35) + text_at(kLeft + 448, 47, "start", 12, "speech");
}

}  // namespace

std::string vad_plot_svg(const VadPlot& plot) {
  constexpr size_t kTitleWidth = 120;
  constexpr double kQuietest = 0.001;  // a peak below is drawn as small as it is
  assert(plot.sample_rate_hz > 0 && plot.window_samples > 0);
  const std::vector<Extent> waveform = extents_of(plot.samples);
  const std::vector<double> probabilities = means_of(plot.probabilities);
  const double samples_s = static_cast<double>(plot.samples.size()) / plot.sample_rate_hz;
  const double windows_s =
      static_cast<double>(plot.probabilities.size()) * plot.window_samples / plot.sample_rate_hz;
  const double duration_s = std::max(samples_s, windows_s);
  double peak = kQuietest;
  for (const Extent& extent : waveform) peak = std::max({peak, extent.high, -extent.low});

  const Axis x{0, duration_s > 0 ? duration_s : 1, kLeft, kRight};
  const Axis amplitude{-peak, peak, kWaveformBottom, kWaveformTop};
  const Axis probability{0, 1, kProbabilityBottom, kProbabilityTop};

  const std::string title = shorten(printable(sanitise_utf8(plot.title)), kTitleWidth);
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' role='img'>\n"
      "<title>{2}</title>\n",
      kWidth, kHeight, escape(title));
  svg += text_at(kLeft, 22, "start", 15, title);
  svg += legend(plot.threshold);
  svg += shades(plot.segments, x);
  svg += time_axis(x);
  svg += frame(kWaveformTop, kWaveformBottom) + frame(kProbabilityTop, kProbabilityBottom);
  for (const double level : {-peak, 0.0, peak}) {
    svg += text_at(kLeft - 6, amplitude.at(level) + 4, "end", 11, fmt::format("{:.2g}", level));
  }
  for (const double level : {0.0, 0.5, 1.0}) {
    svg += text_at(kLeft - 6, probability.at(level) + 4, "end", 11, fmt::format("{:g}", level));
    svg += horizontal_line(kLeft, kRight, probability.at(level), kGrid);
  }
  svg += waveform_area(waveform, samples_s, x, amplitude);
  svg += probability_line(probabilities, windows_s, x, probability);
  svg += horizontal_line(kLeft, kRight, probability.at(plot.threshold), kText, " stroke-dasharray='5 4'");
  return svg + "</svg>\n";
}

}  // namespace parlance
