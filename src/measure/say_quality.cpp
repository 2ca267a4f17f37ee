#include "measure/say_quality.h"

#include <random>
#include <string>
#include <vector>

#include "measure/text_steps.h"
#include "tts/synthesizer.h"

namespace parlance {

namespace {

// Tokens of a prompt beside those of its words: style, and where the text begins and ends.
constexpr int64_t kStyleTokens = 14;

// A letter, or a space, is a token of a synthetic vocabulary. Every fifth word ends a clause, every tenth a
// sentence, where there may be parts.
std::string text_of(int64_t n_tokens, bool has_parts) {
  std::string text;
  for (int64_t i = 0; i + kStyleTokens + 1 < n_tokens; ++i) {
    if (has_parts && i % 50 == 48) {
      text += '.';
    } else if (has_parts && i % 25 == 23) {
      text += ',';
    } else {
      text += i % 5 == 4 ? ' ' : 'a';
    }
  }
  return text + ".";
}

Voice reference_of(const SayCase& chunk, const CodeFormat& format) {
  Voice voice;
  voice.reference.n_codebook = format.n_codebook;
  std::mt19937 random(1);
  for (int64_t i = 0; i < chunk.n_reference * format.n_codebook; ++i) {
    voice.reference.codes.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(format.n_codes)));
  }
  return voice;
}

}  // namespace

Result<SayRun> run_say_quality(const TtsModel& model, const SayCase& chunk, SpeechQuality quality,
                               int n_repetitions) {
  Synthesizer synthesizer(model);
  SpeechRequest request;
  request.text = text_of(chunk.n_text, chunk.n_frames == 0);
  request.voice = reference_of(chunk, synthesizer.code_format());
  if (chunk.n_frames > 0) request.seconds = static_cast<double>(chunk.n_frames) / kFramesPerSecond + 1e-4;
  request.chunking = kStreamedChunking;
  request.quality = quality;
  request.is_processed = false;
  SayRun run;
  std::vector<double> first_s, model_s, codec_s, total_s;
  for (int i = 0; i <= n_repetitions; ++i) {
    PARLANCE_TRY(const SpeechReport report,
                 synthesizer.stream(request, [](std::span<const float>, bool) { return true; }));
    double in_model_s = 0, in_codec_s = 0;
    run.n_steps = 0, run.n_columns = 0;
    for (const SpokenChunk& spoken : report.chunks) {
      run.n_steps += spoken.n_steps;
      run.n_columns += spoken.n_columns;
      in_model_s += spoken.model_seconds;
      in_codec_s += spoken.codec_seconds;
    }
    run.audio_s = report.audio_seconds();
    if (i == 0) continue;
    first_s.push_back(report.first_audio_seconds);
    model_s.push_back(in_model_s);
    codec_s.push_back(in_codec_s);
    total_s.push_back(report.total_seconds);
  }
  run.first_sound_s = median(first_s);
  run.model_s = median(model_s);
  run.codec_s = median(codec_s);
  run.total_s = median(total_s);
  return run;
}

}  // namespace parlance
