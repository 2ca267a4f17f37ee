// Text generation: a prompt in, text out piece by piece, until the model ends its turn or a limit is met.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/session.h"
#include "sampling/sampler.h"

namespace parlance {

struct GenerateOptions {
  SamplingOptions sampling;
  int64_t max_tokens = -1;        // of the answer; -1: as many as the context holds
  std::vector<std::string> stop;  // texts that end the answer and are not part of it
  bool ignore_eos = false;        // go on past the end-of-turn token (for timing)
};

enum class FinishReason {
  stop,     // the model ended its turn, or a stop text came
  length,   // max_tokens
  context,  // the context is full
  cancelled,
};

std::string_view name_of(FinishReason reason);

struct GenerateResult {
  std::string text;
  std::vector<Token> tokens;  // of the answer, without the end-of-turn token
  FinishReason finish_reason = FinishReason::stop;
  int64_t n_prompt = 0;         // tokens of the prompt
  int64_t n_prompt_cached = 0;  // of these, tokens whose keys and values were in the cache already
  double prefill_ms = 0;        // until the first token of the answer was known
  double decode_ms = 0;         // the rest
};

// Called with each piece of text as soon as it is final (whole code points, no beginning of a stop text).
using OnText = std::function<void(std::string_view text)>;

// Runs the session from `prompt`. Cancelling the session ends the answer with FinishReason::cancelled; what
// was said until then is kept.
Result<GenerateResult> generate(Session& session, std::span<const Token> prompt,
                                const GenerateOptions& options, const OnText& on_text = {});

}  // namespace parlance
