#include "cli/listen_report.h"

#include <cmath>

#include "text/subtitles.h"
#include "text/unicode.h"

namespace parlance {

namespace {

// Times to the millisecond: more is noise.
double rounded(double seconds) {
  return std::round(seconds * 1000) / 1000;
}

Json to_json(const Heard& heard, std::initializer_list<std::pair<std::string_view, std::string>> names) {
  Json segments = Json::array();
  for (const HeardSegment& segment : heard.segments) segments.push(to_json(segment));
  Json json = Json::object({{"text", heard.transcript.text},
                            {"language", heard.transcript.language},
                            {"segments", segments},
                            {"audio_seconds", rounded(heard.audio_s)}});
  if (heard.processing_s) {
    json.set("processing_seconds", rounded(*heard.processing_s));
    json.set("real_time_factor", *heard.processing_s / heard.audio_s);
  }
  for (const auto& [key, name] : names) json.set(key, name);
  return json;
}

std::vector<Cue> cues_of(const Heard& heard) {
  std::vector<Cue> cues;
  for (const HeardSegment& segment : heard.segments) {
    cues.push_back({segment.start_s, segment.end_s, segment.transcript.text});
  }
  return cues;
}

}  // namespace

std::string clock_time(double seconds) {
  const auto tenths = static_cast<int64_t>(std::round(seconds * 10));
  const int64_t whole = tenths / 10, minutes = whole / 60;
  const std::string end = fmt::format("{:02}.{}", whole % 60, tenths % 10);
  if (minutes < 60) return fmt::format("{}:{}", minutes, end);
  return fmt::format("{}:{:02}:{}", minutes / 60, minutes % 60, end);
}

void print_heard(const Console& io, ListenFormat format, const Heard& heard,
                 std::initializer_list<std::pair<std::string_view, std::string>> names) {
  switch (format) {
    case ListenFormat::text:
      if (!heard.transcript.text.empty()) io.print("{}\n", printable(heard.transcript.text, Lines::many));
      break;
    case ListenFormat::json:
      io.print("{}\n", to_json(heard, names).pretty());
      break;
    case ListenFormat::srt:
      io.write(srt_text(cues_of(heard)));
      break;
    case ListenFormat::vtt:
      io.write(webvtt_text(cues_of(heard)));
      break;
  }
}

}  // namespace parlance
