#include "cli/talk_timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "cli/terminal/console.h"
#include "cli/terminal/table.h"
#include "text/unicode.h"
#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

constexpr std::string_view kText = "#7b8088", kGrid = "#9097a055", kSpeechEnd = "#d0454c";

// Pixels.
constexpr double kWidth = 1120, kLeft = 104, kRight = kWidth - 26;
constexpr double kTop = 40, kTitle = 44, kLane = 22, kAxis = 34;

struct Lane {
  std::string_view name;
  std::string_view colour;
};
constexpr std::array kLanes = {Lane{"you", "#2f80ed"},  Lane{"silence", "#9097a0"}, Lane{"ears", "#a05fd0"},
                               Lane{"mind", "#e0701a"}, Lane{"mouth", "#2a9d6f"},   Lane{"heard", "#c8a200"}};
constexpr double kPanel = kTitle + kLane * kLanes.size() + kAxis;

struct Bar {
  size_t lane;
  double from_ms, to_ms;
  double opacity = 1;
};

std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else {
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

std::vector<Bar> bars_of(const TurnReport& turn) {
  using enum Checkpoint;
  std::vector<Bar> bars;
  const TurnTrace& trace = turn.trace;
  const auto add = [&](size_t lane, std::optional<double> from_ms, std::optional<double> to_ms,
                       double opacity = 1) {
    if (from_ms && to_ms && *to_ms >= *from_ms) bars.push_back({lane, *from_ms, *to_ms, opacity});
  };
  const auto after = [&](Checkpoint checkpoint) { return trace.after_speech_ms(checkpoint); };
  add(0, after(speech_start), after(speech_end));
  add(1, after(speech_end), after(turn_end));
  add(2, after(asr_first_partial), after(pause), 0.35);
  add(2, after(pause) ? after(pause) : after(speech_end), after(asr_final));
  add(3, after(llm_start), after(phrase_emit));
  add(3, after(phrase_emit), after(llm_end), 0.35);
  const double zero_ms = trace.at_ms(speech_end).value_or(0);
  for (const PhraseTrace& phrase : trace.phrases) {
    if (!phrase.tts_start_ms || !phrase.tts_first_audio_ms) continue;
    add(4, *phrase.tts_start_ms - zero_ms, *phrase.tts_first_audio_ms - zero_ms);
    if (phrase.tts_end_ms) add(4, *phrase.tts_first_audio_ms - zero_ms, *phrase.tts_end_ms - zero_ms, 0.35);
  }
  if (const auto start = after(audio_first_played)) {
    add(5, start, *start + 1000.0 * static_cast<double>(turn.n_samples) / kSpeechRateHz);
  }
  return bars;
}

// Of the axis: a step that gives about ten marks.
double step_of(double span_ms) {
  const double rough = span_ms / 10;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::string panel_of(const TurnReport& turn, double top, double low_ms, double high_ms) {
  const auto x = [&](double ms) {
    return kLeft + (kRight - kLeft) * (std::clamp(ms, low_ms, high_ms) - low_ms) / (high_ms - low_ms);
  };
  constexpr size_t kTextWidth = 64;
  const auto words = [](const std::string& text) {
    return shorten(printable(sanitise_utf8(text)), kTextWidth);
  };
  std::string svg =
      text_at(kLeft, top + 16, "start", 13, words(turn.question) + "  →  " + words(turn.answer));
  std::string figures;
  for (const TurnMetric& metric : turn_metrics()) {
    const auto ms = turn.trace.between_ms(metric.from, metric.to);
    if (ms) figures += fmt::format("{}{} {:.0f} ms", figures.empty() ? "" : ", ", metric.name, *ms);
  }
  if (turn.draft.n_drafted > 0) {
    figures += fmt::format("{}{} of {} drafted tokens taken in {} steps", figures.empty() ? "" : ", ",
                           turn.draft.n_accepted, turn.draft.n_drafted, turn.draft.n_steps);
  }
  std::replace(figures.begin(), figures.end(), '_', ' ');
  svg += text_at(kLeft, top + 33, "start", 11, figures);

  const double lanes_top = top + kTitle, lanes_bottom = lanes_top + kLane * kLanes.size();
  const double step = step_of(high_ms - low_ms);
  for (double ms = std::ceil(low_ms / step) * step; ms <= high_ms; ms += step) {
    svg += fmt::format("<line x1='{0:.1f}' x2='{0:.1f}' y1='{1:.1f}' y2='{2:.1f}' stroke='{3}'/>\n", x(ms),
                       lanes_top, lanes_bottom, kGrid);
    svg += text_at(x(ms), lanes_bottom + 14, "middle", 11, fmt::format("{:.0f}", ms));
  }
  for (size_t i = 0; i < kLanes.size(); ++i) {
    svg += text_at(kLeft - 8, lanes_top + kLane * (static_cast<double>(i) + 0.68), "end", 12, kLanes[i].name);
  }
  for (const Bar& bar : bars_of(turn)) {
    const double from = x(bar.from_ms), width = std::max(1.5, x(bar.to_ms) - from);
    svg += fmt::format(
        "<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' rx='2' fill='{}' fill-opacity='{}'/>\n",
        from, lanes_top + kLane * static_cast<double>(bar.lane) + 4, width, kLane - 8,
        kLanes[bar.lane].colour, bar.opacity);
  }
  svg += fmt::format(
      "<line x1='{0:.1f}' x2='{0:.1f}' y1='{1:.1f}' y2='{2:.1f}' stroke='{3}' stroke-dasharray='4 3'/>\n",
      x(0), lanes_top - 4, lanes_bottom + 2, kSpeechEnd);
  return svg;
}

}  // namespace

std::string talk_timeline_svg(std::span<const TurnReport> turns) {
  const auto drawn = turns.first(std::min(turns.size(), kMostDrawnTurns));
  // One scale for all turns, so that they can be compared: a second before the end of speech, and as far as
  // the sound of most answers begins.
  double low_ms = -1000, high_ms = 1000;
  for (const TurnReport& turn : drawn) {
    using enum Checkpoint;
    for (const Checkpoint c : {audio_first_played, tts_end, llm_end, turn_end}) {
      if (const auto ms = turn.trace.after_speech_ms(c)) high_ms = std::max(high_ms, *ms + 200);
    }
  }
  high_ms = std::min(high_ms, 6000.0);
  const double height = kTop + kPanel * static_cast<double>(std::max<size_t>(drawn.size(), 1)) + 8;
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' role='img'>\n"
      "<title>A conversation by voice, turn by turn</title>\n",
      kWidth, height);
  svg += text_at(kLeft, 22, "start", 15,
                 "Milliseconds after the end of speech; strong: until the first result, faint: the rest");
  double top = kTop;
  for (const TurnReport& turn : drawn) {
    svg += panel_of(turn, top, low_ms, high_ms);
    top += kPanel;
  }
  return svg + "</svg>\n";
}

}  // namespace parlance
