#include "tts/speech_traits.h"

namespace parlance {

Result<SpeechTraits> speech_traits_of(const GgufFile& base) {
  constexpr int64_t kLeastSeconds = 2, kMostSeconds = 120;
  SpeechTraits traits;
  PARLANCE_TRY(traits.text_form, text_form_of(base));
  PARLANCE_TRY(traits.longest_seconds, base.find_int("parlance.max_seconds", kLeastSeconds, kMostSeconds));
  PARLANCE_TRY(const auto has_own_voices, base.find_bool("parlance.own_voices"));
  traits.has_own_voices = has_own_voices.value_or(false);
  return traits;
}

}  // namespace parlance
