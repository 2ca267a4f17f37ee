// What words lose when speech goes through the codec.
#pragma once

#include <span>
#include <string>

#include "eval/transcripts.h"
#include "tts/speech_codec.h"

namespace parlance {

// Recordings as they are, and what the codec makes of them.
struct CodecScores {
  TranscriptScores original, coded;
  double codec_s = 0;

  CodecScores& operator+=(const CodecScores& other) {
    original += other.original;
    coded += other.coded;
    codec_s += other.codec_s;
    return *this;
  }
  // Word errors that the codec adds, in percentage points.
  double points() const { return 100 * (coded.errors.rate() - original.errors.rate()); }
  double real_time_factor() const { return original.audio_s > 0 ? codec_s / original.audio_s : 0; }
};

// Hears a recording as it is, and what the codec makes of it.
class CodecJudge {
 public:
  CodecJudge(SpeechCodec& codec, Hearer& hearer) : codec_(codec), hearer_(hearer) {}

  // `samples` at kMelSampleRateHz and `wide` at the codec's rate are the same recording, in which `text` is
  // said; `heard` becomes what is understood of the coded one.
  Result<CodecScores> judge(std::span<const float> samples, std::span<const float> wide,
                            const std::string& text, std::string& heard, const Cancellation& cancellation);

 private:
  SpeechCodec& codec_;
  Hearer& hearer_;
};

}  // namespace parlance
