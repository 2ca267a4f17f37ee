#include "eval/speech_judge.h"

#include <filesystem>
#include <vector>

#include "audio/audio_file.h"
#include "audio/mel.h"
#include "tts/audio/sinc_resampler.h"
#include "tts/audio/speech_stream.h"

namespace parlance {

Result<JudgedSpeech> SpeechJudge::judge(const SpeechRequest& request, const SpeechLine& line) {
  JudgedSpeech judged;
  PARLANCE_TRY(judged.speech, synthesizer_.synthesize(request));
  const std::vector<float> samples = sinc_resample(judged.speech.samples, kSpeechRateHz, kMelSampleRateHz);
  TtsScores& scores = judged.scores;
  scores.synthesis_s = judged.speech.report.total_seconds;
  PARLANCE_TRY(scores.transcripts, hearer_.hear(samples, line.text, judged.heard, request.cancellation));
  PARLANCE_TRY(const std::optional<double> likeness, likeness_of(samples, line));
  if (!likeness) return judged;
  scores.n_compared = 1;
  scores.likeness = scores.least_likeness = *likeness;
  return judged;
}

// To the recording that the line names, if it names one.
Result<std::optional<double>> SpeechJudge::likeness_of(std::span<const float> samples,
                                                       const SpeechLine& line) {
  const std::filesystem::path& compare = line.compare.empty() ? line.reference : line.compare;
  if (!verifier_ || compare.empty()) return std::nullopt;
  auto known = voices_.find(compare);
  if (known == voices_.end()) {
    PARLANCE_TRY(const AudioClip clip, read_audio(compare, kMelSampleRateHz));
    if (clip.samples.empty())
      return fail(ErrorCode::corrupt_file, "{}: there is no sound in it", compare.string());
    known = voices_.emplace(compare, verifier_->embed(clip.samples)).first;
  }
  return likeness(verifier_->embed(samples), known->second);
}

Result<JudgedWay> SpeechJudge::judge_way(const SpeechRequest& request, const SpeechLine& line) {
  SpeechRequest raw = request;
  raw.is_processed = false;
  PARLANCE_TRY(const Speech speech, synthesizer_.synthesize(raw));
  JudgedWay way;
  PARLANCE_TRY(const std::vector<float> heard,
               finish_speech(std::span(&speech.samples, 1), request.voice.rms));
  way.raw = sinc_resample(speech.samples, kSpeechRateHz, kMelSampleRateHz);
  way.samples = sinc_resample(heard, kSpeechRateHz, kMelSampleRateHz);
  for (const SpokenChunk& chunk : speech.report.chunks) {
    way.codes.n_codebook = chunk.codes.n_codebook;
    way.codes.codes.insert(way.codes.codes.end(), chunk.codes.codes.begin(), chunk.codes.codes.end());
    way.scores.n_columns += chunk.n_columns;
  }
  way.scores.audio_s = static_cast<double>(speech.samples.size()) / kSpeechRateHz;
  way.scores.synthesis_s = speech.report.total_seconds;
  std::string words;
  PARLANCE_TRY(const TranscriptScores transcript,
               hearer_.hear(way.samples, line.text, words, request.cancellation));
  way.scores.errors = transcript.errors;
  PARLANCE_TRY(way.scores.likeness, likeness_of(way.samples, line));
  return way;
}

}  // namespace parlance
