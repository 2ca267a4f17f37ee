// What a speech model's file says about how it is to be spoken with; files of others say nothing of it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "gguf/reader.h"
#include "tts/text/text_form.h"

namespace parlance {

struct SpeechTraits {
  TextForm text_form = TextForm::as_written;  // that its tokenizer is to be given: "parlance.text_form"
  // The longest stretch that it was trained to speak at once: "parlance.max_seconds".
  std::optional<int64_t> longest_seconds;
  // Words, or none, ask for one voice each: parts of a text have the same one without following the first.
  bool has_own_voices = false;  // "parlance.own_voices"
};

// Errors: values that this program does not know.
Result<SpeechTraits> speech_traits_of(const GgufFile& base);

}  // namespace parlance
