// All models of a conversation by voice, found and loaded at once.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "asr/recognizer.h"
#include "cli/talk_options.h"
#include "engine/session.h"
#include "tts/synthesizer.h"
#include "vad/silero.h"

namespace parlance {

// In the order in which they need each other. Ears, mouth and mind share the processors: hearing goes first,
// since somebody is speaking now; then speech that is awaited; then what is said later. The mind may have a
// GPU.
struct TalkModels {
  std::unique_ptr<Device> ears_device, mouth_device, mind_device;
  std::shared_ptr<const SileroModel> detector;
  std::unique_ptr<AsrModel> asr;
  std::unique_ptr<Recognizer> recognizer;
  std::unique_ptr<TtsModel> tts;
  std::unique_ptr<Synthesizer> synthesizer;
  std::unique_ptr<TextModel> text;
  std::unique_ptr<Session> session;
  std::filesystem::path bundle;
  std::filesystem::path voices;  // the folder whose folder cache has voices
};

// An error of usage.
Result<void> check_models(const TalkModelChoice& choice);

Result<TalkModels> load_talk_models(const TalkModelChoice& choice);

}  // namespace parlance
