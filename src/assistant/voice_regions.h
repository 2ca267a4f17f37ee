// What an assistant hears and speaks with: each model with all that it takes to use it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "asr/aligner.h"
#include "asr/recognizer.h"
#include "assistant/choice.h"
#include "assistant/device_shelf.h"
#include "assistant/region_memory.h"
#include "assistant/remark.h"
#include "base/result.h"
#include "speaker/speaker_verifier.h"
#include "tts/speech_queue.h"
#include "vad/silero.h"

namespace parlance {

// Members are in the order in which they need each other.

struct AsrRegion {
  MemoryReturn last;
  std::shared_ptr<Device> device;
  std::unique_ptr<AsrModel> model;
  std::unique_ptr<Recognizer> recognizer;
  std::string text_name, encoder_name;  // for reports

  static Result<std::shared_ptr<AsrRegion>> load(const Choice& choice, DeviceShelf& devices,
                                                 const OnRemark& on_remark);
  RegionBytes bytes() const;
};

struct TtsRegion {
  MemoryReturn last;
  std::shared_ptr<Device> device, codec_device;
  std::unique_ptr<TtsModel> model;
  std::unique_ptr<Synthesizer> synthesizer;
  std::unique_ptr<SpeechQueue> queue;  // of those who do not wait for it
  std::filesystem::path voices;        // the folder whose folder cache has them

  static Result<std::shared_ptr<TtsRegion>> load(const Choice& choice, DeviceShelf& devices);
  RegionBytes bytes() const;
};

// The voice detector.
struct VadRegion {
  MemoryReturn last;
  std::shared_ptr<const SileroModel> model;
  size_t file_bytes = 0;

  // The code of the error is not_found when no weights were named and none are there.
  static Result<std::shared_ptr<VadRegion>> load(const Choice& choice);
  RegionBytes bytes() const { return {.weights = file_bytes, .working = 0}; }
};

struct AlignerRegion {
  MemoryReturn last;
  std::shared_ptr<Device> device;
  std::unique_ptr<Aligner> aligner;
  size_t file_bytes = 0;

  static Result<std::shared_ptr<AlignerRegion>> load(const Choice& choice, DeviceShelf& devices);
  RegionBytes bytes() const { return {.weights = file_bytes, .working = 0}; }
};

struct SpeakerRegion {
  MemoryReturn last;
  SpeakerVerifier verifier;
  size_t file_bytes = 0;

  static Result<std::shared_ptr<SpeakerRegion>> load(const Choice& choice);
  RegionBytes bytes() const { return {.weights = file_bytes, .working = 0}; }
};

// A language model's drafter as its file, checked and mapped.
struct DrafterRegion {
  MemoryReturn last;
  GgufFile file;

  static Result<std::shared_ptr<DrafterRegion>> load(const Choice& choice);
  RegionBytes bytes() const { return {.weights = file.bytes().size(), .working = 0}; }
};

}  // namespace parlance
