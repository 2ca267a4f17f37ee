#include "asr/recognizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "asr/audio_split.h"

namespace parlance {

namespace {

constexpr double kFirstPreviewSeconds = 0.5;  // less does not tell a word
constexpr double kMaxWaitingSeconds = 600;

Result<void> check_finite(std::span<const float> samples) {
  const auto bad = std::find_if(samples.begin(), samples.end(), [](float x) { return !std::isfinite(x); });
  if (bad == samples.end()) return {};
  return fail(ErrorCode::invalid_argument,
              "sample {} is not a finite number; samples are floats, speech within [-1, 1]",
              bad - samples.begin());
}

int64_t samples_in(double seconds) {
  return static_cast<int64_t>(seconds * kMelSampleRateHz);
}

double seconds_of(int64_t n_samples) {
  return static_cast<double>(n_samples) / kMelSampleRateHz;
}

AsrSegment segment_of(const Utterance& utterance, int64_t first_sample) {
  const Hypothesis& heard = utterance.hypothesis();
  return {.start_seconds = seconds_of(first_sample),
          .end_seconds = seconds_of(first_sample + std::ssize(utterance.samples())),
          .transcript = heard.transcript,
          .tokens = heard.tokens,
          .is_complete = heard.is_complete};
}

Transcription join(std::vector<AsrSegment> segments) {
  std::vector<Transcript> pieces;
  for (const AsrSegment& segment : segments) pieces.push_back(segment.transcript);
  return {.transcript = merge_transcripts(pieces), .segments = std::move(segments)};
}

}  // namespace

// A stream as its worker sees it. What `mutex` guards is held for moments only.
struct AsrStream::State {
  State(std::unique_ptr<Utterance> first, const Cancellation& all)
      : source(all), cancellation(source.ticket()), utterance(std::move(first)) {}

  mutable std::mutex mutex;
  std::condition_variable has_finished;
  std::vector<float> inbox;
  int64_t n_fed = 0;  // samples since the transcript began
  bool is_pausing = false, is_finishing = false, is_closed = false;
  AsrPartial partial;
  std::optional<Transcription> result;  // of finish()
  std::optional<Error> failure;         // for good

  // Of all that is computed for it, from when it was opened until it is closed.
  const CancellationSource source;
  const Cancellation cancellation;

  // The worker's own.
  std::unique_ptr<Utterance> utterance;
  std::vector<AsrSegment> segments;  // that are finished
  int64_t first_sample = 0;          // of the utterance
  int64_t n_previewed = 0;           // samples of the utterance at the last preview
  double last_cost = 0;              // of that preview
};

struct AsrStream::Worker {
  Worker(const AsrModel& asr_model, const RecognizerOptions& asr_options)
      : model(asr_model), options(asr_options) {}

  ~Worker() { stop(); }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      is_stopping = true;
    }
    source.cancel();
    wake();
    if (thread.joinable()) thread.join();
  }

  // The thread looks at all streams again. Takes no lock, since whoever feeds must not wait for a thread that
  // lost its processor while it held one.
  void wake() {
    n_wakes.fetch_add(1);
    n_wakes.notify_one();
  }

  Result<std::unique_ptr<Utterance>> make_utterance(const AsrRequest& request);

  SplitRule split_rule() const {
    const auto longest = model.longest_seconds();
    if (longest && static_cast<double>(*longest) < options.max_seconds)
      return SplitRule::within(static_cast<double>(*longest), kMelSampleRateHz);
    return {.rate_hz = kMelSampleRateHz, .max_seconds = options.max_seconds};
  }

  // For a stream that was closed; what is being computed for it ends soon.
  void drop(const std::shared_ptr<State>& state) {
    const std::lock_guard lock(mutex);
    streams.remove(state);
    --n_open;
  }

  // The thread's part.
  enum class Task { none, preview, pause, finish };
  void run();
  Task task_of(State& state) const;
  bool may_preview(State& state, int64_t n_samples) const;
  void work_on(State& state, Task task);
  Result<void> update(State& state, Task task);
  Result<void> cut_off(State& state, bool is_end);
  void publish(State& state, bool is_final);

  const AsrModel& model;
  const RecognizerOptions options;
  std::shared_ptr<Context> context;
  std::unique_ptr<SpeechEncoder> encoder;
  const CancellationSource source;  // of everything, until the recogniser goes
  const Cancellation cancellation = source.ticket();
  std::mutex recordings;  // one is transcribed at a time
  std::mutex compute;     // who holds it may use the encoder

  std::mutex mutex;  // of what follows
  std::atomic<uint64_t> n_wakes{0};
  std::list<std::shared_ptr<State>> streams;
  int n_open = 0;
  bool is_stopping = false;
  std::thread thread;
};

