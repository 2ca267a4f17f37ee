#include "eval/transcripts.h"

#include <chrono>

#include "audio/mel.h"
#include "text/spoken_form.h"

namespace parlance {

TranscriptScores& TranscriptScores::operator+=(const TranscriptScores& other) {
  n_recordings += other.n_recordings;
  errors += other.errors;
  n_silent += other.n_silent;
  n_silent_right += other.n_silent_right;
  audio_s += other.audio_s;
  processing_s += other.processing_s;
  return *this;
}

std::string percent_of_words(const TranscriptScores& scores) {
  if (scores.errors.n_words == 0) return "-";
  return fmt::format("{:.1f} %", 100 * scores.errors.rate());
}

Result<TranscriptScores> Hearer::hear(std::span<const float> samples, const std::string& text,
                                      std::string& heard, const Cancellation& cancellation) {
  const auto start = std::chrono::steady_clock::now();
  PARLANCE_TRY(const Transcription transcription,
               recognizer_.transcribe(samples, request_, {}, cancellation));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const Transcript& transcript = transcription.transcript;
  heard = transcript.text;
  const std::string said = spoken(text);
  TranscriptScores scores{.n_recordings = 1,
                          .errors = count_word_errors(said, spoken(heard)),
                          .audio_s = static_cast<double>(samples.size()) / kMelSampleRateHz,
                          .processing_s = elapsed.count()};
  if (said.empty()) {
    scores.n_silent = 1;
    scores.n_silent_right = transcript.language.empty() && heard.empty();
  }
  return scores;
}

}  // namespace parlance
