#include "voice/trace.h"

#include <algorithm>
#include <cmath>

namespace parlance {

std::string_view name_of(Checkpoint checkpoint) {
  constexpr std::array<std::string_view, kCheckpoints> kNames = {
      "vad-speech-start", "asr-first-partial",     "vad-speech-end",     "vad-pause", "asr-final",
      "llm-start",        "llm-first-token",       "phrase-emit",        "tts-start", "turn-end",
      "llm-end",          "tts-first-audio-chunk", "audio-first-played", "tts-end",   "audio-last-played",
      "barge-in-trigger", "barge-in-hushed",       "barge-in-hard-stop"};
  return kNames[static_cast<size_t>(checkpoint)];
}

std::optional<double> TurnTrace::between_ms(Checkpoint from, Checkpoint to) const {
  const auto start = at_ms(from), end = at_ms(to);
  if (!start || !end) return std::nullopt;
  return *end - *start;
}

std::span<const TurnMetric> turn_metrics() {
  using enum Checkpoint;
  static constexpr std::array kMetrics = {
      TurnMetric{"heard", "from the pause to the text", pause, asr_final},
      TurnMetric{"first_token", "from the text to the first token", asr_final, llm_first_token},
      TurnMetric{"thought", "from the text to the first phrase", asr_final, phrase_emit},
      TurnMetric{"spoke", "from the first phrase to its first sound", phrase_emit, tts_first_audio},
      TurnMetric{"waited", "from the end of speech to that of the turn", speech_end, turn_end},
      TurnMetric{"ready", "from the end of speech to the first sound computed", speech_end, tts_first_audio},
      TurnMetric{"first_audio", "from the end of speech to the first sound played", speech_end,
                 audio_first_played},
      TurnMetric{"hushed", "from the beginning of speech into the answer to silence", barge_in, hushed},
      TurnMetric{"cut_off", "and to the end of the answer", barge_in, hard_stop},
  };
  return kMetrics;
}

Percentiles percentiles_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = [&](double p) {
    const auto n = static_cast<double>(values.size());
    return values[static_cast<size_t>(std::max(1.0, std::ceil(p * n))) - 1];
  };
  return {.n = values.size(), .p50 = rank(0.5), .p90 = rank(0.9), .p99 = rank(0.99)};
}

}  // namespace parlance