Result<std::unique_ptr<Utterance>> AsrStream::Worker::make_utterance(const AsrRequest& request) {
  PARLANCE_TRY(AsrPrompt prompt,
               make_asr_prompt(model.text().tokenizer(), request.context, request.language));
  PARLANCE_TRY(auto session, Session::create(context));
  return std::make_unique<Utterance>(
      *encoder, std::move(session), std::move(prompt),
      UtteranceOptions{.mode = options.mode, .max_tokens = options.max_tokens, .script = options.script});
}

void AsrStream::Worker::run() {
  std::unique_lock lock(mutex);
  while (!is_stopping) {
    const uint64_t n_known = n_wakes.load();
    std::shared_ptr<State> chosen;
    Task task = Task::none;
    for (const auto& state : streams) {
      const Task wanted = task_of(*state);
      if (wanted > task) {
        task = wanted;
        chosen = state;
      }
    }
    if (task == Task::none) {
      lock.unlock();
      n_wakes.wait(n_known);
      lock.lock();
      continue;
    }
    // Whoever has its turn goes to the end.
    streams.splice(streams.end(), streams, std::find(streams.begin(), streams.end(), chosen));
    lock.unlock();
    work_on(*chosen, task);
    chosen.reset();  // which may be the end of it, if it was closed meanwhile
    lock.lock();
  }
  for (const auto& state : streams) {
    const std::lock_guard state_lock(state->mutex);
    state->failure = Error{ErrorCode::cancelled, "the recogniser was closed while a stream was open"};
    state->has_finished.notify_all();
  }
  streams.clear();
}

// The most urgent thing to do for a stream.
AsrStream::Worker::Task AsrStream::Worker::task_of(State& state) const {
  const std::lock_guard lock(state.mutex);
  if (state.is_closed || state.failure) return Task::none;
  if (state.is_finishing) return Task::finish;
  const int64_t n_samples = state.n_fed - state.first_sample;
  const bool is_final = state.partial.is_final && state.inbox.empty();
  if (state.is_pausing && n_samples > 0 && !is_final) return Task::pause;
  return may_preview(state, n_samples) ? Task::preview : Task::none;
}

bool AsrStream::Worker::may_preview(State& state, int64_t n_samples) const {
  if (n_samples < samples_in(kFirstPreviewSeconds)) return false;
  if (n_samples - state.n_previewed < samples_in(options.preview_seconds)) return false;
  if (options.max_cost <= 0) return true;
  // There must be enough left for this preview and for the end, which cost about as much as the last one.
  const AsrCost cost = state.utterance->cost();
  const int64_t n_known = std::max<int64_t>(std::ssize(state.utterance->samples()), 1);
  const double single_pass =
      n_known > 1 ? cost.single_pass * static_cast<double>(n_samples) / static_cast<double>(n_known) : 0;
  return cost.spent + 2 * state.last_cost <= options.max_cost * single_pass || cost.spent == 0;
}

void AsrStream::Worker::work_on(State& state, Task task) {
  const Result<void> done = update(state, task);
  if (!done && done.error().code == ErrorCode::cancelled) return;  // it is closed, or everything is
  if (done && task != Task::finish) return;
  const std::lock_guard lock(state.mutex);
  if (done) {
    state.result = join(std::exchange(state.segments, {}));
  } else {
    state.failure = done.error();
  }
  state.utterance->restart();
  state.first_sample = state.n_previewed = 0;
  state.last_cost = 0;
  state.n_fed = std::ssize(state.inbox);
  state.is_finishing = state.is_pausing = false;
  state.has_finished.notify_all();
}

