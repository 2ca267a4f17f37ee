#include "asr/recognizer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <semaphore>

#include "asr/stream_scheduler.h"

namespace parlance {

namespace {

constexpr double kTokensPerSecond = 13;  // of sound

}  // namespace

// What a recogniser and its streams share; whoever goes last takes it along.
struct RecognizerCore {
  RecognizerCore(const AsrModel& asr_model, const RecognizerOptions& asr_options)
      : model(asr_model), options(asr_options), scheduler(most_threads(asr_options)) {}

  // More than this gain little from each other's steps.
  static size_t most_threads(const RecognizerOptions& options) {
    constexpr int kMostThreads = 4;
    return static_cast<size_t>(std::min(options.n_streams, kMostThreads));
  }

  // How long a piece may be whose text still fits into so many positions.
  double seconds_within(int64_t n_ctx) const {
    constexpr int64_t kShortPrompt = 128;
    const bool is_limited = options.max_tokens > 0;
    const int64_t n_answer = is_limited ? options.max_tokens : kAnswerTokensBeside;
    const int64_t n_left =
        n_ctx - kShortPrompt - encoder->window_tokens() - n_answer - static_cast<int64_t>(kDraftTokens);
    return static_cast<double>(n_left) / (kTokensPerSecond + (is_limited ? 0 : kAnswerTokensPerSecond));
  }

  // Pieces as long as the options want them, or as the model or its context can take.
  SplitRule split_rule() const {
    const SplitRule wanted = {.rate_hz = kMelSampleRateHz, .max_seconds = options.max_seconds};
    double longest = static_cast<double>(model.longest_seconds().value_or(INT32_MAX));
    if (options.n_ctx > 0) longest = std::min(longest, seconds_within(options.n_ctx));
    const bool is_shorter = longest < wanted.max_seconds + wanted.search_seconds;
    return is_shorter ? SplitRule::within(longest, kMelSampleRateHz) : wanted;
  }

  Result<std::unique_ptr<Utterance>> make_utterance(const AsrRequest& request) {
    PARLANCE_TRY(AsrPrompt prompt,
                 make_asr_prompt(model.text().tokenizer(), request.context, request.language));
    PARLANCE_TRY(auto session, Session::create(context));
    return std::make_unique<Utterance>(
        *encoder, std::move(session), std::move(prompt),
        UtteranceOptions{.mode = options.mode, .max_tokens = options.max_tokens, .script = options.script});
  }

  const AsrModel& model;
  const RecognizerOptions options;
  const CancellationSource source;  // of all streams
  const Cancellation cancellation = source.ticket();
  std::shared_ptr<Context> context;
  std::unique_ptr<SpeechEncoder> encoder;
  std::binary_semaphore recordings{1};  // one is transcribed at a time

  std::mutex opening;
  std::atomic<int> n_open = 0;  // streams

