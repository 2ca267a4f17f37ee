#include "eval/speech_judge.h"

#include <filesystem>
#include <vector>

#include "audio/audio_file.h"
#include "audio/mel.h"
#include "tts/audio/sinc_resampler.h"

namespace parlance {

Result<JudgedSpeech> SpeechJudge::judge(const SpeechRequest& request, const SpeechLine& line) {
  JudgedSpeech judged;
  PARLANCE_TRY(judged.speech, synthesizer_.synthesize(request));
  const std::vector<float> samples = sinc_resample(judged.speech.samples, kSpeechRateHz, kMelSampleRateHz);
  TtsScores& scores = judged.scores;
  scores.synthesis_s = judged.speech.report.total_seconds;
  PARLANCE_TRY(scores.transcripts, hearer_.hear(samples, line.text, judged.heard, request.cancellation));
  const std::filesystem::path& compare = line.compare.empty() ? line.reference : line.compare;
  if (!verifier_ || compare.empty()) return judged;
  PARLANCE_TRY(const AudioClip clip, read_audio(compare, kMelSampleRateHz));
  if (clip.samples.empty())
    return fail(ErrorCode::corrupt_file, "{}: there is no sound in it", compare.string());
  scores.n_compared = 1;
  scores.likeness = scores.least_likeness =
      likeness(verifier_->embed(samples), verifier_->embed(clip.samples));
  return judged;
}

}  // namespace parlance
