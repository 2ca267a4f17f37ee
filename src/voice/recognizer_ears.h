// The ears of a conversation: a stream of a recogniser for each turn.
#pragma once

#include <memory>
#include <utility>

#include "asr/recognizer.h"
#include "voice/parts.h"

namespace parlance {

class RecognizerEars final : public Ears {
 public:
  RecognizerEars(Recognizer& recognizer, AsrRequest request)
      : recognizer_(recognizer), request_(std::move(request)) {}

  Result<void> begin() override {
    stream_.reset();  // what it computes ends by itself
    PARLANCE_TRY(stream_, recognizer_.open(request_));
    return {};
  }

  Result<void> feed(std::span<const float> samples) override { return stream_->feed(samples); }
  void pause() override { stream_->pause(); }

  Result<Hearing> hearing() override {
    if (const auto failure = stream_->failure()) return tl::unexpected<Error>(*failure);
    AsrPartial partial = stream_->partial();
    const bool has_stable = partial.transcript.text.starts_with(partial.stable);
    return Hearing{.text = std::move(partial.transcript.text),
                   .n_stable = has_stable ? partial.stable.size() : 0,
                   .revision = partial.revision,
                   .is_final = partial.is_final};
  }

 private:
  Recognizer& recognizer_;
  AsrRequest request_;
  std::unique_ptr<AsrStream> stream_;
};

}  // namespace parlance
