// POST /v1/audio/speech.
#include "assistant/speech.h"

#include <algorithm>
#include <condition_variable>

#include "audio/sound_encoder.h"
#include "server/site.h"
#include "server/voices.h"
#include "text/base64.h"
#include "text/unicode.h"
#include "tts/text/voice_design.h"

namespace parlance {

namespace {

using SpeechClock = std::chrono::steady_clock;

struct SpeechTerms {
  SpeechRequest request;
  std::string voice;                      // its preset
  std::string reference, reference_text;  // a recording to speak like, as a file's bytes
  SoundFormat format = SoundFormat::mp3;
  bool is_streamed = true;  // else the length is known before the first byte
  bool is_sse = false;
  std::vector<std::string> ignored;
};

ApiResult<SpeechTerms> read_speech(const Site& site, const Call& call) {
  PARLANCE_API_TRY(const Json json, parse_body(call.request.body));
  PARLANCE_API_TRY(CheckedBody checked,
                   check_fields(speech_fields(), json, {.is_strict = site.options.is_strict, .n_ctx = 0}));
  const Body& body = checked.body;
  SpeechTerms terms;
  terms.ignored = checked.ignored;
  const auto input = body.text("input");
  if (!input)
    return refuse("missing_required_parameter", "input", "there is no input; give the text to be said");
  PARLANCE_API_CHECK(find_offer(site, body.text("model"), ModelKind::tts));
  PARLANCE_API_TRY(terms.voice, find_offered_voice(site, body));
  SpeechRequest& r = terms.request;
  r.text = *input;
  r.language = body.text("language").value_or("");
  r.speed = static_cast<float>(body.number("speed").value_or(1));
  r.quality = site.options.speech_quality;
  if (const auto seed = body.integer("seed")) r.decoding.seed = static_cast<uint64_t>(*seed);
  if (const auto steps = body.integer("steps")) {
    if (*steps < 1) return refuse("invalid_value", "steps", "steps is {}; expected 1 or more", *steps);
    r.decoding.n_step = static_cast<int>(std::clamp<int64_t>(*steps, 1, INT32_MAX));
  }
  if (const auto guidance = body.number("guidance")) r.decoding.guidance = static_cast<float>(*guidance);
  if (const auto options = check_decoding(r); !options) {
    return refuse("invalid_value", body.has("steps") ? "steps" : "guidance", "{}",
                  api_error(options.error()).message);
  }
  if (const auto instructions = body.text("instructions")) {
    if (resolve_voice_design(*instructions, false)) {
      r.instruct = *instructions;
    } else {
      terms.ignored.push_back("instructions");
    }
  }
  if (const auto reference = body.text("ref_audio")) {
    const auto bytes = from_base64(*reference);
    if (!bytes) return refuse("invalid_value", "ref_audio", "ref_audio is not base64");
    terms.reference = *bytes;
    terms.reference_text = body.text("ref_text").value_or("");
  }
  terms.format = *sound_format_from_name(body.text("response_format").value_or("mp3"));
  terms.is_sse = body.text("stream_format") == "sse";
  terms.is_streamed = terms.format != SoundFormat::wav || body.has("stream_format");
  r.checks_pace = !terms.is_streamed && r.quality != SpeechQuality::exact;
  r.cancellation = call.reply->ticket();
  r.chunking = kStreamedChunking;
  return terms;
}

ApiResult<Voice> voice_for(const Narrator& narrator, const SpeechTerms& terms) {
  if (terms.reference.empty()) {
    PARLANCE_API_TRY(Voice voice, narrator.voice({.name = terms.voice}, terms.request.cancellation));
    return voice;
  }
  const auto invalid = [](const Error& error) {
    ApiError refusal = api_error(error);
    if (refusal.status == 400 || refusal.status == 500) {
      refusal = {.status = 400, .code = "invalid_audio", .message = error.message, .param = "ref_audio"};
    }
    return tl::unexpected(std::move(refusal));
  };
  VoiceChoice how;
  suit_quality(how, terms.request.quality);
  const auto samples = read_for_codec(std::as_bytes(std::span(terms.reference)), "ref_audio");
  if (!samples) return tl::unexpected(sound_error(samples.error(), "ref_audio"));
  auto voice =
      narrator.voice_of(*samples, "ref_audio", terms.reference_text, how, terms.request.cancellation);
  if (!voice) return invalid(voice.error());
  return *std::move(voice);
}

// Sends sound as it becomes final.
class SpeechSender {
 public:
  SpeechSender(const Call& call, const SpeechTerms& terms, SoundEncoder encoder)
      : reply_(call.reply), terms_(terms), encoder_(std::move(encoder)) {}

  bool take(std::span<const float> samples) {
    auto bytes = encoder_.push(samples);
    if (!bytes) {
      failure_ = bytes.error();
      return false;
    }
    send(*std::move(bytes));
    return !reply_->ticket().cancelled() && wait_for_room();
  }

