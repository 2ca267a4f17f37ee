// The models that speaking needs, found and loaded, and the voice that is to be spoken with.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/terminal/command.h"
#include "tts/synthesizer.h"

namespace parlance {

// Where the models are.
struct SayModelChoice {
  std::string folder;  // with the pair; empty: the demo bundle
  std::string base, codec;
  std::string device = "cpu";
  int n_threads = 0;
  bool no_huge_pages = false;
};

OptionGroup say_model_group(SayModelChoice& choice);
// An error of usage.
Result<void> check_models(const SayModelChoice& choice);

// In the order in which they need each other.
struct LoadedSynthesizer {
  std::unique_ptr<Device> device;
  std::unique_ptr<TtsModel> model;
  std::unique_ptr<Synthesizer> synthesizer;
  std::filesystem::path bundle;  // whose folder cache has voices
};

Result<LoadedSynthesizer> load_synthesizer(const SayModelChoice& choice);

// A recording to be spoken like.
struct RecordingChoice {
  std::string file;
  std::string text;  // what is said in it
};

// All of a file at the rate of the codec, resampled as it was for the codec's training.
Result<std::vector<float>> read_for_codec(const std::filesystem::path& path);

// Its voice. Errors: less than half a second of sound; more than Synthesizer::kMostReferenceSeconds;
// cancelled.
Result<Voice> voice_of_recording(Synthesizer& synthesizer, const RecordingChoice& recording,
                                 Cancellation cancellation = {});

}  // namespace parlance
