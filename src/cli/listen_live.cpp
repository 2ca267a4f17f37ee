#include "cli/listen_live.h"

#include <chrono>
#include <functional>
#include <memory>

#include "assistant/events.h"
#include "assistant/regions.h"
#include "assistant/sound_source.h"
#include "assistant/transcriber.h"
#include "cli/listen_report.h"
#include "cli/open_text.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/live_line.h"

namespace parlance {

namespace {

// What people and programs get to see while the sound goes on.
class LiveOutput final : public TranscriberListener {
 public:
  LiveOutput(const Console& io, const ListenOptions& options) : io_(io), options_(options), line_(io) {}

  void on_partial(double start_s, const AsrPartial& partial) override {
    const std::string& text = partial.transcript.text;
    if (options_.prints_partials) {
      if (!text.empty()) print_line(PartialEvent{start_s, partial});
      return;
    }
    const bool has_stable = text.starts_with(partial.stable);
    line_.show(has_stable ? LiveText{partial.stable, text.substr(partial.stable.size())}
                          : LiveText{"", text});
  }

  void on_segment(const HeardSegment& segment) override {
    line_.clear();
    if (options_.prints_partials) {
      print_line(SegmentEvent{segment});
    } else if (options_.format == ListenFormat::text && !segment.transcript.text.empty()) {
      const std::string time = io_.styled(Style::dim, fmt::format("[{}]", clock_time(segment.start_s)));
      io_.print("{} {}\n", time, printable(segment.transcript.text));
      io_.flush();
    }
  }

 private:
  void print_line(const AssistantEvent& event) const {
    io_.print("{}\n", to_json(event).line());
    io_.flush();
  }

  const Console& io_;
  const ListenOptions& options_;
  LiveLine line_;
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
  Regions regions(options.models, warnings_to(io));
  std::shared_ptr<VadRegion> detector;
  if (auto found = regions.vad.acquire()) {
    detector = *std::move(found);
  } else if (found.error().code != ErrorCode::not_found || !options.models.files.vad.empty()) {
    return tl::unexpected(found.error());
  }
  PARLANCE_TRY(const auto ears, regions.asr.acquire());
  if (!detector) {
    io.note("no weights of a voice detector: everything is taken as speech; name some with --vad FILE");
  }
  const InterruptGuard guard;
  if (!source) {
    PARLANCE_TRY(source, start_microphone(io, options, [&] { return guard.interrupted(); }));
  }

  LiveOutput output(io, options);
  PARLANCE_TRY(const auto listener, Transcriber::open(ears, detector,
                                                      {.request = options.request,
                                                       .turns = options.speech.in_streams(),
                                                       .may_wait = source->is_patient()},
                                                      output));
  const auto start = std::chrono::steady_clock::now();
  std::vector<float> piece;
  for (bool goes_on = true; goes_on && !(source->is_patient() && guard.interrupted());) {
    piece.clear();
    PARLANCE_TRY(goes_on, source->read(piece));
    PARLANCE_CHECK(listener->feed(piece));
  }
  PARLANCE_TRY(Heard heard, listener->finish());
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
    print_heard(io, options.format, heard,
                {{"model", ears->text_name},
                 {"encoder", ears->encoder_name},
                 {"device", std::string(ears->device->name())}});
  }
  // Ctrl-C is how listening to a microphone ends.
  return guard.interrupted() && source->is_patient() ? kInterrupted : kSuccess;
}

}  // namespace parlance
