#include "cli/listen_live.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "assistant/sound_source.h"
#include "cli/listen_models.h"
#include "cli/listen_report.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/live_line.h"
#include "vad/speech_detector.h"

namespace parlance {

namespace {

// What people and programs get to see while the sound goes on.
class LiveOutput {
 public:
  LiveOutput(const Console& io, const ListenOptions& options) : io_(io), options_(options), line_(io) {}

  void partial(double start_s, const AsrPartial& partial) {
    if (partial.revision == revision_) return;
    revision_ = partial.revision;
    const std::string& text = partial.transcript.text;
    if (options_.prints_partials) {
      if (!text.empty()) print_line(json_of(start_s, partial));
      return;
    }
    const bool has_stable = text.starts_with(partial.stable);
    line_.show(has_stable ? LiveText{partial.stable, text.substr(partial.stable.size())}
                          : LiveText{"", text});
  }

  void final(const HeardSegment& segment) {
    line_.clear();
    if (options_.prints_partials) {
      Json json = Json::object({{"type", "final"}});
      const Json members = to_json(segment);
      for (const char* key : {"start", "end", "text", "language", "complete"})
        json.set(key, *members.member(key));
      print_line(json);
    } else if (options_.format == ListenFormat::text && !segment.transcript.text.empty()) {
      const std::string time = io_.styled(Style::dim, fmt::format("[{}]", clock_time(segment.start_s)));
      io_.print("{} {}\n", time, printable(segment.transcript.text));
      io_.flush();
    }
  }

 private:
  static Json json_of(double start_s, const AsrPartial& partial) {
    return Json::object({{"type", "partial"},
                         {"start", start_s},
                         {"end", start_s + partial.seconds},
                         {"text", partial.transcript.text},
                         {"stable", partial.stable},
                         {"language", partial.transcript.language}});
  }

  void print_line(const Json& json) const {
    io_.print("{}\n", json.line());
    io_.flush();
  }

  const Console& io_;
  const ListenOptions& options_;
  LiveLine line_;
  uint64_t revision_ = 0;
};

// Samples in, transcripts of stretches of speech out.
class LiveListener {
 public:
  LiveListener(LiveOutput& output, std::unique_ptr<AsrStream> stream, bool may_wait)
      : output_(output), stream_(std::move(stream)), may_wait_(may_wait) {}

  // Without a detector, everything is one stretch of speech.
  void detect_speech_with(std::shared_ptr<const SileroModel> model, const TurnOptions& options) {
    detector_.emplace(std::move(model), options);
  }

  Result<void> take(std::span<const float> samples) {
    n_heard_ += std::ssize(samples);
    if (detector_) {
      detector_->feed(samples, on_event_, on_audio_);
    } else {
      feed(samples);
      is_speaking_ = true;
    }
    if (is_speaking_ && state_) output_.partial(seconds_of(first_sample_), stream_->partial());
    return state_;
  }

  // The sound has ended.
  Result<Heard> finish() {
    if (detector_) {
      detector_->flush(on_event_, on_audio_);
    } else {
      finish_everything();
    }
    PARLANCE_CHECK(state_);
    heard_.audio_s = seconds_of(n_heard_);
    if (detector_) heard_.transcript = join_segments(heard_.segments);
    return std::move(heard_);
  }

 private:
  void on_event(const TurnEvent& event) {
    switch (event.kind) {
      case TurnEvent::Kind::speech_start:
        is_speaking_ = true;
        first_sample_ = event.first_sample;
        break;
      case TurnEvent::Kind::speech_active:
        break;
      case TurnEvent::Kind::speech_pause:
        // Perhaps this is the end: its transcript is made now, and what follows waits until it is needed.
        stream_->pause();
        is_paused_ = true;
        break;
      case TurnEvent::Kind::speech_resume:
        is_paused_ = false;
        feed(withheld_);
        withheld_.clear();
        break;
      case TurnEvent::Kind::speech_end:
        if (const auto heard = end_stretch()) add_turn(event, *heard);
        break;
      case TurnEvent::Kind::blip:
        end_stretch();
        break;
    }
  }

  void on_audio(std::span<const float> samples) {
    if (is_paused_) {
      withheld_.insert(withheld_.end(), samples.begin(), samples.end());
    } else {
      feed(samples);
    }
  }

  void feed(std::span<const float> samples) {
    if (state_ && may_wait_) state_ = wait_for_recognizer();
    if (state_) state_ = stream_->feed(samples);
    n_fed_ += std::ssize(samples);
  }

  // A source that can wait does so rather than fill memory with what is not recognised yet. A stream never
  // stays further behind: by then it has looked at what came before.
  Result<void> wait_for_recognizer() {
    constexpr double kMostBehindSeconds = 400;
    constexpr auto kRest = std::chrono::milliseconds(10);
    while (seconds_of(n_fed_) - stream_->partial().seconds > kMostBehindSeconds) {
      PARLANCE_CHECK(stream_->feed({}));  // whether it still works
      std::this_thread::sleep_for(kRest);
    }
    return {};
  }

