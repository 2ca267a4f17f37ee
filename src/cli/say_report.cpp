#include "cli/say_report.h"

#include <algorithm>
#include <cmath>

#include "cli/terminal/units.h"

namespace parlance {

namespace {

constexpr int kBarWidth = 24;

// To the microsecond: more is noise.
double rounded_ms(double seconds) {
  return std::round(seconds * 1e6) / 1e3;
}

Json to_json(const SpokenChunk& chunk) {
  return Json::object({{"text", chunk.text},
                       {"frames", chunk.codes.n_frames()},
                       {"seconds", static_cast<double>(chunk.codes.n_frames()) / kFramesPerSecond},
                       {"reference_frames", chunk.n_reference},
                       {"steps", chunk.n_steps},
                       {"columns", chunk.n_columns},
                       {"model_ms", rounded_ms(chunk.model_seconds)},
                       {"codec_ms", rounded_ms(chunk.codec_seconds)}});
}

}  // namespace

void SayProgress::show(const SpeechProgress& progress) {
  if (!io_.err_is_terminal) return;
  const double done = (progress.chunk + static_cast<double>(progress.step) / std::max(progress.n_steps, 1)) /
                      std::max(progress.n_chunks, 1);
  const auto n_full = static_cast<int>(done * kBarWidth);
  std::string bar;
  for (int i = 0; i < kBarWidth; ++i) bar += i < n_full ? "█" : "░";
  std::string part;
  if (progress.n_chunks > 1) part = fmt::format("part {} of {}, ", progress.chunk + 1, progress.n_chunks);
  io_.write_progress(fmt::format("  {} {}step {} of {}", bar, part, progress.step, progress.n_steps));
  is_shown_ = true;
}

std::string summary_of(const SpeechReport& report) {
  return fmt::format("{:.1f} s of speech in {}, the first sound after {}", report.audio_seconds(),
                     format_ms(1000 * report.total_seconds), format_ms(1000 * report.first_audio_seconds));
}

void add_report(Json& json, const SpeechReport& report) {
  double model_seconds = 0, codec_seconds = 0;
  Json chunks = Json::array();
  for (const SpokenChunk& chunk : report.chunks) {
    chunks.push(to_json(chunk));
    model_seconds += chunk.model_seconds;
    codec_seconds += chunk.codec_seconds;
  }
  json.set("audio_seconds", report.audio_seconds());
  json.set("samples", report.n_samples);
  json.set("sample_rate_hz", kSpeechRateHz);
  json.set("processing_seconds", rounded_ms(report.total_seconds) / 1000);
  json.set("real_time_factor", report.total_seconds / report.audio_seconds());
  json.set("first_audio_ms", rounded_ms(report.first_audio_seconds));
  json.set("model_ms", rounded_ms(model_seconds));
  json.set("codec_ms", rounded_ms(codec_seconds));
  json.set("chunks", chunks);
}

}  // namespace parlance
