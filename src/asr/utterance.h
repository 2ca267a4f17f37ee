// One stretch of speech on its way to text: samples in, the transcript of those that there are out, now and
// at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "asr/asr_model.h"
#include "asr/speech_decoder.h"
#include "asr/transcription.h"

namespace parlance {

// Most tokens of an answer whose limit goes by the length of the audio.
inline constexpr int64_t kMaxAnswerTokens = 4096;
// Of what was said in so many seconds: so many tokens for each of them, and some beside.
inline constexpr int64_t kAnswerTokensPerSecond = 32, kAnswerTokensBeside = 64;

struct UtteranceOptions {
  AsrMode mode = kReferenceAsr;
  int64_t max_tokens = 0;  // of the answer; 0: by the length of the audio
  // See DecodeLimits::script: the answer to so many seconds of audio.
  std::function<std::vector<Token>(double seconds)> script = {};
};

// What was heard. Of a preview the last words may still change.
struct Hypothesis {
  std::string raw;        // as the model wrote it
  Transcript transcript;  // read from it
  std::string stable;     // beginning of the text that two previews agreed on, or that is some words old
  std::vector<Token> tokens;
  bool is_complete = false;  // the model ended its answer
};

class Utterance {
 public:
  // The encoder and the session's model must be of one AsrModel, and outlive the utterance.
  Utterance(SpeechEncoder& encoder, std::unique_ptr<Session> session, AsrPrompt prompt,
            const UtteranceOptions& options);

  // Finite mono samples at kMelSampleRateHz.
  void push(std::span<const float> samples);
  std::span<const float> samples() const { return samples_; }

  // The transcript of the samples there are. A preview is cheap, the final one is what all samples in one
  // piece give. Errors: cancelled, after which it can be called again.
  Result<void> preview(const Work& work = {});
  Result<void> finish(const Work& work = {});
  // Computes ahead for either, where it listens(). Errors: as above.
  Result<void> listen(const Work& work = {}) { return rows_.listen(work); }
  bool listens() const { return rows_.listens(); }
  const Hypothesis& hypothesis() const { return hypothesis_; }
  bool is_final() const { return is_final_; }  // whether the hypothesis is that of finish(), with all samples

  // Begins anew, without samples.
  void restart();

  // Told after each window how many seconds have been encoded, until restart().
  void on_progress(std::function<void(double seconds)> listener);

  // Told the transcript's text so far while finish() works. It hardly ever takes back what it said: only
  // where the model begins to go round in a circle, of which the transcript keeps one round.
  void on_text(std::function<void(const std::string& text)> listener) { on_text_ = std::move(listener); }

  AsrTokens n_tokens() const;  // of the hypothesis
  Session& session() const { return decoder_.session(); }

 private:
  Result<void> update(RowsKind kind, const Work& work);
  void read_preview();
  std::string raw_text(std::span<const Token> tokens) const;
  Transcript read(std::string_view raw, bool is_preview) const;
  int64_t max_tokens() const;
  void agree(const std::vector<Token>& answer);

  UtteranceOptions options_;
  SpeechEncoder& encoder_;
  std::vector<float> samples_;
  AudioRows rows_;
  SpeechDecoder decoder_;
  std::vector<Token> before_;  // the answer of the preview before
  std::vector<Token> stable_;  // tokens of the stable text
  Hypothesis hypothesis_;
  bool is_final_ = false;
  std::function<void(const std::string& text)> on_text_;
};

}  // namespace parlance
