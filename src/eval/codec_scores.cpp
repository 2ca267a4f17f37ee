#include "eval/codec_scores.h"

#include <chrono>
#include <vector>

#include "audio/mel.h"
#include "tts/audio/sinc_resampler.h"
#include "tts/audio/speech_format.h"

namespace parlance {

namespace {

// To codes and back.
Result<std::vector<float>> through_codec(SpeechCodec& codec, std::span<const float> samples,
                                         const Cancellation& cancellation) {
  PARLANCE_TRY(const std::vector<int32_t> codes, codec.encode(samples, cancellation));
  const auto n_frames = std::ssize(codes) / codec.n_codebook();
  std::vector<float> coded;
  PARLANCE_CHECK(codec.decode(codes, n_frames, 0, n_frames, coded, cancellation));
  return coded;
}

}  // namespace

Result<CodecScores> CodecJudge::judge(std::span<const float> samples, std::span<const float> wide,
                                      const std::string& text, std::string& heard,
                                      const Cancellation& cancellation) {
  const auto start = std::chrono::steady_clock::now();
  PARLANCE_TRY(const std::vector<float> coded, through_codec(codec_, wide, cancellation));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CodecScores scores;
  scores.codec_s = elapsed.count();
  PARLANCE_TRY(scores.original, hearer_.hear(samples, text, heard, cancellation));
  PARLANCE_TRY(scores.coded, hearer_.hear(sinc_resample(coded, kSpeechRateHz, kMelSampleRateHz), text, heard,
                                          cancellation));
  return scores;
}

}  // namespace parlance