  // The transcript since the stretch began; none after an error.
  std::optional<Transcription> end_stretch() {
    is_speaking_ = is_paused_ = false;
    withheld_.clear();
    n_fed_ = 0;
    if (!state_) return std::nullopt;
    Result<Transcription> heard = stream_->finish();
    if (heard) return *std::move(heard);
    state_ = tl::unexpected<Error>(heard.error());
    return std::nullopt;
  }

  void add(HeardSegment segment) {
    output_.final(segment);
    heard_.segments.push_back(std::move(segment));
  }

  void add_turn(const TurnEvent& event, const Transcription& heard) {
    const bool is_complete = std::all_of(heard.segments.begin(), heard.segments.end(),
                                         [](const AsrSegment& segment) { return segment.is_complete; });
    add({seconds_of(event.speech_start), seconds_of(event.speech_end), heard.transcript, is_complete});
  }

  void finish_everything() {
    const auto heard = end_stretch();
    if (!heard) return;
    for (const AsrSegment& segment : heard->segments) {
      add({segment.start_seconds, segment.end_seconds, segment.transcript, segment.is_complete});
    }
    heard_.transcript = heard->transcript;
  }

  LiveOutput& output_;
  const std::unique_ptr<AsrStream> stream_;
  const bool may_wait_;
  std::optional<SpeechDetector> detector_;
  const std::function<void(const TurnEvent&)> on_event_ = [this](const TurnEvent& event) { on_event(event); };
  const std::function<void(std::span<const float>, int64_t)> on_audio_ =
      [this](std::span<const float> samples, int64_t) { on_audio(samples); };

  Result<void> state_;  // of the recogniser: the first error
  bool is_speaking_ = false, is_paused_ = false;
  std::vector<float> withheld_;  // of a pause
  int64_t first_sample_ = 0;     // of the stretch of speech, in the whole sound
  int64_t n_fed_ = 0;            // samples of the stretch
  int64_t n_heard_ = 0;          // samples of the whole sound
  Heard heard_;
};

// None for the microphone, which is opened when everything else is ready.
Result<std::unique_ptr<SoundSource>> open_patient_source(const Console& io, const ListenOptions& options) {
  if (options.file.empty()) return nullptr;
  if (options.file == "-") return open_standard_input(io.in, options.pcm);
  return open_recording(options.file);
}

Result<std::unique_ptr<SoundSource>> start_microphone(const Console& io, const ListenOptions& options,
                                                      std::function<bool()> is_over) {
  std::string name;
  PARLANCE_TRY(auto source, open_microphone_source(options.microphone, std::move(is_over), name));
  if (io.err_is_terminal) io.note(fmt::format("listening to {}; Ctrl-C ends", name));
  return source;
}

}  // namespace

Result<int> listen_live(const Console& io, const ListenOptions& options) {
  PARLANCE_TRY(auto source, open_patient_source(io, options));
  PARLANCE_TRY(const auto detector, load_detector_if_any(options.models));
  PARLANCE_TRY(const LoadedRecognizer loaded, load_recognizer(options));
  PARLANCE_TRY(auto stream, loaded.recognizer->open(options.request));
  if (!detector) {
    io.note("no weights of a voice detector: everything is taken as speech; name some with --vad FILE");
  }
  const InterruptGuard guard;
  if (!source) {
    PARLANCE_TRY(source, start_microphone(io, options, [&] { return guard.interrupted(); }));
  }

  LiveOutput output(io, options);
  LiveListener listener(output, std::move(stream), source->is_patient());
  if (detector) listener.detect_speech_with(detector, options.speech.in_streams());
  const auto start = std::chrono::steady_clock::now();
  std::vector<float> piece;
  for (bool goes_on = true; goes_on && !(source->is_patient() && guard.interrupted());) {
    piece.clear();
    PARLANCE_TRY(goes_on, source->read(piece));
    PARLANCE_CHECK(listener.take(piece));
  }
  PARLANCE_TRY(Heard heard, listener.finish());
  if (options.is_streamed) {
    heard.processing_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  if (source->n_lost() > 0) {
    io.warn(
        fmt::format("sound was lost {} times, as the recogniser is slower than speech here; use a smaller "
                    "model or a faster --device",
                    source->n_lost()));
  }
  if (options.format != ListenFormat::text && !options.prints_partials) {
    print_heard(io, options.format, heard, {{"model", loaded.text_name}, {"encoder", loaded.encoder_name}});
  }
  // Ctrl-C is how listening to a microphone ends.
  return guard.interrupted() && source->is_patient() ? kInterrupted : kSuccess;
}

}  // namespace parlance
