#include "tts/text/duration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/unicode.h"

namespace parlance {

namespace {

struct ClassWeight {
  char32_t first, last;
  float weight;
};

// Marks 0, punctuation and symbols 0.5, separators 0.2, numbers 3.5, as Unicode 15.1 has them; not utf8proc's
// classes, which change with its version.
constexpr ClassWeight kClassWeights[] = {
#include "tts/text/class_weights.inc"
};

struct ScriptWeight {
  char32_t last;
  float weight;
};

constexpr ScriptWeight kScriptWeights[] = {
#include "tts/text/script_weights.inc"
};
constexpr char32_t kBeforeRareIdeographs = 0x20000;
constexpr float kIdeograph = 3.0f, kOtherScript = 1.0f;

constexpr char32_t kTatweel = 0x640;  // lengthens a written word, not the spoken one

constexpr float kShortText = 50;  // frames; below, estimates are raised

// A pace that suits most voices.
constexpr std::string_view kOrdinaryText = "Nice to meet you.";
constexpr float kOrdinaryFrames = 25;

int32_t at_least_one(float n_frames) {
  constexpr auto kMost = std::numeric_limits<int32_t>::max();
  if (n_frames >= static_cast<float>(kMost)) return kMost;
  return n_frames >= 1 ? static_cast<int32_t>(n_frames) : 1;
}

}  // namespace

float char_weight(char32_t c) {
  if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) return 1.0f;
  if (c == kTatweel) return 0.0f;
  const auto* range = std::ranges::lower_bound(kClassWeights, c, {}, &ClassWeight::last);
  if (range != std::end(kClassWeights) && range->first <= c) return range->weight;
  const auto* script = std::ranges::lower_bound(kScriptWeights, c, {}, &ScriptWeight::last);
  if (script != std::end(kScriptWeights)) return script->weight;
  return c > kBeforeRareIdeographs ? kIdeograph : kOtherScript;
}

float text_weight(std::string_view text) {
  float weight = 0;
  for (size_t at = 0; at < text.size();) weight += char_weight(next_code_point(text, at));
  return weight;
}

float estimate_frames(std::string_view text, std::string_view reference_text, float n_reference) {
  const float reference = text_weight(reference_text);
  if (!(n_reference > 0) || !(reference > 0)) return 0;
  const float n_frames = text_weight(text) / (reference / n_reference);
  if (n_frames >= kShortText) return n_frames;
  return kShortText * std::pow(n_frames / kShortText, 1.0f / 3.0f);
}

int32_t n_target_frames(std::string_view text, std::string_view reference_text, int32_t n_reference) {
  const bool has_reference = !reference_text.empty() && n_reference > 0;
  return at_least_one(has_reference ? estimate_frames(text, reference_text, static_cast<float>(n_reference))
                                    : estimate_frames(text, kOrdinaryText, kOrdinaryFrames));
}

int32_t frames_of_seconds(float seconds, int32_t sample_rate_hz, int32_t n_hop) {
  return at_least_one(seconds * static_cast<float>(sample_rate_hz) / static_cast<float>(n_hop));
}

}  // namespace parlance
