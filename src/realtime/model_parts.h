// What listens, speaks and finds speech for a session: the models of an assistant. What thinks is left to the
// door, which knows chats.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "assistant/regions.h"
#include "realtime/parts.h"

namespace parlance {

// Regions that may be missing; who then asks for them is told so.
struct SessionModels {
  std::shared_ptr<AsrRegion> asr;
  std::shared_ptr<TtsRegion> tts;
  std::shared_ptr<VadRegion> vad;
};

// Takes up what a preset has spoken ahead of time, as sessions say it that set nothing else. Errors: no such
// preset; phrases that are no sound.
Result<void> remember_phrases(const std::shared_ptr<TtsRegion>& tts, const std::string& voice);

class ModelParts : public RealtimeParts {
 public:
  explicit ModelParts(SessionModels models) : models_(std::move(models)) {}

  double now_ms() override;
  Result<std::unique_ptr<EarStream>> listen(const AsrRequest& request, OnNews on_news) override;
  Result<std::unique_ptr<Mouth>> open_mouth(const MouthTerms& terms, Inbox& inbox) override;
  std::string filler_text(const std::string& voice) override;
  Result<std::unique_ptr<SpeechFinder>> find_speech(const TurnOptions& options) override;

 private:
  const SessionModels models_;
  std::map<std::string, Voice> voices_;  // that were spoken with
};

}  // namespace parlance
