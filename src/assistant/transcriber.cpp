#include "assistant/transcriber.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "asr/languages.h"
#include "text/unicode.h"

namespace parlance {

namespace {

// Whether words of the script that the text ends in are written without spaces; such letters are wide.
bool ends_in_wide_script(const std::string& text) {
  return n_columns(last_code_point(text)) == 2;
}

bool is_complete(const Transcription& heard) {
  return std::ranges::all_of(heard.segments, &AsrSegment::is_complete);
}

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

}  // namespace

Transcript join_segments(std::span<const HeardSegment> segments) {
  Transcript joined;
  std::vector<std::string> languages;
  for (const HeardSegment& segment : segments) {
    languages.push_back(segment.transcript.language);
    const std::string& text = segment.transcript.text;
    if (text.empty()) continue;
    if (!joined.text.empty() && !ends_in_wide_script(joined.text)) joined.text += ' ';
    joined.text += text;
  }
  joined.language = merge_languages(languages);
  return joined;
}

Result<Heard> hear_recording(Recognizer& recognizer, std::span<const float> samples,
                             const AsrRequest& request, const RecordingWatch& watch,
                             const Cancellation& cancellation) {
  PARLANCE_TRY(const Transcription all, recognizer.transcribe(samples, request, watch, cancellation));
  Heard heard;
  heard.transcript = all.transcript;
  heard.audio_s = seconds_of(std::ssize(samples));
  for (const AsrSegment& segment : all.segments) {
    heard.n_tokens += segment.n_tokens;
    heard.segments.push_back(
        {segment.start_seconds, segment.end_seconds, segment.transcript, segment.is_complete});
  }
  return heard;
}

Result<Heard> hear_speech(Recognizer& recognizer, std::span<const float> samples,
                          std::span<const SpeechSegment> speech, const AsrRequest& request,
                          const RecordingWatch& watch, const Cancellation& cancellation) {
  Heard heard;
  heard.audio_s = seconds_of(std::ssize(samples));
  for (const CueRange& range : cue_ranges(speech)) {
    const double start_s = seconds_of(range.first_sample);
    const auto part = samples.subspan(static_cast<size_t>(range.first_sample),
                                      static_cast<size_t>(range.end_sample - range.first_sample));
    RecordingWatch of_part;
    if (watch.on_seconds) of_part.on_seconds = [&](double seconds) { watch.on_seconds(start_s + seconds); };
    if (watch.on_text) {
      of_part.on_text = [&](const std::string& text) {
        std::vector<HeardSegment> so_far = heard.segments;
        so_far.push_back({.transcript = {.language = {}, .text = text}});
        watch.on_text(join_segments(so_far).text);
      };
    }
    PARLANCE_TRY(const Transcription one, recognizer.transcribe(part, request, of_part, cancellation));
    for (const AsrSegment& segment : one.segments) heard.n_tokens += segment.n_tokens;
    heard.segments.push_back({start_s, seconds_of(range.end_sample), one.transcript, is_complete(one)});
  }
  heard.transcript = join_segments(heard.segments);
  return heard;
}

Result<void> time_words(Aligner& aligner, std::span<const float> samples, Heard& heard,
                        const std::function<void(const HeardSegment& segment, const Error& why)>& on_failure,
                        const Cancellation& cancellation) {
  for (HeardSegment& segment : heard.segments) {
    if (segment.transcript.text.empty()) continue;
    const auto first = static_cast<size_t>(segment.start_s * kMelSampleRateHz);
    const auto end = std::min(static_cast<size_t>(segment.end_s * kMelSampleRateHz), samples.size());
    auto words = aligner.align(samples.subspan(first, end - first), segment.transcript.text,
                               segment.transcript.language, cancellation);
    if (!words) {
      if (words.error().code == ErrorCode::cancelled) return tl::unexpected(words.error());
      on_failure(segment, words.error());
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

Result<std::unique_ptr<Transcriber>> Transcriber::open(std::shared_ptr<AsrRegion> ears,
                                                       std::shared_ptr<const VadRegion> detector,
                                                       const TranscriberOptions& options,
                                                       TranscriberListener& listener) {
  std::unique_ptr<Transcriber> transcriber(new Transcriber(std::move(ears), options, listener));
  PARLANCE_TRY(transcriber->stream_, transcriber->ears_->recognizer->open(options.request));
  if (detector) transcriber->detector_.emplace(detector->model, options.turns);
  if (options.sample_rate_hz != 0 && options.sample_rate_hz != kMelSampleRateHz) {
    PARLANCE_TRY(transcriber->resampler_, Resampler::create(options.sample_rate_hz, kMelSampleRateHz));
  }
  return transcriber;
}

Result<void> Transcriber::feed(std::span<const float> samples) {
  if (!resampler_) return hear(samples);
  std::vector<float> resampled;
  PARLANCE_CHECK(resampler_->push(samples, resampled));
  return hear(resampled);
}

Result<void> Transcriber::hear(std::span<const float> samples) {
  n_heard_ += std::ssize(samples);
  if (detector_) {
    detector_->feed(
        samples, [this](const TurnEvent& event) { on_event(event); },
        [this](std::span<const float> audio, int64_t) { on_audio(audio); });
  } else {
    give(samples);
    is_speaking_ = true;
  }
  if (!is_speaking_ || !state_) return state_;
  const AsrPartial partial = stream_->partial();
  if (partial.revision != std::exchange(revision_, partial.revision))
    listener_.on_partial(seconds_of(first_sample_), partial);
  return {};
}

Result<Heard> Transcriber::finish() {
  if (resampler_) {
    std::vector<float> rest;
    PARLANCE_CHECK(resampler_->finish(rest));
    PARLANCE_CHECK(hear(rest));
  }
  if (detector_) {
    detector_->flush([this](const TurnEvent& event) { on_event(event); },
                     [this](std::span<const float> audio, int64_t) { on_audio(audio); });
    heard_.transcript = join_segments(heard_.segments);
  } else if (const auto heard = end_stretch()) {
    for (const AsrSegment& segment : heard->segments) {
      add({segment.start_seconds, segment.end_seconds, segment.transcript, segment.is_complete});
    }
    heard_.transcript = heard->transcript;
  }
  PARLANCE_CHECK(state_);
  heard_.audio_s = seconds_of(n_heard_);
  return std::move(heard_);
}

void Transcriber::on_event(const TurnEvent& event) {
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
      give(withheld_);
      withheld_.clear();
      break;
    case TurnEvent::Kind::speech_end:
      if (const auto heard = end_stretch()) {
        add({seconds_of(event.speech_start), seconds_of(event.speech_end), heard->transcript,
             is_complete(*heard)});
      }
      break;
    case TurnEvent::Kind::blip:
      end_stretch();
      break;
  }
}

void Transcriber::on_audio(std::span<const float> samples) {
  if (is_paused_) {
    withheld_.insert(withheld_.end(), samples.begin(), samples.end());
  } else {
    give(samples);
  }
}

void Transcriber::give(std::span<const float> samples) {
  if (state_ && options_.may_wait) state_ = wait_for_recognizer();
  if (state_) state_ = stream_->feed(samples);
  n_fed_ += std::ssize(samples);
}

// A source that can wait does so rather than fill memory with what is not recognised yet. A stream never
// stays further behind: by then it has looked at what came before.
Result<void> Transcriber::wait_for_recognizer() {
  constexpr double kMostBehindSeconds = 400;
  constexpr auto kRest = std::chrono::milliseconds(10);
  while (seconds_of(n_fed_) - stream_->partial().seconds > kMostBehindSeconds) {
    if (auto failure = stream_->failure()) return tl::unexpected(*std::move(failure));
    std::this_thread::sleep_for(kRest);
  }
  return {};
}

// The transcript since the stretch began; none after an error.
std::optional<Transcription> Transcriber::end_stretch() {
  is_speaking_ = is_paused_ = false;
  withheld_.clear();
  n_fed_ = 0;
  if (!state_) return std::nullopt;
  Result<Transcription> heard = stream_->finish();
  if (heard) return *std::move(heard);
  state_ = tl::unexpected<Error>(heard.error());
  return std::nullopt;
}

void Transcriber::add(HeardSegment segment) {
  listener_.on_segment(segment);
  heard_.segments.push_back(std::move(segment));
}

}  // namespace parlance
