// Samplers: what chooses among candidates, or changes or leaves out some. Programs may bring their own; the
// library's are classes behind one table of functions.
#pragma once

#include <memory>
#include <span>

#include "capi/llama/abi.h"

namespace parlance::capi {

class LlamaSampler {
 public:
  virtual ~LlamaSampler() = default;
  LlamaSampler() = default;
  LlamaSampler& operator=(const LlamaSampler&) = delete;

  virtual const char* name() const = 0;
  virtual void apply(llama_token_data_array& candidates) = 0;  // there is one at least
  virtual void accept(llama_token) {}
  virtual void reset() {}
  // Goes on from the same state.
  virtual std::unique_ptr<LlamaSampler> clone() const = 0;
  virtual uint32_t seed() const { return LLAMA_DEFAULT_SEED; }

 protected:
  LlamaSampler(const LlamaSampler&) = default;
};

// In the caller's hands; llama_sampler_free() ends it.
llama_sampler* give_sampler(std::unique_ptr<LlamaSampler> sampler);

// The library's object behind one; null: it is a program's own, or there is none.
LlamaSampler* own_sampler(const llama_sampler* sampler);

// Whether it was made by llama_sampler_init() or one of the library, and is not freed yet; says so in the log
// where not.
bool is_live_sampler(const char* function, const llama_sampler* sampler);

// Of candidates (sampler_steps.cpp): the k likeliest first, in order, the rest behind them in any; equal ones
// by token.
void sort_candidates(llama_token_data_array& candidates, size_t k);
float highest_logit(const llama_token_data_array& candidates);
// Puts probabilities in.
void softmax(llama_token_data_array& candidates);
inline std::span<llama_token_data> all_of(llama_token_data_array& candidates) {
  return {candidates.data, candidates.size};
}

}  // namespace parlance::capi
