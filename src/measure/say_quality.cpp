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

// A letter, or a space, is a token of a synthetic vocabulary.
std::string text_of(int64_t n_tokens) {
  std::string text;
  for (int64_t i = 0; i + kStyleTokens + 1 < n_tokens; ++i) text += i % 5 == 4 ? ' ' : 'a';
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
  request.text = text_of(chunk.n_text);
  request.voice = reference_of(chunk, synthesizer.code_format());
  request.seconds = static_cast<double>(chunk.n_frames) / kFramesPerSecond + 1e-4;
  request.quality = quality;
  request.is_processed = false;
  SayRun run;
  std::vector<double> first_s, model_s, codec_s, total_s;
  for (int i = 0; i <= n_repetitions; ++i) {
    PARLANCE_TRY(const SpeechReport report,
                 synthesizer.stream(request, [](std::span<const float>, bool) { return true; }));
    const SpokenChunk& spoken = report.chunks.front();
    run.n_steps = spoken.n_steps;
    run.n_columns = spoken.n_columns;
    if (i == 0) continue;
    first_s.push_back(report.first_audio_seconds);
    model_s.push_back(spoken.model_seconds);
    codec_s.push_back(spoken.codec_seconds);
    total_s.push_back(report.total_seconds);
  }
  run.first_sound_s = median(first_s);
  run.model_s = median(model_s);
  run.codec_s = median(codec_s);
  run.total_s = median(total_s);
  return run;
}

}  // namespace parlance
