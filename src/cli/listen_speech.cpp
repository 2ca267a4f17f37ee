#include "cli/listen_speech.h"

#include <algorithm>
#include <cmath>

#include "base/os/file.h"
#include "cli/listen_report.h"
#include "cli/terminal/table.h"
#include "eval/vad_plot.h"
#include "json/json.h"
#include "text/subtitles.h"

namespace parlance {

namespace {

double rounded(float probability) {
  return std::round(static_cast<double>(probability) * 1e4) / 1e4;
}

void print_table(const Console& io, std::span<const SpeechSegment> segments, double audio_s) {
  Table table({{"start"}, {"end"}, {"duration"}, {"mean"}, {"max"}});
  double speech_s = 0;
  for (const SpeechSegment& segment : segments) {
    const double start_s = seconds_of(segment.first_sample), end_s = seconds_of(segment.end_sample);
    speech_s += end_s - start_s;
    table.add({fmt::format("{:.3f}", start_s), fmt::format("{:.3f}", end_s),
               fmt::format("{:.3f}", end_s - start_s), fmt::format("{:.2f}", segment.mean_probability),
               fmt::format("{:.2f}", segment.max_probability)});
  }
  if (table.n_rows() > 0) io.write(table.text(io));
  io.print("  {:.3f} s of speech in {:.3f} s\n", speech_s, audio_s);
}

void print_json(const Console& io, std::span<const SpeechSegment> segments, double audio_s) {
  Json list = Json::array();
  for (const SpeechSegment& segment : segments) {
    const double start_s = seconds_of(segment.first_sample), end_s = seconds_of(segment.end_sample);
    list.push(Json::object({{"start", start_s},
                            {"end", end_s},
                            {"duration", end_s - start_s},
                            {"mean_probability", rounded(segment.mean_probability)},
                            {"max_probability", rounded(segment.max_probability)}}));
  }
  io.print("{}\n", Json::object({{"segments", list}, {"audio_seconds", audio_s}}).pretty());
}

void print_segments(const Console& io, ListenFormat format, std::span<const SpeechSegment> segments,
                    double audio_s) {
  if (format == ListenFormat::text) return print_table(io, segments, audio_s);
  if (format == ListenFormat::json) return print_json(io, segments, audio_s);
  std::vector<Cue> cues;
  for (const SpeechSegment& segment : segments) {
    cues.push_back({seconds_of(segment.first_sample), seconds_of(segment.end_sample),
                    fmt::format("speech ({:.0f} %)", 100 * segment.mean_probability)});
  }
  io.write(format == ListenFormat::srt ? srt_text(cues) : webvtt_text(cues));
}

}  // namespace

SegmentOptions SpeechChoice::in_recordings() const {
  SegmentOptions options;
  options.threshold = threshold;
  options.min_silence_ms = min_silence_ms.value_or(options.min_silence_ms);
  options.min_speech_ms = min_speech_ms.value_or(options.min_speech_ms);
  options.speech_pad_ms = pad_ms.value_or(options.speech_pad_ms);
  return options;
}

TurnOptions SpeechChoice::in_streams() const {
  constexpr double kWindowMs = 1000.0 * kSileroWindow / kSileroSampleRateHz;
  TurnOptions options;
  options.onset = threshold;
  options.end_hangover_ms = min_silence_ms.value_or(options.end_hangover_ms);
  options.min_speech_ms = min_speech_ms.value_or(options.min_speech_ms);
  if (pad_ms) options.pre_roll_windows = static_cast<int64_t>(std::ceil(*pad_ms / kWindowMs));
  return options;
}

Result<void> write_plot(const ListenOptions& options, std::span<const float> samples,
                        const SpeechTrack& track) {
  if (options.plot.empty()) return {};
  std::vector<SpeechSpan> spans;
  for (const SpeechSegment& segment : track.segments(options.speech.in_recordings())) {
    spans.push_back({seconds_of(segment.first_sample), seconds_of(segment.end_sample)});
  }
  const std::string title = std::filesystem::path(options.file).filename().string();
  PARLANCE_TRY(AtomicFile out, AtomicFile::create(options.plot));
  PARLANCE_CHECK(out.write(vad_plot_svg({.title = title,
                                         .samples = samples,
                                         .probabilities = track.probabilities(),
                                         .threshold = options.speech.threshold,
                                         .segments = spans})));
  return out.commit();
}

Result<int> listen_for_speech(const Console& io, const ListenOptions& options, SoundSource& source,
                              std::shared_ptr<const SileroModel> model, const Cancellation& cancellation) {
  SpeechTrack track(std::move(model));
  std::vector<float> piece, kept;
  for (bool goes_on = true; goes_on;) {
    piece.clear();
    PARLANCE_TRY(goes_on, source.read(piece));
    PARLANCE_CHECK(track.push(piece, cancellation));
    if (!options.plot.empty()) kept.insert(kept.end(), piece.begin(), piece.end());
  }
  track.finish();
  PARLANCE_CHECK(write_plot(options, kept, track));
  print_segments(io, options.format, track.segments(options.speech.in_recordings()),
                 seconds_of(track.n_samples()));
  return kSuccess;
}

}  // namespace parlance
