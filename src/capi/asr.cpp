// Sound to text.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <optional>

#include "assistant/transcriber.h"
#include "audio/resampler.h"
#include "base/log.h"
#include "capi/context.h"

namespace parlance::capi {

namespace {

using Clock = std::chrono::steady_clock;

// Samples at the recogniser's rate.
class RecogniserSamples {
 public:
  static Answer<RecogniserSamples> of(std::span<const float> samples, int sample_rate_hz) {
    RecogniserSamples own;
    own.samples_ = samples;
    if (sample_rate_hz == kMelSampleRateHz) return own;
    CAPI_TRY(own.resampled_, resample(samples, sample_rate_hz, kMelSampleRateHz));
    own.samples_ = own.resampled_;
    return own;
  }
  std::span<const float> samples() const { return samples_; }

 private:
  std::vector<float> resampled_;
  std::span<const float> samples_;
};

// For whoever looks for what goes wrong; what was said is nobody's business.
void log_transcript(const BundleContext& context, std::string_view how, double seconds,
                    Clock::time_point start, const Transcript& heard) {
  if (!context.knobs().is_debugging_asr) return;
  log_info("asr, {}: {:.2f} seconds of sound in {:.1f} ms, {} bytes of text, language '{}'", how, seconds,
           std::chrono::duration<double, std::milli>(Clock::now() - start).count(), heard.text.size(),
           heard.language);
}

Answer<Heard> hear(const BundleContext& context, const AsrRegion& ears, std::span<const float> samples) {
  const auto start = Clock::now();
  CAPI_TRY(Heard heard, hear_recording(*ears.recognizer, samples, context.knobs().recognition));
  log_transcript(context, "recording", static_cast<double>(samples.size()) / kMelSampleRateHz, start,
                 heard.transcript);
  return heard;
}

Answer<int> transcribe(EliInferenceContext* ctx, const float* pcm, size_t n_samples, int sample_rate_hz,
                       char* out_text, size_t max_text_bytes) {
  CAPI_TRY(const auto context, context_of(ctx));
  CAPI_CHECK(check_room(out_text, max_text_bytes));
  if (n_samples == 0) return 0;
  CAPI_CHECK(check_rate(sample_rate_hz));
  CAPI_TRY(const auto given, samples_of("pcm", pcm, n_samples));
  CAPI_TRY(const auto ears, context->asr());
  CAPI_TRY(const auto own, RecogniserSamples::of(given, sample_rate_hz));
  CAPI_TRY(const Heard heard, hear(*context, *ears, own.samples()));
  return write_text(heard.transcript.text, out_text, max_text_bytes);
}

struct TimedPlaces {
  int* start_ms;
  int* end_ms;
  size_t* io_n_words;
};

void write_words(const Heard& heard, const TimedPlaces& out) {
  size_t n = 0;
  for (const HeardSegment& segment : heard.segments) {
    for (const TimedWord& word : segment.words) {
      if (n == *out.io_n_words) return;
      out.start_ms[n] = static_cast<int>(std::lround(1000 * word.start_seconds));
      out.end_ms[n] = static_cast<int>(std::lround(1000 * word.end_seconds));
      ++n;
    }
  }
  *out.io_n_words = n;
}

Answer<int> transcribe_timed(EliInferenceContext* ctx, const float* pcm, size_t n_samples, int sample_rate_hz,
                             char* out_text, size_t max_text_bytes, const TimedPlaces& out) {
  CAPI_TRY(const auto context, context_of(ctx));
  CAPI_CHECK(check_room(out_text, max_text_bytes));
  CAPI_CHECK(check_not_null("out_start_ms", out.start_ms));
  CAPI_CHECK(check_not_null("out_end_ms", out.end_ms));
  CAPI_CHECK(check_not_null("io_n_words", out.io_n_words));
  if (n_samples == 0) {
    *out.io_n_words = 0;
    return 0;
  }
  CAPI_CHECK(check_rate(sample_rate_hz));
  CAPI_TRY(const auto given, samples_of("pcm", pcm, n_samples));
  CAPI_TRY(const auto ears, context->asr());
  CAPI_TRY(const auto aligner, context->aligner());
  CAPI_TRY(const auto own, RecogniserSamples::of(given, sample_rate_hz));
  CAPI_TRY(Heard heard, hear(*context, *ears, own.samples()));
  std::optional<Error> why;
  CAPI_CHECK(time_words(*aligner->aligner, own.samples(), heard,
                        [&](const HeardSegment&, const Error& error) { why = error; }));
  if (why) return tl::unexpected<Refusal>(Refusal(*std::move(why)));
  write_words(heard, out);
  return write_text(heard.transcript.text, out_text, max_text_bytes);
}

// A stream from any rate, and what is said of it: text, and its tokens for whoever asks.
class HeardStream {
 public:
  static constexpr HandleKind kKind = HandleKind::asr_stream;

