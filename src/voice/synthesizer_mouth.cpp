#include "voice/synthesizer_mouth.h"

#include <utility>

namespace parlance {

namespace {

// Phrases are short; one that is not is spoken in parts as long as these, so that its sound comes.
constexpr Chunking kPhraseChunking{.chunk_seconds = 8, .threshold_seconds = 12, .cuts_first_clause = false};

}  // namespace

SynthesizerMouth::SynthesizerMouth(Synthesizer& synthesizer, const MouthOptions& options, Inbox& inbox,
                                   TalkClock clock)
    : synthesizer_(synthesizer), options_(options), inbox_(inbox), clock_(std::move(clock)) {
  options_.manner.chunking = kPhraseChunking;
  thread_ = std::thread([this] { run(); });
}

SynthesizerMouth::~SynthesizerMouth() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    orders_.clear();
  }
  source_.cancel();
  has_orders_.notify_one();
  thread_.join();
}

void SynthesizerMouth::say(uint64_t reply, int64_t phrase, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back({reply, phrase, text, source_.ticket()});
  }
  has_orders_.notify_one();
}

void SynthesizerMouth::cancel() {
  const std::lock_guard lock(mutex_);
  orders_.clear();
  source_.cancel();
}

void SynthesizerMouth::run() {
  warm_up();
  std::unique_lock lock(mutex_);
  for (;;) {
    has_orders_.wait(lock, [&] { return is_over_ || !orders_.empty(); });
    if (is_over_) return;
    const Order order = std::move(orders_.front());
    orders_.pop_front();
    lock.unlock();
    speak(order);
    lock.lock();
  }
}

// Memory is touched and kernels are chosen before anybody waits for them. What cannot be spoken says so when
// it matters.
void SynthesizerMouth::warm_up() {
  SpeechRequest request = options_.manner;
  request.text = "Hello there.";
  request.decoding.n_step = 1;
  request.cancellation = warm_up_;
  (void)synthesizer_.stream(request, [](std::span<const float>, bool) { return true; });
}

void SynthesizerMouth::speak(const Order& order) {
  SpeechRequest request = options_.manner;
  request.text = order.text;
  request.cancellation = order.cancellation;
  // The silence before an answer would be heard as waiting; that between its phrases belongs there.
  const bool is_first = order.phrase == 0;
  request.leading_silence = is_first ? LeadingSilence::none : LeadingSilence::with_first_sound;
  if (is_first && options_.first_steps > 0) request.decoding.n_step = options_.first_steps;
  inbox_.post(SpeechBegun{order.reply, order.phrase, clock_()});
  const auto report = synthesizer_.stream(request, [&](std::span<const float> samples, bool is_last) {
    if (!is_last) {
      inbox_.post(Spoken{order.reply, order.phrase, {samples.begin(), samples.end()}, clock_()});
    }
    return true;
  });
  if (!report) {
    if (report.error().code != ErrorCode::cancelled) inbox_.post(Broken{report.error()});
    return;
  }
  // Without a voice that is named the model chooses one: it is kept for the rest of the conversation.
  const SpeechRequest& manner = options_.manner;
  if (manner.voice.reference.empty() && manner.voice.instruct.empty() && manner.instruct.empty() &&
      !report->chunks.empty()) {
    options_.manner.voice.reference = report->chunks.front().codes;
    options_.manner.voice.reference_text = report->chunks.front().text;
  }
  inbox_.post(SpeechEnd{order.reply, order.phrase, clock_()});
}

}  // namespace parlance