// Takes in what came, and does the task for it.
Result<void> AsrStream::Worker::update(State& state, Task task) {
  std::vector<float> samples;
  {
    const std::lock_guard lock(state.mutex);
    samples.swap(state.inbox);
  }
  state.utterance->push(samples);
  PARLANCE_CHECK(cut_off(state, task == Task::finish));
  const double before = state.utterance->cost().spent;
  const Work work{.cancellation = state.cancellation, .priority = Priority::realtime};
  {
    const std::lock_guard lock(compute);
    PARLANCE_CHECK(task == Task::preview ? state.utterance->preview(work) : state.utterance->finish(work));
  }
  state.n_previewed = std::ssize(state.utterance->samples());
  state.last_cost = state.utterance->cost().spent - before;
  publish(state, task != Task::preview);
  if (task == Task::finish && !state.utterance->samples().empty())
    state.segments.push_back(segment_of(*state.utterance, state.first_sample));
  return {};
}

// Finishes what has become too long for one inference, where a whole recording would be cut too.
Result<void> AsrStream::Worker::cut_off(State& state, bool is_end) {
  while (const auto cut = next_cut(state.utterance->samples(), split_rule(), is_end)) {
    const std::vector<float> samples(state.utterance->samples().begin(), state.utterance->samples().end());
    const auto piece = std::span(samples).first(static_cast<size_t>(*cut));
    state.utterance->restart();
    state.utterance->push(piece);
    {
      const std::lock_guard lock(compute);
      PARLANCE_CHECK(
          state.utterance->finish({.cancellation = state.cancellation, .priority = Priority::realtime}));
    }
    state.segments.push_back(segment_of(*state.utterance, state.first_sample));
    state.first_sample += *cut;
    state.n_previewed = 0;
    state.utterance->restart();
    state.utterance->push(std::span(samples).subspan(static_cast<size_t>(*cut)));
  }
  return {};
}

void AsrStream::Worker::publish(State& state, bool is_final) {
  const Hypothesis& heard = state.utterance->hypothesis();
  std::vector<Transcript> pieces;
  for (const AsrSegment& segment : state.segments) pieces.push_back(segment.transcript);
  const std::string finished = merge_transcripts(pieces).text;
  pieces.push_back(heard.transcript);
  AsrPartial partial{.transcript = merge_transcripts(pieces),
                     .stable = finished + heard.stable,
                     .tokens = heard.tokens,
                     .seconds = seconds_of(state.first_sample + std::ssize(state.utterance->samples())),
                     .revision = 0,
                     .is_final = false};
  const std::lock_guard lock(state.mutex);
  partial.is_final = is_final && state.inbox.empty();
  partial.revision = state.partial.revision + 1;
  state.partial = std::move(partial);
}

AsrStream::AsrStream(std::shared_ptr<Worker> worker, std::shared_ptr<State> state)
    : worker_(std::move(worker)), state_(std::move(state)) {}

AsrStream::~AsrStream() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_closed = true;
  }
  state_->source.cancel();
  worker_->drop(state_);
}

Result<void> AsrStream::feed(std::span<const float> samples) {
  PARLANCE_CHECK(check_finite(samples));
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->failure) return tl::unexpected<Error>(*state_->failure);
    if (std::ssize(state_->inbox) + std::ssize(samples) > samples_in(kMaxWaitingSeconds)) {
      return fail(ErrorCode::out_of_memory,
                  "more than {} seconds wait for the recogniser, which is slower than speech here; feed "
                  "less, or use a "
                  "smaller model",
                  kMaxWaitingSeconds);
    }
    if (state_->n_fed == 0) {
      const uint64_t revision = state_->partial.revision + 1;
      state_->partial = {};
      state_->partial.revision = revision;
    }
    state_->inbox.insert(state_->inbox.end(), samples.begin(), samples.end());
    state_->n_fed += std::ssize(samples);
    state_->is_pausing = false;
    state_->partial.is_final = false;
  }
  worker_->wake();
  return {};
}

AsrPartial AsrStream::partial() const {
  const std::lock_guard lock(state_->mutex);
  return state_->partial;
}

std::optional<Error> AsrStream::failure() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}

