// The two files of an OmniVoice model as one thing: language model and codec on a device.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "gguf/reader.h"
#include "models/omnivoice_codec.h"
#include "models/omnivoice_lm.h"
#include "tts/speech_traits.h"
#include "tts/text/prompt.h"

namespace parlance {

struct TtsFiles {
  std::filesystem::path base;   // the language model
  std::filesystem::path codec;  // "tokenizer"
};

// The pair in a folder, in a bundle's folder `tts` (else `voice`), or below these: the one GGUF file whose
// architecture is omnivoice-lm, and the one with omnivoice-tokenizer. The error says what was found instead.
Result<TtsFiles> find_tts(const std::filesystem::path& folder);

// The bundle that a folder or file with a speech model belongs to: where `cache` with its voices is.
std::filesystem::path bundle_of_tts(const std::filesystem::path& folder_or_file);

struct TtsModelOptions {
  TtsPreTokenizer pre_tokenizer = TtsPreTokenizer::qwen2;
  bool huge_pages = true;          // weights that the CPU reads move into huge pages, memory allowing
  bool widened_weights = true;     // GPUs keep the language model's as wide floats, too, memory allowing
  Device* codec_device = nullptr;  // where the codec runs; null: where the language model does
};

class TtsModel {
 public:
  // Devices must outlive the model. Errors name the file.
  static Result<std::unique_ptr<TtsModel>> load(const TtsFiles& files, Device& device,
                                                const TtsModelOptions& options = {});

  const OmniVoiceLm& lm() const { return *lm_; }
  const OmniVoiceCodec& codec() const { return *codec_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const SpeechTraits& traits() const { return traits_; }
  Device& device() const { return device_; }  // of the language model
  Device& codec_device() const { return codec_device_; }

  const std::string& base_name() const { return base_file_.name(); }  // paths, for messages
  const std::string& codec_name() const { return codec_file_.name(); }
  const GgufFile& codec_file() const { return codec_file_; }
  size_t weight_bytes() const { return base_file_.bytes().size() + codec_file_.bytes().size(); }

 private:
  TtsModel(GgufFile base, GgufFile codec, Device& device, Device& codec_device)
      : base_file_(std::move(base)),
        codec_file_(std::move(codec)),
        device_(device),
        codec_device_(codec_device) {}
  Result<void> check_pair() const;

  GgufFile base_file_, codec_file_;
  Device &device_, &codec_device_;
  std::unique_ptr<OmniVoiceLm> lm_;
  std::unique_ptr<OmniVoiceCodec> codec_;
  std::optional<Tokenizer> tokenizer_;
  SpeechTraits traits_;
};

}  // namespace parlance
