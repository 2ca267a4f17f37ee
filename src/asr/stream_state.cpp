#include "asr/stream_state.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace parlance {

namespace {

constexpr double kFirstPreviewSeconds = 0.5;  // less does not tell a word
constexpr double kListenSeconds = 0.1;        // of new audio that is worth taking in by itself
constexpr double kMaxWaitingSeconds = 600;

}  // namespace

AsrSegment segment_of(const Utterance& utterance, int64_t first_sample) {
  const Hypothesis& heard = utterance.hypothesis();
  return {.start_seconds = speech_seconds_of(first_sample),
          .end_seconds = speech_seconds_of(first_sample + std::ssize(utterance.samples())),
          .transcript = heard.transcript,
          .tokens = heard.tokens,
          .is_complete = heard.is_complete,
          .n_tokens = utterance.n_tokens()};
}

Transcription join_segments_of(std::vector<AsrSegment> segments) {
  std::vector<Transcript> pieces;
  for (const AsrSegment& segment : segments) pieces.push_back(segment.transcript);
  return {.transcript = merge_transcripts(pieces), .segments = std::move(segments)};
}

Result<void> check_finite(std::span<const float> samples) {
  const auto bad = std::find_if(samples.begin(), samples.end(), [](float x) { return !std::isfinite(x); });
  if (bad == samples.end()) return {};
  return fail(ErrorCode::invalid_argument,
              "sample {} is not a finite number; samples are floats, speech within [-1, 1]",
              bad - samples.begin());
}

StreamState::StreamState(std::unique_ptr<Utterance> utterance, const StreamRules& rules,
                         std::function<void()> on_change, const Cancellation& all)
    : rules_(rules), source_(all), on_change_(std::move(on_change)), utterance_(std::move(utterance)) {}

Result<void> StreamState::feed(std::span<const float> samples) {
  PARLANCE_CHECK(check_finite(samples));
  const std::lock_guard lock(mutex_);
  if (failure_) return tl::unexpected<Error>(*failure_);
  if (std::ssize(inbox_) + std::ssize(samples) > speech_samples_in(kMaxWaitingSeconds)) {
    return fail(ErrorCode::out_of_memory,
                "more than {} seconds wait for the recogniser, which is slower than speech here; feed "
                "less, or use a smaller model",
                kMaxWaitingSeconds);
  }
  if (n_fed_ == 0) {
    const uint64_t revision = partial_.revision + 1;
    partial_ = {};
    partial_.revision = revision;
  }
  inbox_.insert(inbox_.end(), samples.begin(), samples.end());
  n_fed_ += std::ssize(samples);
  is_pausing_ = false;
  partial_.is_final = false;
  return {};
}

void StreamState::pause() {
  const std::lock_guard lock(mutex_);
  is_pausing_ = true;
  previews_.cancel();
}

void StreamState::ask_for_all() {
  const std::lock_guard lock(mutex_);
  is_finishing_ = true;
  previews_.cancel();
  all_.reset();
}

Result<Transcription> StreamState::wait_for_all() {
  std::unique_lock lock(mutex_);
  has_all_.wait(lock, [&] { return all_ || failure_; });
  if (failure_) return tl::unexpected<Error>(*failure_);
  return *std::exchange(all_, std::nullopt);
}

void StreamState::close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  source_.cancel();
  const std::lock_guard lock(listener_mutex_);
  on_change_ = nullptr;
}

AsrPartial StreamState::partial() const {
  const std::lock_guard lock(mutex_);
  return partial_;
}

std::optional<Error> StreamState::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

StreamTask StreamState::most_urgent() const {
  const std::lock_guard lock(mutex_);
  return wanted();
}

StreamTask StreamState::wanted() const {
  if (is_closed_ || failure_) return StreamTask::none;
  if (is_finishing_) return StreamTask::finish;
  const int64_t n_samples = n_fed_ - first_sample_;
  const bool is_final = partial_.is_final && inbox_.empty();
  if (is_pausing_ && n_samples > 0 && !is_final) return StreamTask::pause;
  if (may_preview(n_samples)) return StreamTask::preview;
  const bool listens = utterance_->listens() && n_samples - n_listened_ >= speech_samples_in(kListenSeconds);
  return listens ? StreamTask::listen : StreamTask::none;
}

