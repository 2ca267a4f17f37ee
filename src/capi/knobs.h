// What environment variables say of a context when it is created, under the names that users of the loaders
// know. knobs.cpp has the table of them.
#pragma once

#include <optional>
#include <string>

#include "asr/recognizer.h"
#include "assistant/choice.h"
#include "base/log.h"
#include "capi/answer.h"
#include "tts/speech_request.h"

namespace parlance::capi {

struct Knobs {
  std::string device = "cpu";
  std::optional<bool> asr_uses_gpu;
  std::string asr_device;                   // the GPU for that where `device` is none; empty: `device`
  std::optional<std::string> codec_device;  // "cpu" or "gpu"
  int n_threads = 0;                        // 0: every processor

  std::optional<std::string> tts_base, tts_codec;  // files in place of the bundle's
  std::optional<int> n_steps, n_omnivoice_steps;   // the first one wins
  SpeechQuality quality = SpeechQuality::exact;
  std::optional<float> chunk_seconds, longest_seconds;

  AsrRequest recognition;
  std::optional<bool> maps_asr_weights, moves_asr_weights;
  std::optional<int> asr_n_ctx, asr_n_batch;
  std::optional<bool> is_android;
  bool is_debugging_asr = false;

  // The choice, or request, with what they say in place of what it says.
  void apply(Choice& choice) const;
  void apply(SpeechRequest& request) const;
};

// The refusal names the variable, its value, and what it may be.
Answer<Knobs> read_knobs();

// The least important lines that somebody wants to see, once they look at any.
LogLevel wanted_log_level();

}  // namespace parlance::capi