void AsrStream::pause() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_pausing = true;
  }
  worker_->wake();
}

Result<Transcription> AsrStream::finish() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_finishing = true;
    state_->result.reset();
  }
  worker_->wake();
  std::unique_lock lock(state_->mutex);
  state_->has_finished.wait(lock, [&] { return state_->result || state_->failure; });
  if (state_->failure) return tl::unexpected<Error>(*state_->failure);
  return *std::exchange(state_->result, std::nullopt);
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
  auto worker = std::make_shared<AsrStream::Worker>(model, options);
  PARLANCE_TRY(worker->encoder, SpeechEncoder::create(model.encoder(), model.device(), options.mode));
  constexpr int64_t kPromptTokens = 4096 + 64;  // with a context of the largest size
  constexpr double kTokensPerSecond = 13;
  const SplitRule rule = worker->split_rule();
  const double seconds = rule.max_seconds + rule.search_seconds;  // of the longest piece
  const auto n_audio = static_cast<int64_t>(seconds * kTokensPerSecond) + worker->encoder->window_tokens();
  const int64_t n_answer = options.max_tokens > 0 ? options.max_tokens : kMaxAnswerTokens;
  SessionOptions session;
  session.n_ctx = kPromptTokens + n_audio + n_answer + static_cast<int64_t>(kDraftTokens);
  session.cache = options.cache;
  session.n_seq = options.n_streams + 2;  // one for a recording, and one that was closed at work
  session.n_outputs = static_cast<int64_t>(kDraftTokens) + 1;
  session.takes_embeddings = true;
  session.sectioned_positions = options.mode.sectioned_positions;
  PARLANCE_TRY(worker->context, Context::create(model.text(), session));
  worker->thread = std::thread([raw = worker.get()] { raw->run(); });
  return std::unique_ptr<Recognizer>(new Recognizer(std::move(worker)));
}

Recognizer::~Recognizer() {
  worker_->stop();
}

size_t Recognizer::memory_bytes() const {
  const Context& context = *worker_->context;
  return context.kv_bytes() + context.state_bytes() + context.workspace_bytes() +
         worker_->encoder->memory_bytes();
}

Result<Transcription> Recognizer::transcribe(std::span<const float> samples, const AsrRequest& request,
                                             const OnProgress& on_progress, Cancellation cancellation) {
  PARLANCE_CHECK(check_finite(samples));
  const std::lock_guard one_at_a_time(worker_->recordings);
  PARLANCE_TRY(const auto utterance, worker_->make_utterance(request));
  std::vector<int64_t> bounds = split_points(samples, worker_->split_rule());
  bounds.insert(bounds.begin(), 0);
  bounds.push_back(std::ssize(samples));
  std::vector<AsrSegment> segments;
  for (size_t i = 0; i + 1 < bounds.size() && bounds[i] < bounds[i + 1]; ++i) {
    if (cancellation.cancelled()) return fail(ErrorCode::cancelled, "cancelled");
    const std::lock_guard lock(worker_->compute);
    utterance->restart();
    utterance->on_progress([&on_progress, first = bounds[i]](double seconds) {
      if (on_progress) on_progress(seconds_of(first) + seconds);
    });
    utterance->push(
        samples.subspan(static_cast<size_t>(bounds[i]), static_cast<size_t>(bounds[i + 1] - bounds[i])));
    PARLANCE_CHECK(utterance->finish({.cancellation = cancellation}));
    segments.push_back(segment_of(*utterance, bounds[i]));
  }
  return join(std::move(segments));
}

Result<std::unique_ptr<AsrStream>> Recognizer::open(const AsrRequest& request) {
  const std::lock_guard lock(worker_->mutex);
  if (worker_->n_open == worker_->options.n_streams) {
    return fail(ErrorCode::out_of_memory, "all {} streams are open; close one first", worker_->n_open);
  }
  PARLANCE_TRY(auto utterance, worker_->make_utterance(request));
  auto state = std::make_shared<AsrStream::State>(std::move(utterance), worker_->cancellation);
  worker_->streams.push_back(state);
  ++worker_->n_open;
  return std::unique_ptr<AsrStream>(new AsrStream(worker_, std::move(state)));
}

}  // namespace parlance