  StreamScheduler scheduler;  // stops before what its streams use goes
};

AsrStream::AsrStream(std::shared_ptr<RecognizerCore> core, std::shared_ptr<StreamState> state)
    : core_(std::move(core)), state_(std::move(state)) {}

AsrStream::~AsrStream() {
  state_->close();
  core_->scheduler.remove(state_);
  --core_->n_open;
}

Result<void> AsrStream::feed(std::span<const float> samples) {
  PARLANCE_CHECK(state_->feed(samples));
  core_->scheduler.wake();
  return {};
}

AsrPartial AsrStream::partial() const {
  return state_->partial();
}

std::optional<Error> AsrStream::failure() const {
  return state_->failure();
}

void AsrStream::pause() {
  state_->pause();
  core_->scheduler.wake();
}

Result<Transcription> AsrStream::finish() {
  state_->ask_for_all();
  core_->scheduler.wake();
  return state_->wait_for_all();
}

Result<std::unique_ptr<Recognizer>> Recognizer::create(const AsrModel& model,
                                                       const RecognizerOptions& options) {
  constexpr double kLeastSeconds = 10,
                   kMostSeconds = 1200;  // the search for a quiet place takes 5 on either side
  if (!(options.max_seconds >= kLeastSeconds && options.max_seconds <= kMostSeconds) ||
      options.n_streams < 1) {
    return fail(ErrorCode::invalid_argument,
                "pieces of {} seconds for {} streams: expected {} to {} seconds and a stream",
                options.max_seconds, options.n_streams, kLeastSeconds, kMostSeconds);
  }
  auto core = std::make_shared<RecognizerCore>(model, options);
  PARLANCE_TRY(core->encoder, SpeechEncoder::create(model.encoder(), model.device(), options.mode));
  constexpr int64_t kPromptTokens = 4096 + 64;  // with a context of the largest size
  if (options.n_ctx > 0 && core->seconds_within(options.n_ctx) < kLeastSeconds) {
    return fail(ErrorCode::invalid_argument,
                "a context of {} positions has no room for {} seconds of speech and their text; give it more",
                options.n_ctx, kLeastSeconds);
  }
  const SplitRule rule = core->split_rule();
  const double seconds = rule.max_seconds + rule.search_seconds;  // of the longest piece
  const auto n_audio = static_cast<int64_t>(seconds * kTokensPerSecond) + core->encoder->window_tokens();
  const int64_t n_answer = options.max_tokens > 0 ? options.max_tokens : kMaxAnswerTokens;
  SessionOptions session;
  session.n_ctx = kPromptTokens + n_audio + n_answer + static_cast<int64_t>(kDraftTokens);
  if (options.n_ctx > 0) session.n_ctx = std::min(session.n_ctx, options.n_ctx);
  session.n_batch = std::max(options.n_batch, static_cast<int64_t>(kDraftTokens) + 1);
  session.cache = options.cache;
  // One for a recording, and those of streams that were closed at work.
  session.n_seq = options.n_streams + 1 + static_cast<int>(RecognizerCore::most_threads(options));
  session.n_outputs = static_cast<int64_t>(kDraftTokens) + 1;
  session.takes_embeddings = true;
  session.drafts_beside_prompts = true;
  session.batches_as_alone = true;  // the text of what one says must not depend on what others say
  session.sectioned_positions = options.mode.sectioned_positions;
  PARLANCE_TRY(core->context, Context::create(model.text(), session));
  return std::unique_ptr<Recognizer>(new Recognizer(std::move(core)));
}

Recognizer::~Recognizer() {
  core_->source.cancel();
  core_->scheduler.stop();
}

size_t Recognizer::memory_bytes() const {
  const Context& context = *core_->context;
  return context.kv_bytes() + context.recurrent_bytes() + context.workspace_bytes() +
         core_->encoder->memory_bytes();
}

Result<Transcription> Recognizer::transcribe(std::span<const float> samples, const AsrRequest& request,
                                             const RecordingWatch& watch, Cancellation cancellation) {
  PARLANCE_CHECK(check_finite(samples));
  constexpr auto kLook = std::chrono::milliseconds(20);
  do {
    if (cancellation.cancelled()) return fail(ErrorCode::cancelled, "cancelled");
  } while (!core_->recordings.try_acquire_for(kLook));
  constexpr auto release = [](std::binary_semaphore* recordings) { recordings->release(); };
  const std::unique_ptr<std::binary_semaphore, decltype(release)> turn(&core_->recordings);
  PARLANCE_TRY(const auto utterance, core_->make_utterance(request));
  const Work work{.cancellation = cancellation};
  std::vector<int64_t> bounds = split_points(samples, core_->split_rule());
  bounds.insert(bounds.begin(), 0);
  bounds.push_back(std::ssize(samples));
  std::vector<AsrSegment> segments;
  for (size_t i = 0; i + 1 < bounds.size() && bounds[i] < bounds[i + 1]; ++i) {
    utterance->restart();
    utterance->on_progress([&watch, first = bounds[i]](double seconds) {
      if (watch.on_seconds) watch.on_seconds(speech_seconds_of(first) + seconds);
    });
    if (watch.on_text) {
      utterance->on_text([&watch, before = join_segments_of(segments).transcript.text](
                             const std::string& text) { watch.on_text(before + text); });
    }
    utterance->push(
        samples.subspan(static_cast<size_t>(bounds[i]), static_cast<size_t>(bounds[i + 1] - bounds[i])));
    PARLANCE_CHECK(utterance->finish(work));
    segments.push_back(segment_of(*utterance, bounds[i]));
  }
  return join_segments_of(std::move(segments));
}

Result<std::unique_ptr<AsrStream>> Recognizer::open(const AsrRequest& request,
                                                    std::function<void()> on_change) {
  const std::lock_guard lock(core_->opening);
  const RecognizerOptions& options = core_->options;
  if (core_->n_open.load() >= options.n_streams) {
    return fail(ErrorCode::out_of_memory, "all {} streams are open; close one first", options.n_streams);
  }
  PARLANCE_TRY(auto utterance, core_->make_utterance(request));
  const StreamRules rules{.split = core_->split_rule(),
                          .preview_seconds = options.preview_seconds,
                          .preview_share = options.preview_share,
                          .n_open = &core_->n_open};
  auto state =
      std::make_shared<StreamState>(std::move(utterance), rules, std::move(on_change), core_->cancellation);
  core_->scheduler.add(state);
  ++core_->n_open;
  return std::unique_ptr<AsrStream>(new AsrStream(core_, std::move(state)));
}

}  // namespace parlance
