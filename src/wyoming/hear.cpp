#include <optional>

#include "asr/languages.h"
#include "assistant/transcriber.h"
#include "audio/pcm_stream.h"
#include "wyoming/services.h"

namespace parlance {

namespace {

struct ChunkFormat {
  int64_t rate = 16000, width = 2, channels = 1;
  bool operator==(const ChunkFormat&) const = default;
};

// What an event says of it; what it does not say is as before.
Result<ChunkFormat> format_of(const WyomingEvent& event, ChunkFormat format = {}) {
  const auto read = [&](const char* name, int64_t& value, int64_t least, int64_t most) -> Result<void> {
    const auto given = event.data.member(name);
    if (!given || given->is_null()) return {};
    const auto number = given->integer();
    if (!number || *number < least || *number > most) {
      return fail(ErrorCode::invalid_argument, "{}: {} must be from {} to {}", event.type, name, least, most);
    }
    value = *number;
    return {};
  };
  PARLANCE_CHECK(read("rate", format.rate, 8000, 96000));
  PARLANCE_CHECK(read("width", format.width, 1, 4));
  PARLANCE_CHECK(read("channels", format.channels, 1, 8));
  return format;
}

PcmFormat pcm_format(const ChunkFormat& format) {
  constexpr PcmEncoding kOfWidth[] = {PcmEncoding::u8, PcmEncoding::s16, PcmEncoding::s24, PcmEncoding::s32};
  return {.encoding = kOfWidth[format.width - 1],
          .sample_rate_hz = static_cast<int>(format.rate),
          .n_channels = static_cast<int>(format.channels)};
}

Json at_seconds(double seconds) {
  return Json::object({{"timestamp", static_cast<int64_t>(1000 * seconds)}});
}

// Tells the client what is heard. Text is sent when its stretch of speech has ended, since nothing that was
// sent can be taken back, and the pieces are to be the whole.
class Telling final : public TranscriberListener {
 public:
  explicit Telling(JobPort& port) : port_(port) {}

  void on_partial(double start_s, const AsrPartial&) override { begin_speech(start_s); }
  void on_segment(const HeardSegment& segment) override {
    begin_speech(segment.start_s);
    speech_start_s_.reset();
    port_.send({.type = "voice-stopped", .data = at_seconds(segment.end_s)});
    segments_.push_back(segment);
    tell(join_segments(segments_).text);
  }

  // All of the text that has not been sent.
  void tell(const std::string& text) {
    if (text.size() <= told_.size() || !text.starts_with(told_)) return;
    if (told_.empty()) port_.send({.type = "transcript-start"});
    port_.send({.type = "transcript-chunk", .data = Json::object({{"text", text.substr(told_.size())}})});
    told_ = text;
  }

  bool has_told() const { return !told_.empty(); }

 private:
  void begin_speech(double start_s) {
    if (speech_start_s_) return;
    speech_start_s_ = start_s;
    port_.send({.type = "voice-started", .data = at_seconds(start_s)});
  }

  JobPort& port_;
  std::vector<HeardSegment> segments_;
  std::string told_;
  std::optional<double> speech_start_s_;  // of what is being said
};

}  // namespace

Result<void> hear_for_wyoming(Regions& regions, const WyomingSetup& setup, const WyomingEvent& first,
                              JobPort& port) {
  PARLANCE_TRY(const ChunkFormat format, format_of(first));
  TranscriberOptions options;
  if (const std::string language = first.text("language"); !language.empty()) {
    // "de-AT" is heard as German.
    PARLANCE_TRY(const SpeechLanguage known,
                 find_speech_language(language.substr(0, language.find_first_of("-_"))));
    options.request.language = std::string(known.name);
  }
  options.sample_rate_hz = static_cast<int>(format.rate);
  options.may_wait = true;
  PARLANCE_TRY(const auto ears, regions.asr.acquire());
  const auto detector = regions.vad.acquire();
  Telling telling(port);
  PARLANCE_TRY(const auto transcriber,
               Transcriber::open(ears, detector ? *detector : nullptr, options, telling));
  PARLANCE_TRY(PcmStream pcm, PcmStream::raw("the sound", pcm_format(format)));
  int64_t n_samples = 0;
  std::vector<float> samples;
  while (const auto event = port.next()) {
    if (event->type != "audio-chunk") continue;
    PARLANCE_TRY(const ChunkFormat same, format_of(*event, format));
    if (same != format) {
      return fail(ErrorCode::invalid_argument,
                  "audio-chunk: the sound's format changed; send what audio-start said");
    }
    samples.clear();
    PARLANCE_CHECK(pcm.push(std::as_bytes(std::span(event->payload)), samples));
    n_samples += std::ssize(samples);
    if (static_cast<double>(n_samples) > setup.most_seconds * static_cast<double>(format.rate)) {
      return fail(ErrorCode::invalid_argument, "the sound is longer than {} seconds; send it in parts",
                  setup.most_seconds);
    }
    PARLANCE_CHECK(transcriber->feed(samples));
  }
  if (port.ticket().cancelled()) return {};
  PARLANCE_TRY(const Heard heard, transcriber->finish());
  const std::string& text = heard.transcript.text;
  telling.tell(text);
  const auto spoken = find_speech_language(heard.transcript.language);
  port.send({.type = "transcript",
             .data = Json::object({{"text", text}, {"language", spoken ? Json(spoken->code) : Json()}})});
  if (telling.has_told()) port.send({.type = "transcript-stop"});
  return {};
}

}  // namespace parlance
