// Whether synthesised speech can be understood, and sounds like the voice that was asked for.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "eval/speech_comparison.h"
#include "eval/speech_set.h"
#include "eval/transcripts.h"
#include "speaker/speaker_verifier.h"
#include "tts/synthesizer.h"

namespace parlance {

struct TtsScores {
  TranscriptScores transcripts;  // of which audio_s is that of the speech
  double synthesis_s = 0;
  size_t n_compared = 0;
  double likeness = 0, least_likeness = 1;  // sum and least of those compared

  TtsScores& operator+=(const TtsScores& other) {
    transcripts += other.transcripts;
    synthesis_s += other.synthesis_s;
    n_compared += other.n_compared;
    likeness += other.likeness;
    least_likeness = std::min(least_likeness, other.least_likeness);
    return *this;
  }
  double real_time_factor() const { return transcripts.audio_s > 0 ? synthesis_s / transcripts.audio_s : 0; }
  std::optional<double> mean_likeness() const {
    if (n_compared == 0) return std::nullopt;
    return likeness / static_cast<double>(n_compared);
  }
};

struct JudgedSpeech {
  Speech speech;
  std::string heard;
  TtsScores scores;
};

// One text in one of several ways.
struct JudgedWay {
  SpokenOnce scores;
  AudioCodes codes;            // of all its chunks, one after the other
  std::vector<float> samples;  // at kMelSampleRateHz, as it is heard
  std::vector<float> raw;      // the same before silences are cut
};

class SpeechJudge {
 public:
  // `verifier` compares voices; null: they are not compared.
  SpeechJudge(Synthesizer& synthesizer, Hearer& hearer, const SpeakerVerifier* verifier)
      : synthesizer_(synthesizer), hearer_(hearer), verifier_(verifier) {}

  // Speaks what the request says, which is the line's text, and hears it. The voice is compared with the
  // line's recording to compare with, else with the one that it is taken from.
  Result<JudgedSpeech> judge(const SpeechRequest& request, const SpeechLine& line);
  // The same for comparing ways; all but what is compared.
  Result<JudgedWay> judge_way(const SpeechRequest& request, const SpeechLine& line);

 private:
  Result<std::optional<double>> likeness_of(std::span<const float> samples, const SpeechLine& line);

  Synthesizer& synthesizer_;
  Hearer& hearer_;
  const SpeakerVerifier* verifier_;
  std::map<std::filesystem::path, std::vector<float>> voices_;  // of recordings that were compared with
};

}  // namespace parlance
