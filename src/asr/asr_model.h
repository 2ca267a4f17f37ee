// The two files of a Qwen3-ASR model as one thing: audio encoder and language model on a device.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "engine/text_model.h"
#include "models/audio_encoder.h"

namespace parlance {

struct AsrFiles {
  std::filesystem::path text;     // the language model
  std::filesystem::path encoder;  // "mmproj"
};

// The pair in a folder, a bundle or its folder `asr`: asr/eliza-1-asr.gguf and asr/eliza-1-asr-mmproj.gguf,
// else the one GGUF file below it whose name contains mmproj and the only other one (those with tokenizer,
// support, vocab or aligner in their names do not count). The error says what was found instead.
Result<AsrFiles> find_asr(const std::filesystem::path& folder);

class AsrModel {
 public:
  // The device must outlive the model.
  static Result<std::unique_ptr<AsrModel>> load(const AsrFiles& files, Device& device,
                                                const TextModelOptions& options = {});

  const AudioEncoder& encoder() const { return *encoder_; }
  const TextModel& text() const { return *text_; }
  Device& device() const { return device_; }
  size_t weight_bytes() const { return encoder_file_.bytes().size() + text_->file().bytes().size(); }
  // The longest stretch that it was trained to understand, where its file says so ("parlance.max_seconds").
  std::optional<int64_t> longest_seconds() const { return longest_seconds_; }

 private:
  AsrModel(GgufFile encoder_file, Device& device) : encoder_file_(std::move(encoder_file)), device_(device) {}

  GgufFile encoder_file_;
  Device& device_;
  std::unique_ptr<AudioEncoder> encoder_;
  std::unique_ptr<TextModel> text_;
  std::optional<int64_t> longest_seconds_;
};

}  // namespace parlance