  static Answer<std::shared_ptr<HeardStream>> open(std::shared_ptr<BundleContext> context,
                                                   int sample_rate_hz) {
    auto stream = std::make_shared<HeardStream>();
    CAPI_TRY(stream->ears_, context->asr());
    stream->context_ = std::move(context);
    CAPI_TRY(stream->stream_, stream->ears_->recognizer->open(stream->context_->knobs().recognition));
    if (sample_rate_hz != kMelSampleRateHz) {
      CAPI_TRY(stream->resampler_, Resampler::create(sample_rate_hz, kMelSampleRateHz));
    }
    return stream;
  }

  Answer<void> feed(std::span<const float> samples) {
    const std::lock_guard lock(feeding_);
    if (said()) {
      return refuse(ELIZA_ERR_INVALID_ARG, "the stream has been finished; open another one for more sound");
    }
    if (!resampler_) return give(samples);
    std::vector<float> resampled;
    CAPI_CHECK(resampler_->push(samples, resampled));
    return give(resampled);
  }

  // Never waits, not even for finish().
  Answer<std::string> partial() const {
    if (auto all = said()) return *std::move(all);
    if (auto failure = stream_->failure()) return tl::unexpected<Refusal>(Refusal(*std::move(failure)));
    return stream_->partial().transcript.text;
  }

  Answer<std::string> finish() {
    const std::lock_guard lock(feeding_);
    if (auto all = said()) return *std::move(all);
    if (resampler_) {
      std::vector<float> rest;
      CAPI_CHECK(resampler_->finish(rest));
      CAPI_CHECK(give(rest));
    }
    const auto start = Clock::now();
    CAPI_TRY(const Transcription heard, stream_->finish());
    log_transcript(*context_, "stream", seconds_, start, heard.transcript);
    const std::lock_guard saying(said_);
    final_ = heard.transcript.text;
    return *final_;
  }

  // In the vocabulary of the language model that is going to read it.
  Answer<std::vector<Token>> tokens_of(const std::string& text) const {
    CAPI_TRY(const auto vocabulary, context_->vocabulary());
    return vocabulary->encode(text);
  }

 private:
  Answer<void> give(std::span<const float> samples) {
    CAPI_CHECK(stream_->feed(samples));
    seconds_ += static_cast<double>(samples.size()) / kMelSampleRateHz;
    return {};
  }

  // All of it, once it has been finished.
  std::optional<std::string> said() const {
    const std::lock_guard lock(said_);
    return final_;
  }

