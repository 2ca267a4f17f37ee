#include "text/subtitles.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace parlance {

namespace {

constexpr int kLineColumns = 42;
constexpr size_t kLines = 2;

struct TimedLines {
  int64_t start_ms = 0;
  int64_t end_ms = 0;
  std::vector<std::string> lines;
};

// A stretch of text that is not broken: a word, or a character of Chinese or Japanese with the marks behind
// it.
struct TextUnit {
  std::string text;
  int columns = 0;
  bool has_space_before = false;
};

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

// Whether a line may end before the character although there is no space.
bool begins_unit(char32_t c, int columns) {
  const bool is_hangul = c >= 0xac00 && c <= 0xd7a3;
  return columns == 2 && !is_hangul && is_letter(c);
}

std::vector<TextUnit> units_of(std::string_view text) {
  const std::string valid = sanitise_utf8(text);
  std::vector<TextUnit> units;
  bool is_behind_space = true;
  for (size_t at = 0; at < valid.size();) {
    const char32_t c = next_code_point(valid, at);
    if (is_space(c) || is_control(c)) {
      is_behind_space = true;
      continue;
    }
    const int columns = n_columns(c);
    if (is_behind_space || begins_unit(c, columns) || units.back().columns + columns > kLineColumns) {
      units.push_back({"", 0, is_behind_space});
    }
    append_utf8(units.back().text, c);
    units.back().columns += columns;
    is_behind_space = false;
  }
  return units;
}

// The lines that hold as much of the text as fits into `columns` each, first to last.
std::vector<std::string> fill_lines(std::span<const TextUnit> units, int columns) {
  std::vector<std::string> lines;
  int used = 0;
  for (const TextUnit& unit : units) {
    const int with_unit = used + unit.has_space_before + unit.columns;
    if (lines.empty() || with_unit > columns) {
      lines.push_back(unit.text);
      used = unit.columns;
    } else {
      if (unit.has_space_before) lines.back() += ' ';
      lines.back() += unit.text;
      used = with_unit;
    }
  }
  return lines;
}

// The units' text in as few lines as they need, all about as long.
std::vector<std::string> even_lines(std::span<const TextUnit> units) {
  const size_t n_lines = fill_lines(units, kLineColumns).size();
  int columns = 0;
  for (const TextUnit& unit : units) columns = std::max(columns, unit.columns);
  while (fill_lines(units, columns).size() > n_lines) ++columns;
  return fill_lines(units, columns);
}

int64_t milliseconds(double seconds) {
  constexpr int64_t kMost = 99 * 3'600'000;  // two digits of hours, and room for times to rise
  if (!(seconds > 0)) return 0;              // not after it, or no number
  return seconds * 1000 >= static_cast<double>(kMost) ? kMost : std::llround(seconds * 1000);
}

// Appends the cue's text, split where it takes too many lines.
void append_lines(const Cue& cue, std::vector<TimedLines>& result) {
  const std::vector<TextUnit> units = units_of(cue.text);
  if (units.empty()) return;
  const std::vector<std::string> lines = even_lines(units);
  size_t n_bytes = 0;
  for (const std::string& line : lines) n_bytes += line.size();
  const int64_t start = milliseconds(cue.start_s);
  const double duration = static_cast<double>(std::max<int64_t>(0, milliseconds(cue.end_s) - start));
  size_t n_before = 0;
  const auto time = [&] {
    return start + std::llround(duration * static_cast<double>(n_before) / static_cast<double>(n_bytes));
  };
  for (size_t i = 0; i < lines.size(); i += kLines) {
    TimedLines& part = result.emplace_back();
    part.start_ms = time();
    for (size_t j = i; j < std::min(lines.size(), i + kLines); ++j) {
      n_before += lines[j].size();
      part.lines.push_back(lines[j]);
    }
    part.end_ms = time();
  }
}

std::vector<TimedLines> lay_out(std::span<const Cue> cues) {
  std::vector<TimedLines> parts;
  for (const Cue& cue : cues) append_lines(cue, parts);
  for (size_t i = 0; i < parts.size(); ++i) {
    TimedLines& part = parts[i];
    if (i > 0) {
      TimedLines& before = parts[i - 1];
      part.start_ms = std::max(part.start_ms, before.start_ms + 1);
      before.end_ms = std::min(before.end_ms, part.start_ms);
    }
    part.end_ms = std::max(part.end_ms, part.start_ms + 1);
  }
  return parts;
}

// Hours, minutes, seconds and milliseconds; the two formats differ in the mark before these.
std::string time_text(int64_t ms, char decimal_mark) {
  return fmt::format("{:02}:{:02}:{:02}{}{:03}", ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60,
                     decimal_mark, ms % 1000);
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// SubRip has no way to escape the arrow between times, by which some players find cues.
std::string srt_line(const std::string& line) {
  return replace_all(line, "-->", "→");
}

std::string webvtt_line(const std::string& line) {
  return replace_all(replace_all(replace_all(line, "&", "&amp;"), "<", "&lt;"), ">", "&gt;");
}

}  // namespace

std::string srt_text(std::span<const Cue> cues) {
  std::string text;
  size_t number = 0;
  for (const TimedLines& part : lay_out(cues)) {
    text +=
        fmt::format("{}\n{} --> {}\n", ++number, time_text(part.start_ms, ','), time_text(part.end_ms, ','));
    for (const std::string& line : part.lines) text += srt_line(line) + '\n';
    text += '\n';
  }
  return text;
}

std::string webvtt_text(std::span<const Cue> cues) {
  std::string text = "WEBVTT\n\n";
  for (const TimedLines& part : lay_out(cues)) {
    text += fmt::format("{} --> {}\n", time_text(part.start_ms, '.'), time_text(part.end_ms, '.'));
    for (const std::string& line : part.lines) text += webvtt_line(line) + '\n';
    text += '\n';
  }
  return text;
}

}  // namespace parlance
