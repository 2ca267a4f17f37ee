#include "voice/synthesizer_mouth.h"

#include <iterator>
#include <mutex>
#include <utility>

namespace parlance {

namespace {

// Phrases are short; one that is not is spoken in parts as long as these, so that its sound comes.
constexpr Chunking kPhraseChunking{.chunk_seconds = 8, .threshold_seconds = 12, .cuts_first_clause = false};

}  // namespace

SpeechRequest phrase_manner(const MouthOptions& options, bool is_first) {
  SpeechRequest request = options.manner;
  request.chunking = kPhraseChunking;
  // The silence before an answer would be heard as waiting; that between its phrases belongs there.
  request.leading_silence = is_first ? LeadingSilence::none : LeadingSilence::with_first_sound;
  if (is_first && options.first_steps > 0) request.decoding.n_step = options.first_steps;
  return request;
}

struct SynthesizerMouth::Voice {
  Voice(SynthesizerMouth& owner, Inbox& owners_inbox, const MouthOptions& mouth_options,
        const TalkClock& talk_clock)
      : options(mouth_options), clock(talk_clock), mouth(&owner), inbox(owners_inbox) {}

  void tell(TalkMessage message) {
    const std::lock_guard lock(mutex);
    if (!mouth) return;
    news.push_back(std::move(message));
    inbox.notify(*mouth);
  }

  MouthOptions options;  // of the thread that speaks
  const TalkClock clock;

  std::mutex mutex;         // of what follows
  SynthesizerMouth* mouth;  // null when it has gone
  Inbox& inbox;             // as long as there is a mouth
  std::vector<TalkMessage> news;
};

// Memory is touched and kernels are chosen before anybody waits for them. What cannot be spoken says so when
// it matters.
class SynthesizerMouth::WarmUp final : public SpeechOrder {
 public:
  WarmUp(std::shared_ptr<Voice> voice, Cancellation cancellation)
      : voice_(std::move(voice)), cancellation_(std::move(cancellation)) {}

  const void* speaker() const override { return voice_.get(); }
  std::optional<SpeechRequest> begin() override {
    SpeechRequest request = phrase_manner(voice_->options, /*is_first=*/true);
    request.text = "Hello there.";
    request.decoding.n_step = 1;
    request.cancellation = cancellation_;
    return request;
  }
  bool take(std::span<const float>) override { return true; }
  void end(Result<SpeechReport>) override {}

 private:
  const std::shared_ptr<Voice> voice_;
  const Cancellation cancellation_;
};

class SynthesizerMouth::PhraseOrder final : public SpeechOrder {
 public:
  PhraseOrder(std::shared_ptr<Voice> voice, uint64_t reply, int64_t phrase, std::string text,
              Cancellation cancellation)
      : voice_(std::move(voice)),
        reply_(reply),
        phrase_(phrase),
        text_(std::move(text)),
        cancellation_(std::move(cancellation)) {}

  const void* speaker() const override { return voice_.get(); }

  std::optional<SpeechRequest> begin() override {
    if (cancellation_.cancelled()) return std::nullopt;
    SpeechRequest request = phrase_manner(voice_->options, /*is_first=*/phrase_ == 0);
    request.text = text_;
    request.cancellation = cancellation_;
    voice_->tell(SpeechBegun{reply_, phrase_, voice_->clock()});
    return request;
  }

  bool take(std::span<const float> samples) override {
    voice_->tell(Spoken{reply_, phrase_, {samples.begin(), samples.end()}, voice_->clock()});
    return true;
  }

  void end(Result<SpeechReport> report) override {
    if (!report) {
      if (report.error().code != ErrorCode::cancelled) voice_->tell(Broken{report.error()});
      return;
    }
    // Without a voice that is named the model chooses one: it is kept for the rest of the conversation.
    SpeechRequest& manner = voice_->options.manner;
    // Where the synthesizer has a reference of its own for it, that does.
    if (!report->chunks.empty() && report->chunks.front().n_reference > 0) {
      voice_->tell(SpeechEnd{reply_, phrase_, voice_->clock()});
      return;
    }
    if (manner.voice.reference.empty() && manner.voice.instruct.empty() && manner.instruct.empty() &&
        !report->chunks.empty()) {
      manner.voice.reference = report->chunks.front().codes;
      manner.voice.reference_text = report->chunks.front().text;
    }
    voice_->tell(SpeechEnd{reply_, phrase_, voice_->clock()});
  }

 private:
  const std::shared_ptr<Voice> voice_;
  const uint64_t reply_;
  const int64_t phrase_;
  const std::string text_;
  const Cancellation cancellation_;
};

SynthesizerMouth::SynthesizerMouth(SpeechQueue& queue, const MouthOptions& options, Inbox& inbox,
                                   const TalkClock& clock)
    : queue_(queue), voice_(std::make_shared<Voice>(*this, inbox, options, clock)) {
  if (options.warms_up) queue_.post(std::make_shared<WarmUp>(voice_, source_.ticket()));
}

SynthesizerMouth::~SynthesizerMouth() {
  source_.cancel();
  const std::lock_guard lock(voice_->mutex);
  voice_->mouth = nullptr;
}

void SynthesizerMouth::say(uint64_t reply, int64_t phrase, const std::string& text) {
  queue_.post(std::make_shared<PhraseOrder>(voice_, reply, phrase, text, source_.ticket()));
}

void SynthesizerMouth::report(std::vector<TalkMessage>& news) {
  const std::lock_guard lock(voice_->mutex);
  std::ranges::move(voice_->news, std::back_inserter(news));
  voice_->news.clear();
}

}  // namespace parlance