bool StreamState::may_preview(int64_t n_samples) const {
  if (n_samples < speech_samples_in(kFirstPreviewSeconds)) return false;
  double seconds = rules_.preview_seconds;
  if (rules_.preview_share > 0) {
    const int n_open = rules_.n_open ? std::max(rules_.n_open->load(), 1) : 1;
    seconds = std::max(seconds, preview_s_ * n_open / rules_.preview_share);
  }
  return n_samples - n_previewed_ >= speech_samples_in(seconds);
}

void StreamState::compute(StreamTask task) {
  const Result<void> done = update(task);
  if (!done && done.error().code == ErrorCode::cancelled) return;  // what is wanted now is more, or nothing
  if (done && task == StreamTask::listen) return;
  if (!done || task == StreamTask::finish) {
    const std::lock_guard lock(mutex_);
    if (done) {
      all_ = join_segments_of(std::exchange(segments_, {}));
    } else {
      failure_ = done.error();
    }
    utterance_->restart();
    first_sample_ = n_listened_ = n_previewed_ = 0;
    preview_s_ = 0;
    n_fed_ = std::ssize(inbox_);
    is_finishing_ = is_pausing_ = false;
    has_all_.notify_all();
  }
  tell();
}

void StreamState::give_up(Error why) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(why);
    has_all_.notify_all();
  }
  tell();
}

void StreamState::tell() {
  const std::lock_guard lock(listener_mutex_);
  if (on_change_) on_change_();
}

// Takes in what came, and does the task for it.
Result<void> StreamState::update(StreamTask task) {
  const bool is_preview = task == StreamTask::preview, may_be_given_up = task <= StreamTask::preview;
  std::vector<float> samples;
  Cancellation until = cancellation_;
  {
    const std::lock_guard lock(mutex_);
    if (may_be_given_up) {
      if (wanted() != task) return fail(ErrorCode::cancelled, "cancelled");
      until = previews_.ticket();
    }
    samples.swap(inbox_);
  }
  utterance_->push(samples);
  PARLANCE_CHECK(cut_off(task == StreamTask::finish));
  n_listened_ = std::ssize(utterance_->samples());
  if (task == StreamTask::listen) return utterance_->listen(work(until));
  const auto start = std::chrono::steady_clock::now();
  PARLANCE_CHECK(is_preview ? utterance_->preview(work(until)) : utterance_->finish(work(until)));
  n_previewed_ = std::ssize(utterance_->samples());
  if (is_preview)
    preview_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  publish(!is_preview);
  if (task == StreamTask::finish && !utterance_->samples().empty())
    segments_.push_back(segment_of(*utterance_, first_sample_));
  return {};
}

// Finishes what has become too long for one inference, where a whole recording would be cut too.
Result<void> StreamState::cut_off(bool is_end) {
  while (const auto cut = next_cut(utterance_->samples(), rules_.split, is_end)) {
    const std::vector<float> samples(utterance_->samples().begin(), utterance_->samples().end());
    utterance_->restart();
    utterance_->push(std::span(samples).first(static_cast<size_t>(*cut)));
    PARLANCE_CHECK(utterance_->finish(work(cancellation_)));
    segments_.push_back(segment_of(*utterance_, first_sample_));
    first_sample_ += *cut;
    n_listened_ = n_previewed_ = 0;
    utterance_->restart();
    utterance_->push(std::span(samples).subspan(static_cast<size_t>(*cut)));
  }
  return {};
}

void StreamState::publish(bool is_final) {
  const Hypothesis& heard = utterance_->hypothesis();
  std::vector<Transcript> pieces;
  for (const AsrSegment& segment : segments_) pieces.push_back(segment.transcript);
  const std::string finished = merge_transcripts(pieces).text;
  pieces.push_back(heard.transcript);
  AsrPartial partial{.transcript = merge_transcripts(pieces),
                     .stable = finished + heard.stable,
                     .tokens = heard.tokens,
                     .seconds = speech_seconds_of(first_sample_ + std::ssize(utterance_->samples())),
                     .revision = 0,
                     .is_final = false};
  const std::lock_guard lock(mutex_);
  partial.is_final = is_final && inbox_.empty();
  partial.revision = partial_.revision + 1;
  partial_ = std::move(partial);
}

}  // namespace parlance
