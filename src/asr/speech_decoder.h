// From rows of audio to tokens of the transcript: greedy decoding, with what was heard before as a draft.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "asr/audio_rows.h"
#include "asr/prompt.h"
#include "engine/session.h"

namespace parlance {

// Tokens of a draft that are verified in one step, at most.
inline constexpr size_t kDraftTokens = 63;

struct DecodeLimits {
  int64_t max_tokens = 0;      // of the whole answer
  int64_t max_new_tokens = 0;  // beyond those of the draft that were right
  bool stops_circles = false;  // end an answer that goes round in a circle
  // For timing a model whose weights are random: what it is taken to answer. All is computed as ever.
  const std::vector<Token>* script = nullptr;
  // Told the answer so far, with each of its tokens.
  std::function<void(std::span<const Token> answer)> on_answer = {};
};

struct DecodeResult {
  bool is_complete = false;  // the model ended its answer; else a limit did
};

class SpeechDecoder {
 public:
  // The session's context must take embeddings and yield kDraftTokens + 1 outputs.
  SpeechDecoder(std::unique_ptr<Session> session, AsrPrompt prompt)
      : session_(std::move(session)), prompt_(std::move(prompt)) {}

  // Puts what the model answers to the windows in place of the answer before, which serves as a draft: of a
  // prefix of it that the model would write again, many tokens cost one step. The answer is that of greedy
  // decoding. With `is_final`, it is the one that a decoder without a draft gives, token for token: the draft
  // is verified with the windows as far as the device gives its tokens the numbers of single ones there, and
  // what is left of it in steps of its own; else with the windows, whose numbers may be others. Errors:
  // cancelled (the answer stays as it was), a context that is too short.
  Result<DecodeResult> decode(const AudioRows& audio, const DecodeLimits& limits, bool is_final,
                              const Work& work = {});

  const std::vector<Token>& answer() const { return answer_; }
  const AsrPrompt& prompt() const { return prompt_; }
  Session& session() const { return *session_; }

  // Forgets audio and answer.
  void clear();

 private:
  Result<void> take_closed(const AudioRows& audio, const Work& work);
  Result<std::span<const Token>> append_open(const AudioRows& audio, std::span<const Token> draft,
                                             bool is_final, const Work& work);
  Result<std::span<const Token>> append(std::span<const Token> tokens, int64_t n_outputs, const Work& work);
  int64_t base() const;

  struct KnownWindow {
    uint64_t id;
    int64_t n_tokens;
  };

  std::unique_ptr<Session> session_;
  AsrPrompt prompt_;
  std::vector<KnownWindow> known_;  // closed windows that the session has taken in
  std::vector<Token> answer_;
};

}  // namespace parlance
