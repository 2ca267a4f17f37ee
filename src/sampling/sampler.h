// From logits to the next token: a chain of small steps in a fixed order, with a seeded random source. The
// same seed, settings and logits give the same tokens on every machine.
//
// The order is the one that users of llama.cpp know:
//   logit bias, penalties, top-k, top-p, min-p, temperature, draw.
// Top-p and min-p thus look at the probabilities before the temperature flattens or sharpens them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sampling/token_draw.h"
#include "sampling/top_logits.h"

namespace parlance {

struct SamplingOptions {
  float temperature = 0.7f;         // 0: greedy
  int top_k = 40;                   // 0: off
  float top_p = 0.95f;              // 1: off
  float min_p = 0.05f;              // 0: off
  float repetition_penalty = 1.0f;  // 1: off; divides positive, multiplies negative logits of seen tokens
  float presence_penalty = 0.0f;    // subtracted from the logit of a seen token
  float frequency_penalty = 0.0f;   // subtracted for each time that a token was seen
  int penalty_last_n = 256;         // tokens that the penalties look back on; 0: off; -1: all
  uint64_t seed = 0;
  std::vector<std::pair<int32_t, float>> logit_bias = {};  // token, added to its logit; -inf forbids it
};

// Checks ranges; the error names the option and the range.
Result<void> validate(const SamplingOptions& options);

// Whether the n highest logits may be enough for sample(); else it always needs all of them.
bool may_do_with_top(const SamplingOptions& options, int64_t n);

// Whether sample() gives the most likely token, whatever was said before.
bool takes_most_likely(const SamplingOptions& options);

// Whether the n highest logits are always enough, and nothing else counts but them and a random number: what
// Sampler::next_draw() then says is what sample() will do.
bool draws_from_top(const SamplingOptions& options, int64_t n);

struct TokenProbability {
  int32_t token;
  double probability;
};

// A token that was proposed in the place of the next one, and what it was drawn from: by token, ascending;
// empty, where no other could have come.
struct Proposal {
  int32_t token;
  std::span<const TokenProbability> drawn_from = {};
};

// The token of a distribution that a random number in [0, 1) stands for.
int32_t drawn(std::span<const TokenProbability> distribution, double random);

class Sampler {
 public:
  // The options are valid.
  explicit Sampler(SamplingOptions options);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;
  // A copy goes on from the same state, which is how a state is kept to come back to.
  Sampler(const Sampler&);
  Sampler& operator=(const Sampler&);

  // The next token. Logits are one per vocabulary entry; they are left as they are. NaN counts as -inf; if
  // every logit is -inf the first token is returned. Greedy choice takes the lowest id of equal logits and
  // draws nothing; otherwise each call draws one random number, whatever the logits are.
  int32_t sample(std::span<const float> logits);

  // The same where a token was proposed. It is taken as often as possible without changing how often any
  // token is: with probability min(1, p/q), p being what sample() gives it and q what it was drawn from; else
  // the next token is drawn from the positive part of p - q (speculative sampling). A proposal may depend on
  // all that was sampled before it, and on nothing else of this sampler's random source. Draws one number
  // too; a greedy choice is the same with and without proposals.
  int32_t sample(std::span<const float> logits, const Proposal& proposal);

  // What both give for all logits, where these can tell; none, and nothing has changed, where they cannot.
  std::optional<int32_t> sample(const TopLogits& top);
  std::optional<int32_t> sample(const TopLogits& top, const Proposal& proposal);

  // How the next call of sample() will draw, where draws_from_top().
  TokenDraw next_draw() const;

  // What sample() draws from: the tokens that the chain leaves, with probabilities that add up to 1. Valid
  // until the next call.
  std::span<const TokenProbability> distribution(std::span<const float> logits);

  // Tells the penalties that a token (of the prompt or the answer) has been seen.
  void accept(int32_t token);
  // Between these two, accept() counts for a trial only; nothing where none was begun.
  void begin_trial();
  void end_trial();

  // Forgets seen tokens and starts the random source again from the seed.
  void reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace parlance