  std::shared_ptr<BundleContext> context_;
  std::shared_ptr<AsrRegion> ears_;
  std::unique_ptr<AsrStream> stream_;
  std::mutex feeding_;
  std::optional<Resampler> resampler_;  // where the rate is not the recogniser's
  double seconds_ = 0;                  // that were fed
  mutable std::mutex said_;
  std::optional<std::string> final_;
};

Answer<int> feed_stream(EliAsrStream* handle, const float* pcm, size_t n_samples) {
  CAPI_TRY(const auto stream, object_of<HeardStream>("stream", handle));
  if (n_samples == 0) return 0;
  CAPI_TRY(const auto samples, samples_of("pcm", pcm, n_samples));
  CAPI_CHECK(stream->feed(samples));
  return static_cast<int>(std::min<size_t>(n_samples, INT32_MAX));
}

struct TextPlaces {
  char* text;
  size_t max_bytes;
  int* tokens;
  size_t* io_n_tokens;
};

// What `ask` says of a stream, to where the caller wants it.
Answer<int> tell(EliAsrStream* handle, const TextPlaces& out, Answer<std::string> (*ask)(HeardStream&)) {
  CAPI_TRY(const auto stream, object_of<HeardStream>("stream", handle));
  CAPI_CHECK(check_room(out.text, out.max_bytes));
  CAPI_TRY(const std::string text, ask(*stream));
  if (out.tokens && out.io_n_tokens) {
    CAPI_TRY(const std::vector<Token> tokens, stream->tokens_of(text));
    write_tokens(tokens, out.tokens, out.io_n_tokens);
  }
  return write_text(text, out.text, out.max_bytes);
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance::capi;

int eliza_inference_asr_transcribe(EliInferenceContext* ctx, const float* pcm, size_t n_samples,
                                   int sample_rate_hz, char* out_text, size_t max_text_bytes,
                                   char** out_error) {
  return answer_with(
      out_error, [&] { return transcribe(ctx, pcm, n_samples, sample_rate_hz, out_text, max_text_bytes); });
}

int eliza_inference_asr_timestamps_supported() {
  return 1;
}

int eliza_inference_asr_transcribe_timed(EliInferenceContext* ctx, const float* pcm, size_t n_samples,
                                         int sample_rate_hz, char* out_text, size_t max_text_bytes,
                                         int* out_start_ms, int* out_end_ms, size_t* io_n_words,
                                         char** out_error) {
  return answer_with(out_error, [&] {
    return transcribe_timed(ctx, pcm, n_samples, sample_rate_hz, out_text, max_text_bytes,
                            {out_start_ms, out_end_ms, io_n_words});
  });
}

int eliza_inference_asr_stream_supported() {
  return 1;
}

EliAsrStream* eliza_inference_asr_stream_open(EliInferenceContext* ctx, int sample_rate_hz,
                                              char** out_error) {
  return handle_with<EliAsrStream>(out_error, [&]() -> Answer<void*> {
    CAPI_TRY(auto context, context_of(ctx));
    CAPI_CHECK(check_rate(sample_rate_hz));
    CAPI_TRY(auto stream, HeardStream::open(std::move(context), sample_rate_hz));
    return opened_in(ctx, std::move(stream));
  });
}

int eliza_inference_asr_stream_feed(EliAsrStream* stream, const float* pcm, size_t n_samples,
                                    char** out_error) {
  return answer_with(out_error, [&] { return feed_stream(stream, pcm, n_samples); });
}

int eliza_inference_asr_stream_partial(EliAsrStream* stream, char* out_text, size_t max_text_bytes,
                                       int* out_tokens, size_t* io_n_tokens, char** out_error) {
  return answer_with(out_error, [&] {
    return tell(stream, {out_text, max_text_bytes, out_tokens, io_n_tokens},
                [](HeardStream& heard) { return heard.partial(); });
  });
}

int eliza_inference_asr_stream_finish(EliAsrStream* stream, char* out_text, size_t max_text_bytes,
                                      int* out_tokens, size_t* io_n_tokens, char** out_error) {
  return answer_with(out_error, [&] {
    return tell(stream, {out_text, max_text_bytes, out_tokens, io_n_tokens},
                [](HeardStream& heard) { return heard.finish(); });
  });
}

void eliza_inference_asr_stream_close(EliAsrStream* stream) {
  quietly([&] { handles().remove<HeardStream>(stream); });
}
