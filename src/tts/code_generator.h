// From a piece of text to the codes of its speech: the prompt, the passes of the network and the decoder that
// decides code by code.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "tokenizer/tokenizer.h"
#include "tts/audio_codes.h"
#include "tts/maskgit.h"
#include "tts/speech_lm.h"

namespace parlance {

// One chunk and the voice to speak it with. What it refers to must outlive the call.
struct CodeRequest {
  std::string_view text = {};
  std::string_view language = {};  // as TtsPromptText has it
  std::string_view voice = {};     // as resolve_voice_design() gives it
  const AudioCodes* reference = nullptr;
  std::string_view reference_text = {};
  int32_t n_frames = 1;
  bool denoise = true;
  GuidanceMask mask = GuidanceMask::hard;
  MaskGitOptions decoding = {};
};

class CodeGenerator {
 public:
  CodeGenerator(const OmniVoiceLm& model, const Tokenizer& tokenizer, Device& device)
      : tokenizer_(tokenizer), lm_(model, device) {}

  struct Output {
    AudioCodes codes;
    int n_steps = 0;
  };

  // `noise_calls` counts the random draws of a whole request, from 0 on. `on_step` is told after every pass
  // how many of how many are done. Errors: as those of SpeechLm and check_options(), and cancelled.
  using OnStep = std::function<void(int n_done, int n_total)>;
  Result<Output> generate(const CodeRequest& request, uint64_t& noise_calls, const OnStep& on_step = {},
                          Cancellation cancellation = {});

 private:
  const Tokenizer& tokenizer_;
  SpeechLm lm_;
};

}  // namespace parlance
