#include "cli/listen_recording.h"

#include <algorithm>
#include <chrono>

#include "assistant/regions.h"
#include "assistant/transcriber.h"
#include "audio/audio_file.h"
#include "cli/listen_report.h"
#include "cli/listen_speech.h"
#include "cli/open_text.h"
#include "cli/terminal/interrupt.h"

namespace parlance {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A line on the terminal that says how far the work is.
class Progress {
 public:
  Progress(const Console& io, double total_s) : io_(io), total_s_(total_s) {}
  ~Progress() {
    if (is_shown_) io_.write_progress("");
  }

  void show(double done_s) {
    if (!io_.err_is_terminal) return;
    const double speed = done_s / std::max(seconds_since(start_), 1e-3);
    io_.write_progress(fmt::format("  {} of {}, {:.1f} times as fast as speech", clock_time(done_s),
                                   clock_time(total_s_), speed));
    is_shown_ = true;
  }

 private:
  const Console& io_;
  const double total_s_;
  const Clock::time_point start_ = Clock::now();
  bool is_shown_ = false;
};

// Null where the work can go on without a detector, and there is none.
Result<std::shared_ptr<VadRegion>> detector_for(const Console& io, const ListenOptions& options,
                                                Regions& regions) {
  const bool is_subtitles = options.format == ListenFormat::srt || options.format == ListenFormat::vtt;
  if (options.plot.empty() && !is_subtitles) return nullptr;
  auto detector = regions.vad.acquire();
  if (detector || !options.plot.empty() || !options.models.files.vad.empty()) return detector;
  if (detector.error().code != ErrorCode::not_found) return detector;
  io.note(
      "no weights of a voice detector: subtitles are spread evenly over the speech; name some with --vad "
      "FILE");
  return nullptr;
}

Result<Heard> hear(const Console& io, const ListenOptions& options, Recognizer& recognizer,
                   std::span<const float> samples, const VadRegion* detector,
                   const Cancellation& cancellation) {
  Progress progress(io, seconds_of(std::ssize(samples)));
  const RecordingWatch watch{.on_seconds = [&](double seconds) { progress.show(seconds); }};
  if (detector) {
    SpeechTrack track(detector->model);
    PARLANCE_CHECK(track.push(samples, cancellation));
    track.finish();
    PARLANCE_CHECK(write_plot(options, samples, track));
    if (options.format == ListenFormat::srt || options.format == ListenFormat::vtt) {
      constexpr double kLongestSpeechSeconds = 15;  // without a pause to cut at
      SegmentOptions segments = options.speech.in_recordings();
      segments.max_speech_s = kLongestSpeechSeconds;
      return hear_speech(recognizer, samples, track.segments(segments), options.request, watch, cancellation);
    }
  }
  return hear_recording(recognizer, samples, options.request, watch, cancellation);
}

}  // namespace

Result<int> listen_to_recording(const Console& io, const ListenOptions& options) {
  Regions regions(options.models, warnings_to(io));
  PARLANCE_TRY(const auto detector, detector_for(io, options, regions));
  PARLANCE_TRY(const AudioClip clip, read_audio(options.file, kMelSampleRateHz));
  PARLANCE_TRY(const auto ears, regions.asr.acquire());
  std::shared_ptr<AlignerRegion> aligner;
  if (options.wants_words) {
    PARLANCE_TRY(aligner, regions.aligner.acquire());
  }
  const InterruptGuard guard;
  const auto start = Clock::now();
  PARLANCE_TRY(Heard heard,
               hear(io, options, *ears->recognizer, clip.samples, detector.get(), guard.ticket()));
  const auto on_failure = [&](const HeardSegment& segment, const Error& why) {
    io.warn(fmt::format("no times of words from {}: {}", clock_time(segment.start_s), why.message));
  };
  if (aligner) {
    PARLANCE_CHECK(time_words(*aligner->aligner, clip.samples, heard, on_failure, guard.ticket()));
  }
  heard.processing_s = seconds_since(start);
  if (options.format == ListenFormat::text && heard.transcript.text.empty()) io.note("no speech was heard");
  print_heard(io, options.format, heard,
              {{"model", ears->text_name},
               {"encoder", ears->encoder_name},
               {"device", std::string(ears->device->name())}});
  return kSuccess;
}

}  // namespace parlance
