// From logits to the next token: a chain of small steps in a fixed order, with a seeded random source. The same
// seed, settings and logits give the same tokens on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"

namespace parlance {

struct SamplingOptions {
  float temperature = 0.7f;        // 0: greedy
  int top_k = 40;                  // 0: off
  float top_p = 0.95f;             // 1: off
  float min_p = 0.05f;             // 0: off
  float repetition_penalty = 1.0f; // 1: off; divides positive, multiplies negative logits of seen tokens
  float presence_penalty = 0.0f;
  float frequency_penalty = 0.0f;
  int penalty_last_n = 256;        // tokens that the penalties look back on; -1: all
  uint64_t seed = 0;
  std::vector<std::pair<int32_t, float>> logit_bias;  // token, added to its logit; -inf forbids it
};

// Checks ranges; the error names the option and the range.
Result<void> validate(const SamplingOptions& options);

class Sampler {
 public:
  explicit Sampler(SamplingOptions options);
  ~Sampler();
  Sampler(Sampler&&) noexcept;
  Sampler& operator=(Sampler&&) noexcept;

  // The next token. Logits are one per vocabulary entry; they are left as they are. NaN counts as -inf; if every
  // logit is -inf the first token is returned.
  int32_t sample(std::span<const float> logits);

  // Tells the penalties that a token (of the prompt or the answer) has been seen.
  void accept(int32_t token);

  // Forgets seen tokens and starts the random source again from the seed.
  void reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace parlance
