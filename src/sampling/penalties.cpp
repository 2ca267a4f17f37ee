#include "sampling/penalties.h"

namespace parlance {

void Penalties::accept(int32_t token) {
  if (options_.are_off()) return;
  ++counts_[token];
  if (options_.last_n < 0) return;
  window_.push_back(token);
  if (window_.size() <= static_cast<size_t>(options_.last_n)) return;
  const auto oldest = counts_.find(window_.front());
  window_.pop_front();
  if (--oldest->second == 0) counts_.erase(oldest);
}

void Penalties::forget() {
  window_.clear();
  counts_.clear();
}

void Penalties::apply(std::span<float> logits) const {
  for (const auto& [token, count] : counts_) {
    if (token < 0 || static_cast<size_t>(token) >= logits.size()) continue;
    float& logit = logits[static_cast<size_t>(token)];
    logit = penalised(logit, count);
  }
}

float Penalties::applied_to(int32_t token, float logit) const {
  const auto seen = counts_.find(token);
  return seen == counts_.end() ? logit : penalised(logit, seen->second);
}

float Penalties::penalised(float logit, int count) const {
  logit = logit > 0 ? logit / options_.repetition : logit * options_.repetition;
  return logit - (static_cast<float>(count) * options_.frequency + options_.presence);
}

}  // namespace parlance
