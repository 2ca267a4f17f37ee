// The models that listening needs, found and loaded.
#pragma once

#include <memory>
#include <string>

#include "asr/aligner.h"
#include "asr/recognizer.h"
#include "cli/listen_options.h"
#include "vad/silero.h"

namespace parlance {

// In the order in which they need each other.
struct LoadedRecognizer {
  std::unique_ptr<Device> device;
  std::unique_ptr<AsrModel> model;
  std::unique_ptr<Recognizer> recognizer;
  std::string text_name, encoder_name;  // for reports
};

Result<LoadedRecognizer> load_recognizer(const ListenOptions& options);

// The voice detector's weights; an error when there are none.
Result<std::shared_ptr<const SileroModel>> load_detector(const ListenModelChoice& choice);

// The same for work that goes on without them: null when none were named and none are in the bundle.
Result<std::shared_ptr<const SileroModel>> load_detector_if_any(const ListenModelChoice& choice);

// The model that knows when words were said, from the bundle; an error when it has none.
Result<std::unique_ptr<Aligner>> load_aligner(const ListenModelChoice& choice, Device& device);

}  // namespace parlance
