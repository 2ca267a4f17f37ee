// Samplers one behind the other, as one.
#pragma once

#include <vector>

#include "capi/llama/sampler.h"

namespace parlance::capi {

// Owns its members.
class LlamaSamplerChain final : public LlamaSampler {
 public:
  explicit LlamaSamplerChain(bool is_timed) : is_timed_(is_timed) {}
  ~LlamaSamplerChain() override;

  const char* name() const override { return "chain"; }
  void apply(llama_token_data_array& candidates) override;
  void accept(llama_token token) override;
  void reset() override;
  std::unique_ptr<LlamaSampler> clone() const override;
  uint32_t seed() const override;  // of the last one that has one

  std::vector<llama_sampler*>& members() { return members_; }
  // Kept from token to token: one for each of a vocabulary.
  std::vector<llama_token_data>& candidates() { return candidates_; }

  bool is_timed() const { return is_timed_; }
  llama_perf_sampler_data times() const { return {static_cast<double>(us_) / 1000, n_sampled_}; }
  void reset_times() { us_ = n_sampled_ = 0; }
  void note(int64_t us, int32_t n_sampled);

 private:
  const bool is_timed_;
  std::vector<llama_sampler*> members_;
  std::vector<llama_token_data> candidates_;
  int64_t us_ = 0;
  int32_t n_sampled_ = 0;
};

// Null, and a line in the log, where the sampler is none.
LlamaSamplerChain* chain_of(const char* function, const llama_sampler* sampler);

}  // namespace parlance::capi
