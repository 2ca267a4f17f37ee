#include "cli/listen_recording.h"

#include <algorithm>
#include <chrono>

#include "audio/audio_file.h"
#include "cli/listen_models.h"
#include "cli/listen_report.h"
#include "cli/listen_speech.h"
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

// What is shown at once as a subtitle, in samples.
struct CueRange {
  int64_t first_sample, end_sample;
};

// Neighbouring segments become one cue while it stays short; a pause begins another one.
std::vector<CueRange> cue_ranges(std::span<const SpeechSegment> segments) {
  constexpr int64_t kMostSamples = 6 * kSileroSampleRateHz;
  constexpr int64_t kPauseSamples = kSileroSampleRateHz / 2;
  std::vector<CueRange> ranges;
  for (const SpeechSegment& segment : segments) {
    if (!ranges.empty() && segment.first_sample - ranges.back().end_sample < kPauseSamples &&
        segment.end_sample - ranges.back().first_sample <= kMostSamples) {
      ranges.back().end_sample = segment.end_sample;
    } else {
      ranges.push_back({segment.first_sample, segment.end_sample});
    }
  }
  return ranges;
}

class RecordingListener {
 public:
  RecordingListener(const Console& io, const ListenOptions& options, Recognizer& recognizer,
                    std::span<const float> samples, Cancellation cancellation)
      : options_(options),
        recognizer_(recognizer),
        samples_(samples),
        progress_(io, seconds_of(std::ssize(samples))),
        cancellation_(std::move(cancellation)) {}

  Result<Heard> hear_all() {
    Heard heard;
    PARLANCE_TRY(const Transcription all, transcribe({0, std::ssize(samples_)}));
    for (const AsrSegment& segment : all.segments) {
      heard.segments.push_back(
          {segment.start_seconds, segment.end_seconds, segment.transcript, segment.is_complete});
    }
    heard.transcript = all.transcript;
    return heard;
  }

  Result<Heard> hear_cues(std::span<const CueRange> ranges) {
    Heard heard;
    for (const CueRange& range : ranges) {
      PARLANCE_TRY(const Transcription part, transcribe(range));
      const bool is_complete = std::all_of(part.segments.begin(), part.segments.end(),
                                           [](const AsrSegment& segment) { return segment.is_complete; });
      heard.segments.push_back(
          {seconds_of(range.first_sample), seconds_of(range.end_sample), part.transcript, is_complete});
    }
    heard.transcript = join_segments(heard.segments);
    return heard;
  }

 private:
  Result<Transcription> transcribe(const CueRange& range) {
    const double start_s = seconds_of(range.first_sample);
    return recognizer_.transcribe(
        samples_.subspan(static_cast<size_t>(range.first_sample),
                         static_cast<size_t>(range.end_sample - range.first_sample)),
        options_.request, [&](double seconds) { progress_.show(start_s + seconds); }, cancellation_);
  }

  const ListenOptions& options_;
  Recognizer& recognizer_;
  const std::span<const float> samples_;
  Progress progress_;
  const Cancellation cancellation_;
};

Result<Heard> hear(const Console& io, const ListenOptions& options, Recognizer& recognizer,
                   std::span<const float> samples, const std::shared_ptr<const SileroModel>& detector,
                   const Cancellation& cancellation) {
  RecordingListener listener(io, options, recognizer, samples, cancellation);
  if (!detector) return listener.hear_all();
  SpeechTrack track(detector);
  PARLANCE_CHECK(track.push(samples, cancellation));
  track.finish();
  PARLANCE_CHECK(write_plot(options, samples, track));
  const bool is_subtitles = options.format == ListenFormat::srt || options.format == ListenFormat::vtt;
  if (!is_subtitles) return listener.hear_all();
  constexpr double kLongestSpeechSeconds = 15;  // without a pause to cut at
  SegmentOptions segments = options.speech.in_recordings();
  segments.max_speech_s = kLongestSpeechSeconds;
  return listener.hear_cues(cue_ranges(track.segments(segments)));
}

// Gives the segments the times of their words. A transcript that does not fit its audio has none.
Result<void> time_words(const Console& io, Aligner& aligner, std::span<const float> samples, Heard& heard,
                        const Cancellation& cancellation) {
  for (HeardSegment& segment : heard.segments) {
    if (segment.transcript.text.empty()) continue;
    const auto first = static_cast<size_t>(segment.start_s * kMelSampleRateHz);
    const auto end = std::min(static_cast<size_t>(segment.end_s * kMelSampleRateHz), samples.size());
    auto words = aligner.align(samples.subspan(first, end - first), segment.transcript.text,
                               segment.transcript.language, cancellation);
    if (!words && words.error().code == ErrorCode::cancelled) return tl::unexpected(words.error());
    if (!words) {
      io.warn(
          fmt::format("no times of words from {}: {}", clock_time(segment.start_s), words.error().message));
      continue;
    }
    for (TimedWord& word : *words) {
      word.start_seconds += segment.start_s;
      word.end_seconds += segment.start_s;
    }
    segment.words = *std::move(words);
  }
  return {};
}

}  // namespace

Result<int> listen_to_recording(const Console& io, const ListenOptions& options) {
  std::shared_ptr<const SileroModel> detector;
  if (!options.plot.empty()) {
    PARLANCE_TRY(detector, load_detector(options.models));
  } else if (options.format == ListenFormat::srt || options.format == ListenFormat::vtt) {
    PARLANCE_TRY(detector, load_detector_if_any(options.models));
    if (!detector) {
      io.note(
          "no weights of a voice detector: subtitles are spread evenly over the speech; name some with "
          "--vad FILE");
    }
  }
  PARLANCE_TRY(const AudioClip clip, read_audio(options.file, kMelSampleRateHz));
  PARLANCE_TRY(const LoadedRecognizer loaded, load_recognizer(options));
  std::unique_ptr<Aligner> aligner;
  if (options.wants_words) {
    PARLANCE_TRY(aligner, load_aligner(options.models, *loaded.device));
  }
  const InterruptGuard guard;
  const auto start = Clock::now();
  PARLANCE_TRY(Heard heard, hear(io, options, *loaded.recognizer, clip.samples, detector, guard.ticket()));
  if (aligner) PARLANCE_CHECK(time_words(io, *aligner, clip.samples, heard, guard.ticket()));
  heard.audio_s = seconds_of(std::ssize(clip.samples));
  heard.processing_s = seconds_since(start);
  if (options.format == ListenFormat::text && heard.transcript.text.empty()) io.note("no speech was heard");
  print_heard(io, options.format, heard, {{"model", loaded.text_name}, {"encoder", loaded.encoder_name}});
  return kSuccess;
}

}  // namespace parlance
