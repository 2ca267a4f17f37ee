#include "tts/synthesizer.h"

#include <algorithm>
#include <chrono>

#include "text/unicode.h"
#include "tts/audio/loudness.h"
#include "tts/audio/reference_audio.h"
#include "tts/audio/speech_stream.h"
#include "tts/speech_key.h"
#include "tts/text/combine.h"
#include "tts/text/duration.h"
#include "tts/text/syllables.h"
#include "tts/text/voice_design.h"

namespace parlance {

namespace {

using Clock = std::chrono::steady_clock;

// Frames that the codec decodes at once. It computes some more at both ends, so that small windows cost more
// in all, and large ones come later. The first one of a stream is as short as the chain behind it lets
// through at once: half a second that may be silence, and two fades.
constexpr int64_t kWindow = 50, kFirstStreamedWindow = 20;

// What a voice says that has no reference, so that it has one: 3.5 seconds without hard words.
constexpr std::string_view kHiddenText = "The boat came home late, and everybody went down to the water.";
constexpr std::string_view kHiddenLanguage = "English";

// From a seed to that of another attempt.
constexpr uint64_t kOtherSeed = 0x9e3779b97f4a7c15;

constexpr size_t kReferenceCacheBytes = size_t{4} << 20;
constexpr size_t kMostTextBytes = size_t{1} << 20;  // a day of speech; a wrong file must not begin it

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

tl::unexpected<Error> cancelled() {
  return fail(ErrorCode::cancelled, "speech was cancelled");
}

Result<void> check_request(const SpeechRequest& request, const CodeFormat& format) {
  PARLANCE_CHECK(check_decoding(request));
  if (request.text.size() > kMostTextBytes) {
    return fail(ErrorCode::invalid_argument, "the text has {} bytes; at most {} are spoken at once",
                request.text.size(), kMostTextBytes);
  }
  if (!(request.speed >= 0.1f && request.speed <= 10)) {
    return fail(ErrorCode::invalid_argument, "the speed {} is not between 0.1 and 10", request.speed);
  }
  const double most_seconds = static_cast<double>(kMostChunkFrames) / kFramesPerSecond;
  if (!(request.seconds >= 0 && request.seconds <= most_seconds)) {
    return fail(ErrorCode::invalid_argument, "a duration of {} s is not between 0 and {}", request.seconds,
                most_seconds);
  }
  const auto is_length = [](float seconds) { return seconds >= 0 && seconds <= 3600; };
  if (!is_length(request.chunking.chunk_seconds) || !is_length(request.chunking.threshold_seconds)) {
    return fail(ErrorCode::invalid_argument,
                "chunks of {} s from {} s of speech on: neither may be beyond 3600",
                request.chunking.chunk_seconds, request.chunking.threshold_seconds);
  }
  if (request.voice.reference.empty()) return {};
  if (request.voice.reference.n_frames() > kMostChunkFrames) {
    return fail(ErrorCode::invalid_argument,
                "the voice's reference has {} seconds, more than {}; encode 3 to 10 seconds of speech",
                request.voice.reference.n_frames() / kFramesPerSecond, most_seconds);
  }
  return check_codes(request.voice.reference, format.n_codebook, format.n_codes, "the voice");
}

// The voice in words as the prompt has it.
Result<std::string> design_of(const SpeechRequest& request) {
  const std::string& words = request.instruct.empty() ? request.voice.instruct : request.instruct;
  return resolve_voice_design(words, has_cjk(request.text));
}

}  // namespace

Synthesizer::Synthesizer(const TtsModel& model, const SynthesizerOptions& options)
    : model_(model),
      n_at_once_(std::min(model.device().n_threads(), model.codec_device().n_threads()) > 1 ? 2 : 1),
      phrases_(options.n_phrases),
      hidden_(kReferenceCacheBytes, options.hidden_folder),
      references_(kReferenceCacheBytes, options.reference_folder) {}

Synthesizer::OwnLane::OwnLane(Synthesizer& owner) : owner_(owner) {
  std::unique_lock lock(owner_.lanes_mutex_);
  owner_.has_lane_.wait(lock, [&] { return !owner_.free_.empty() || owner_.n_made_ < owner_.n_at_once_; });
  if (owner_.free_.empty()) {
    ++owner_.n_made_;
    lock.unlock();
    lane_ = std::make_unique<Lane>(owner_.model_);
  } else {
    lane_ = std::move(owner_.free_.back());
    owner_.free_.pop_back();
  }
}

Synthesizer::OwnLane::~OwnLane() {
  {
    const std::lock_guard lock(owner_.lanes_mutex_);
    owner_.free_.push_back(std::move(lane_));
  }
  owner_.has_lane_.notify_one();
}

CodeFormat Synthesizer::code_format() const {
  const OmniVoiceCodecParameters& hp = model_.codec().parameters();
  return {.n_codebook = hp.n_codebook, .n_codes = static_cast<int32_t>(hp.n_codes)};
}

// Decodes what of a chunk's sound depends on its first n_known frames alone, from where it stopped before.
Result<void> Synthesizer::decode(Lane& lane, const AudioCodes& codes, int64_t n_known, Decoding& state,
                                 const Cancellation& cancellation, OnWindow on_window) {
  const int64_t n_frames = codes.n_frames();
  AudioCodes known = codes;
  int64_t end = n_known;
  if (n_known < n_frames) {
    known = first_frames(codes, n_known);
    end -= model_.codec().margin_frames();
  }
  std::vector<float> window;
  while (state.n_done < end) {
    int64_t n = state.n_done == 0 ? state.first_window : kWindow;
    // A last window that would be short is decoded with the one before it, or with what comes later.
    if (end - state.n_done < n + kFirstStreamedWindow / 2) n = end - state.n_done;
    if (n_known < n_frames && n < kFirstStreamedWindow / 2) break;
    const auto start = Clock::now();
    window.clear();
    PARLANCE_CHECK(
        lane.codec.decode(known.codes, n_known, state.n_done, state.n_done + n, window, cancellation));
    state.seconds += seconds_since(start);
    const bool is_first = state.n_done == 0;
    state.n_done += n;
    if (!on_window(window, is_first)) return cancelled();
  }
  return {};
}

// The chunks of the text that the model can read.
Result<std::vector<std::string>> Synthesizer::texts_of(const SpeechRequest& request, const Pace& pace) const {
  const auto longest = model_.traits().longest_seconds;
  const Chunking chunking =
      longest ? request.chunking.within(static_cast<float>(*longest)) : request.chunking;
  std::vector<std::string> texts =
      request.seconds > 0 ? std::vector{request.text} : plan_chunks(request.text, chunking, pace);
  const TextForm form = model_.traits().text_form;
  if (form == TextForm::as_written) return texts;
  std::erase_if(texts, [form](const std::string& text) { return in_form(form, text).empty(); });
  if (!texts.empty()) return texts;
  return fail(ErrorCode::invalid_argument,
              "there is nothing to say: {} speaks English, and the text has no word or number of it",
              model_.base_name());
}

// Short texts come out as noise where the model has no voice to go by.
bool Synthesizer::needs_hidden_voice(const SpeechRequest& request) const {
  return request.quality != SpeechQuality::exact && request.voice.reference.empty() &&
         !model_.traits().has_own_voices;
}

// A sentence that nobody hears, in the voice that the request's words and seed give: the reference of all
// that is spoken in it, from the first word on. Made once, and kept.
Result<EncodedReference> Synthesizer::hidden_voice(Lane& lane, const SpeechRequest& request,
                                                   const std::string& design) {
  const std::string made_with =
      fmt::format("hidden {} {} \"{}\" {} {}", std::filesystem::path(model_.base_name()).filename().string(),
                  model_.weight_bytes(), design, request.decoding.seed, request.decoding.guidance);
  const ReferenceKey key = reference_key({}, made_with);
  if (auto known = hidden_.find(key)) return *std::move(known);
  const CodeRequest hidden{
      .text = kHiddenText,
      .language = kHiddenLanguage,
      .voice = design,
      .n_frames = frames_at_pace(kHiddenText, {}),
      .denoise = request.denoise,
      .decoding = decoding_of(request, /*has_reference=*/false),
      .shortcuts = SpeechShortcuts{.kept_steps = shortcuts_of(request.quality).kept_steps}};
  uint64_t noise_calls = 0;
  PARLANCE_TRY(auto output, lane.generator.generate(hidden, noise_calls, {}, request.cancellation));
  EncodedReference encoded{.codes = std::move(output.codes), .rms = 0};
  (void)hidden_.insert(key, encoded);  // a folder that cannot be written costs only time
  return encoded;
}

// A chunk whose sound is handed out as it is decided.
Result<void> Synthesizer::speak_at_once(Lane& lane, const CodeRequest& request, int64_t first_window,
                                        uint64_t& noise_calls, const CodeGenerator::OnStep& on_step,
                                        SpokenChunk& chunk, const Cancellation& cancellation,
                                        OnWindow on_window) {
  const auto start = Clock::now();
  Decoding sound{.first_window = first_window};
  AudioCodes begun{.n_codebook = code_format().n_codebook, .codes = {}};
  const auto on_block = [&](std::span<const int32_t> codes, int64_t n_decided) -> Result<void> {
    begun.codes.assign(codes.begin(), codes.end());
    return decode(lane, begun, n_decided, sound, cancellation, on_window);
  };
  PARLANCE_TRY(auto output, lane.generator.generate(request, noise_calls, on_step, cancellation, on_block));
  chunk.codes = std::move(output.codes);
  chunk.n_steps = output.n_steps;
  chunk.n_columns = output.n_columns;
  chunk.model_seconds = seconds_since(start) - sound.seconds;
  PARLANCE_CHECK(decode(lane, chunk.codes, chunk.codes.n_frames(), sound, cancellation, on_window));
  chunk.codec_seconds = sound.seconds;
  return {};
}

// A chunk whose sound is handed out when its pace is known: where that is far off, it is spoken once more,
// with another seed, and the one that is nearer to its neighbours is taken.
Result<void> Synthesizer::speak_at_pace(Lane& lane, CodeRequest request, PaceCheck& check, int n_syllables,
                                        uint64_t& noise_calls, const CodeGenerator::OnStep& on_step,
                                        SpokenChunk& chunk, const Cancellation& cancellation,
                                        OnWindow on_window) {
  constexpr int kMostAttempts = 2;
  std::vector<float> best;
  double best_seconds = 0;
  uint64_t calls_after = noise_calls;  // as if there had been one attempt
  while (chunk.n_attempts < kMostAttempts) {
    const auto start = Clock::now();
    uint64_t own_calls = noise_calls;
    PARLANCE_TRY(auto output, lane.generator.generate(request, own_calls, on_step, cancellation));
    chunk.model_seconds += seconds_since(start);
    chunk.n_steps += output.n_steps;
    chunk.n_columns += output.n_columns;
    Decoding sound{.first_window = kWindow};
    std::vector<float> samples;
    PARLANCE_CHECK(decode(lane, output.codes, output.codes.n_frames(), sound, cancellation,
                          [&](std::span<const float> window, bool) {
                            samples.insert(samples.end(), window.begin(), window.end());
                            return true;
                          }));
    chunk.codec_seconds += sound.seconds;
    if (chunk.n_attempts == 0) calls_after = own_calls;
    const double seconds = heard_seconds(samples);
    if (chunk.n_attempts++ == 0 || check.is_nearer(n_syllables, seconds, best_seconds)) {
      best = std::move(samples);
      best_seconds = seconds;
      chunk.codes = std::move(output.codes);
    }
    if (!check.is_off(n_syllables, best_seconds)) break;
    request.decoding.seed += kOtherSeed;
  }
  noise_calls = calls_after;
  check.accept(n_syllables, best_seconds);
  return on_window(best, true) ? Result<void>() : cancelled();
}

// Speaks chunk after chunk. Without a reference, the first chunk is that of all later ones, so that one voice
// speaks; a model with voices of its own needs none for that.
Result<void> Synthesizer::speak(Lane& lane, const SpeechRequest& request, int64_t first_window,
                                SpeechReport& report, OnWindow on_window) {
  PARLANCE_CHECK(check_request(request, code_format()));
  PARLANCE_TRY(const std::string design, design_of(request));
  AudioCodes reference = request.voice.reference;
  std::string reference_text = reference.empty() ? std::string() : request.voice.reference_text;
  if (needs_hidden_voice(request)) {
    PARLANCE_TRY(const EncodedReference hidden, hidden_voice(lane, request, design));
    reference = hidden.codes;
    reference_text = kHiddenText;
  }
  // A first clause takes long for its words, as all that is short does: it is no measure for the others.
  const bool keeps_pace = reference.empty() && request.chunking.cuts_first_clause;
  const auto pace = [&] {
    if (keeps_pace) return Pace{.speed = request.speed};
    return Pace{.reference_text = reference_text,
                .n_reference = static_cast<int32_t>(reference.n_frames()),
                .speed = request.speed};
  };
  PARLANCE_TRY(const std::vector<std::string> texts, texts_of(request, pace()));

  const auto n_chunks = static_cast<int>(texts.size());
  uint64_t noise_calls = 0;
  PaceCheck pace_check;
  for (int i = 0; i < n_chunks; ++i) {
    if (request.cancellation.cancelled()) return cancelled();
    SpokenChunk chunk{
        .text = texts[static_cast<size_t>(i)], .codes = {}, .n_reference = reference.n_frames()};
    const std::string words = in_form(model_.traits().text_form, chunk.text);
    const std::string reference_words = in_form(model_.traits().text_form, reference_text);
    const CodeRequest code_request{.text = words,
                                   .language = request.language,
                                   .voice = design,
                                   .reference = &reference,
                                   .reference_text = reference_words,
                                   .n_frames = request.seconds > 0
                                                   ? frames_of_seconds(static_cast<float>(request.seconds))
                                                   : frames_to_say(chunk.text, words, pace()),
                                   .denoise = request.denoise,
                                   .mask = request.mask,
                                   .decoding = decoding_of(request, !reference.empty()),
                                   .shortcuts = shortcuts_of(request)};
    const auto on_step = [&](int n_done, int n_total) {
      if (request.on_progress) request.on_progress({i, n_chunks, n_done, n_total});
    };
    if (request.checks_pace) {
      PARLANCE_CHECK(speak_at_pace(lane, code_request, pace_check, count_syllables(words), noise_calls,
                                   on_step, chunk, request.cancellation, on_window));
    } else {
      PARLANCE_CHECK(speak_at_once(lane, code_request,
                                   i == 0 ? first_window : std::max(first_window, kWindow), noise_calls,
                                   on_step, chunk, request.cancellation, on_window));
    }
    if (reference.empty() && !model_.traits().has_own_voices) {
      reference = chunk.codes;
      reference_text = chunk.text;
    }
    report.chunks.push_back(std::move(chunk));
  }
  return {};
}

Result<Speech> Synthesizer::synthesize(const SpeechRequest& request) {
  const auto start = Clock::now();
  if (request.cancellation.cancelled()) return cancelled();
  const std::string with = speech_key(request, /*is_streamed=*/false);
  Speech speech;
  if (auto known = phrases_.find(request.text, with)) {
    speech.samples = *std::move(known);
    speech.report.n_samples = std::ssize(speech.samples);
    speech.report.first_audio_seconds = speech.report.total_seconds = seconds_since(start);
    return speech;
  }
  const OwnLane lane(*this);
  std::vector<std::vector<float>> parts;
  PARLANCE_CHECK(
      speak(*lane, request, kWindow, speech.report, [&](std::span<const float> window, bool is_first) {
        if (is_first) parts.emplace_back();
        parts.back().insert(parts.back().end(), window.begin(), window.end());
        return !request.cancellation.cancelled();
      }));
  if (request.is_processed) {
    PARLANCE_TRY(speech.samples, finish_speech(parts, request.voice.rms));
  } else {
    speech.samples = join_parts(parts);
  }
  phrases_.insert(request.text, with, speech.samples);
  speech.report.n_samples = std::ssize(speech.samples);
  speech.report.first_audio_seconds = speech.report.total_seconds = seconds_since(start);
  return speech;
}

void Synthesizer::remember(const SpeechRequest& request, std::span<const float> samples) {
  for (const bool is_streamed : {false, true})
    phrases_.insert(request.text, speech_key(request, is_streamed), samples);
}

Result<SpeechReport> Synthesizer::stream(const SpeechRequest& request, const OnSpeech& on_speech) {
  const auto start = Clock::now();
  const std::string with = speech_key(request, /*is_streamed=*/true);
  std::vector<float> heard;  // of a text that may be a phrase
  SpeechReport report;
  const int64_t first_window = request.is_windowed ? kFirstStreamedWindow : kMostChunkFrames;
  bool is_wanted = true;
  const auto hand_out = [&](std::span<const float> samples) {
    if (!is_wanted || request.cancellation.cancelled()) return false;
    if (report.n_samples == 0) report.first_audio_seconds = seconds_since(start);
    report.n_samples += std::ssize(samples);
    if (heard.size() <= PhraseCache::kMostSamples) heard.insert(heard.end(), samples.begin(), samples.end());
    return is_wanted = on_speech(samples, /*is_last=*/false);
  };

  Result<void> spoken;
  if (const auto known = phrases_.find(request.text, with)) {
    if (!hand_out(*known)) spoken = cancelled();
  } else {
    const OwnLane lane(*this);
    if (request.is_processed) {
      SpeechStream chain({.reference_rms = request.voice.rms, .leading_silence = request.leading_silence},
                         hand_out);
      spoken = speak(*lane, request, first_window, report, [&](std::span<const float> window, bool is_first) {
        return is_first ? chain.push(window) : chain.extend(window);
      });
      if (spoken && !chain.finish()) spoken = cancelled();
    } else {
      CrossFader joined;
      const auto emit = [&](std::span<const float> samples) { hand_out(samples); };
      const auto is_going_on = [&] { return is_wanted && !request.cancellation.cancelled(); };
      spoken = speak(*lane, request, first_window, report, [&](std::span<const float> window, bool is_first) {
        is_first ? joined.push(window, emit) : joined.extend(window, emit);
        return is_going_on();
      });
      if (spoken) joined.finish(emit);
      if (spoken && !is_going_on()) spoken = cancelled();
    }
  }
  if (spoken) phrases_.insert(request.text, with, heard);
  report.total_seconds = seconds_since(start);
  on_speech({}, /*is_last=*/true);
  PARLANCE_CHECK(spoken);
  return report;
}

Result<EncodedReference> Synthesizer::encode(std::span<const float> samples,
                                             const ReferencePreparation& preparation,
                                             const Cancellation& cancellation) {
  const std::string made_with =
      fmt::format("{} {} {} {}", model_.codec_name(), model_.codec_file().n_bytes(),
                  preparation.removes_silence ? "trimmed" : "as is", preparation.quiet_ms);
  const ReferenceKey key = reference_key(samples, made_with);
  if (const auto known = references_.find(key)) return *known;
  PARLANCE_TRY(const ReferenceAudio audio, prepare_reference(samples, preparation));
  const OwnLane lane(*this);
  PARLANCE_TRY(std::vector<int32_t> codes, (*lane).codec.encode(audio.samples, cancellation));
  EncodedReference encoded{.codes = {.n_codebook = code_format().n_codebook, .codes = std::move(codes)},
                           .rms = audio.rms};
  (void)references_.insert(key, encoded);  // a folder that cannot be written costs only time
  return encoded;
}

Result<Voice> Synthesizer::encode_voice(std::span<const float> samples, std::string_view text,
                                        ReferencePreparation preparation, Cancellation cancellation) {
  if (std::ssize(samples) > speech_samples(1000) * kMostReferenceSeconds) {
    return fail(ErrorCode::invalid_argument,
                "the reference recording has {:.0f} seconds, more than {}; cut out 3 to 10 seconds of speech",
                static_cast<double>(samples.size()) / kSpeechRateHz, kMostReferenceSeconds);
  }
  const std::lock_guard lock(references_mutex_);
  if (cancellation.cancelled()) return cancelled();
  PARLANCE_TRY(EncodedReference encoded, encode(samples, preparation, cancellation));
  return Voice{.reference = std::move(encoded.codes),
               .reference_text = preparation.removes_silence ? add_punctuation(text) : std::string(text),
               .rms = encoded.rms,
               .instruct = {}};
}

}  // namespace parlance
