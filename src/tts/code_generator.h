// From a piece of text to the codes of its speech: the prompt, the passes of the network and the decoder that
// decides code by code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "tokenizer/tokenizer.h"
#include "tts/audio_codes.h"
#include "tts/kept_speech_lm.h"
#include "tts/maskgit.h"
#include "tts/speech_lm.h"
#include "tts/speech_quality.h"
#include "tts/text/prompt.h"

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
  std::optional<SpeechShortcuts> shortcuts = std::nullopt;  // none: every pass over all columns
};

class CodeGenerator {
 public:
  CodeGenerator(const OmniVoiceLm& model, const Tokenizer& tokenizer, Device& device)
      : tokenizer_(tokenizer), lm_(model, device), kept_lm_(model, device) {}

  struct Output {
    AudioCodes codes;
    int n_steps = 0;
    int64_t n_columns = 0;  // that all passes computed
  };

  // `noise_calls` counts the random draws of a whole request, from 0 on. `on_step` is told after every pass
  // how many of how many are done. Errors: as those of SpeechLm and check_options(), and cancelled.
  using OnStep = std::function<void(int n_done, int n_total)>;
  // Where shortcuts make blocks: the codes [n_codebook][n_frames] of which the first n_decided frames are
  // known, after each block but the last. An error ends the request with it.
  using OnBlock = std::function<Result<void>(std::span<const int32_t> codes, int64_t n_decided)>;
  Result<Output> generate(const CodeRequest& request, uint64_t& noise_calls, const OnStep& on_step = {},
                          Cancellation cancellation = {}, const OnBlock& on_block = {});

 private:
  Result<Output> generate_exactly(const CodeRequest& request, const TtsPrompt& prompt, uint64_t& noise_calls,
                                  const OnStep& on_step, const Cancellation& cancellation);
  Result<Output> generate_in_blocks(const CodeRequest& request, const TtsPrompt& prompt,
                                    uint64_t& noise_calls, const OnStep& on_step,
                                    const Cancellation& cancellation, const OnBlock& on_block);

  const Tokenizer& tokenizer_;
  SpeechLm lm_;
  KeptSpeechLm kept_lm_;
};

}  // namespace parlance
