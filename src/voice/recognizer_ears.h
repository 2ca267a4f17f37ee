// The ears of a conversation: a stream of a recogniser for each turn.
#pragma once

#include <memory>
#include <utility>

#include "asr/recognizer.h"
#include "voice/inbox.h"

namespace parlance {

class RecognizerEars final : public Ears, public TalkPart {
 public:
  // What it uses must outlive it.
  RecognizerEars(Recognizer& recognizer, AsrRequest request, Inbox& inbox, TalkClock clock)
      : recognizer_(recognizer), request_(std::move(request)), inbox_(inbox), clock_(std::move(clock)) {}

  Result<void> begin() override {
    stream_.reset();  // what it computes ends by itself
    PARLANCE_TRY(stream_, recognizer_.open(request_, [this] { inbox_.notify(*this); }));
    return {};
  }

  Result<void> feed(std::span<const float> samples) override { return stream_->feed(samples); }
  void pause() override {
    stream_->pause();
    inbox_.notify(*this);  // of what is final already
  }

  void report(std::vector<TalkMessage>& news) override {
    if (!stream_) return;
    if (auto failure = stream_->failure()) {
      news.push_back(Broken{*std::move(failure)});
      return;
    }
    AsrPartial partial = stream_->partial();
    const bool has_stable = partial.transcript.text.starts_with(partial.stable);
    Hearing hearing{.text = std::move(partial.transcript.text),
                    .n_stable = has_stable ? partial.stable.size() : 0,
                    .revision = partial.revision,
                    .is_final = partial.is_final};
    news.push_back(HeardWords{std::move(hearing), clock_()});
  }

 private:
  Recognizer& recognizer_;
  AsrRequest request_;
  Inbox& inbox_;
  const TalkClock clock_;
  std::unique_ptr<AsrStream> stream_;
};

}  // namespace parlance