  void finish(const SpeechReport& report, size_t n_text_tokens) {
    auto bytes = encoder_.finish();
    if (!bytes) return fail_with(bytes.error());
    send(*std::move(bytes));
    if (terms_.is_sse) send_done(report, n_text_tokens);
    if (!terms_.is_streamed) {
      HttpAnswer answer = head();
      answer.body = std::move(whole_);
      if (terms_.format == SoundFormat::wav) tell_wav_length(answer.body, kSpeechRateHz);
      return reply_->send(std::move(answer));
    }
    begin();
    reply_->end();
  }

  void fail_with(const Error& error) {
    if (!has_begun_) return reply_->send(answer_of(api_error(failure_.value_or(error))));
    reply_->break_off();
  }

 private:
  HttpAnswer head() const {
    HttpAnswer answer{.fields = {{"content-type", terms_.is_sse ? "text/event-stream; charset=utf-8"
                                                                : std::string(media_type_of(terms_.format))},
                                 {"x-parlance-sample-rate", std::to_string(kSpeechRateHz)},
                                 {"x-parlance-voice", terms_.reference.empty() ? terms_.voice : "reference"}},
                      .body = {}};
    if (const std::string ignored = ignored_text(terms_.ignored); !ignored.empty()) {
      answer.fields.push_back({"x-parlance-ignored", ignored});
    }
    return answer;
  }
  void begin() {
    if (!std::exchange(has_begun_, true)) reply_->begin(head());
  }
  void send(std::string bytes) {
    if (bytes.empty()) return;
    if (!terms_.is_streamed) {
      whole_ += bytes;
      return;
    }
    begin();
    if (!terms_.is_sse) return reply_->write(std::move(bytes));
    reply_->write(
        "data: " + Json::object({{"type", "speech.audio.delta"}, {"audio", to_base64(bytes)}}).line() +
        "\n\n");
  }
  void send_done(const SpeechReport& report, size_t n_text_tokens) {
    int64_t n_frames = 0;
    for (const SpokenChunk& chunk : report.chunks) n_frames += chunk.codes.n_frames();
    begin();
    const auto n_text = static_cast<int64_t>(n_text_tokens);
    reply_->write("data: " +
                  Json::object({{"type", "speech.audio.done"},
                                {"usage", Json::object({{"input_tokens", n_text},
                                                        {"output_tokens", n_frames},
                                                        {"total_tokens", n_text + n_frames}})}})
                      .line() +
                  "\n\n");
  }
  // The thread that speaks waits for a client that reads slowly; the connection ends if it never reads.
  bool wait_for_room() {
    while (reply_->n_unsent() > Reply::kMuchUnsent && !reply_->ticket().cancelled()) {
      std::mutex mutex;
      std::condition_variable taken;
      bool is_taken = false;
      reply_->when_taken([&] {
        const std::lock_guard lock(mutex);
        is_taken = true;
        taken.notify_one();
      });
      std::unique_lock lock(mutex);
      taken.wait(lock, [&] { return is_taken; });
    }
    return !reply_->ticket().cancelled();
  }

  const std::shared_ptr<Reply> reply_;
  const SpeechTerms& terms_;
  SoundEncoder encoder_;
  std::string whole_;
  bool has_begun_ = false;
  std::optional<Error> failure_;
};

ApiResult<void> say_to(Site& site, const Call& call, SpeechTerms terms) {
  PARLANCE_API_TRY(auto region, site.regions.tts.acquire());
  const Narrator narrator(std::move(region), hear_with([&site] { return site.regions.asr.acquire(); }));
  PARLANCE_API_TRY(SoundEncoder encoder, SoundEncoder::open(terms.format, kSpeechRateHz));
  SpeechSender sender(call, terms, std::move(encoder));
  if (!can_be_said(terms.request.text)) {
    sender.finish({}, 0);
    return {};
  }
  PARLANCE_API_TRY(terms.request.voice, voice_for(narrator, terms));
  const auto began = SpeechClock::now();
  const auto report = narrator.stream(terms.request, [&](std::span<const float> samples, bool is_last) {
    return is_last || sender.take(samples);
  });
  if (!report) {
    sender.fail_with(report.error());
    return {};
  }
  const double took = std::chrono::duration<double>(SpeechClock::now() - began).count();
  const double length = static_cast<double>(report->n_samples) / kSpeechRateHz;
  if (length > 0) site.metrics.observe("tts_real_time_factor", took / length);
  site.metrics.add("requests_finished_total", 1, {{"kind", "speech"}, {"reason", "stop"}});
  sender.finish(*report, narrator.region().model->tokenizer().encode(terms.request.text).size());
  return {};
}

}  // namespace

ApiResult<void> speak(Site& site, Call& call) {
  PARLANCE_API_TRY(SpeechTerms terms, read_speech(site, call));
  log_content(site, call.request.id, "speech", terms.request.text);
  const auto shared = std::make_shared<std::pair<Call, SpeechTerms>>(std::move(call), std::move(terms));
  call.reply = shared->first.reply;
  const bool is_posted = site.sound.post([&site, shared] {
    if (shared->first.reply->ticket().cancelled()) return;
    if (const auto done = say_to(site, shared->first, shared->second); !done)
      send_error(shared->first, done.error());
    note_cancelled(site, *shared->first.reply, "tts");
  });
  if (is_posted) return {};
  return tl::unexpected(
      try_again(503, "server_overloaded", "too many requests for sound wait; try again later", 2));
}

}  // namespace parlance
