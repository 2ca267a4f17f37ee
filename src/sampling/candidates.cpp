#include "sampling/candidates.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "sampling/portable_exp.h"

namespace parlance {

namespace {

constexpr float kNever = -INFINITY;

bool is_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// Differences of logits are to be finite.
float bounded(float logit) {
  return std::min(logit, FLT_MAX);
}

// Whether any of the logits is above the threshold. Written so that it compiles to vector instructions: this
// is the loop that looks at every logit of the vocabulary.
bool any_above(std::span<const float> logits, float threshold) {
  int n_above = 0;
  for (const float logit : logits) n_above += logit > threshold;
  return n_above > 0;
}

}  // namespace

void Candidates::take_top(std::span<const float> logits, size_t k) {
  constexpr size_t kBlock = 64;
  candidates_.clear();
  // A heap whose front is the first to go. Later tokens replace it only with higher logits, not with equal
  // ones.
  float threshold = kNever;
  for (size_t from = 0; from < logits.size(); from += kBlock) {
    const std::span<const float> block = logits.subspan(from, std::min(kBlock, logits.size() - from));
    if (!any_above(block, threshold)) continue;
    for (size_t i = 0; i < block.size(); ++i) {
      if (!(block[i] > threshold)) continue;
      if (candidates_.size() == k) {
        std::ranges::pop_heap(candidates_, is_before);
        candidates_.pop_back();
      }
      candidates_.push_back({bounded(block[i]), static_cast<int32_t>(from + i), 0});
      std::ranges::push_heap(candidates_, is_before);
      if (candidates_.size() == k) threshold = candidates_.front().logit;
    }
  }
  std::ranges::sort(candidates_, is_before);
}

void Candidates::take_all(std::span<const float> logits) {
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > kNever) candidates_.push_back({bounded(logits[i]), static_cast<int32_t>(i), 0});
  }
}

void Candidates::weigh() {
  highest_ = kNever;
  for (const Candidate& c : candidates_) highest_ = std::max(highest_, c.logit);
  total_weight_ = 0;
  for (Candidate& c : candidates_) {
    c.weight = portable_exp(static_cast<double>(c.logit) - highest_);
    total_weight_ += c.weight;
  }
}

void Candidates::keep_top_p_and_min_p(double p, double least) {
  // Both rules keep a beginning of the list from the highest weight down, so that their order does not
  // matter, and what min-p drops need not be sorted.
  if (least > 0) std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < least; });
  if (p < 1) candidates_.resize(count_top_p(p * total_weight_));
}

// Sorts the highest to the front, until those together weigh what is wanted, and counts them.
size_t Candidates::count_top_p(double wanted) {
  double sum = 0;
  size_t n_sorted = 0;
  for (size_t n_more = 64; n_sorted < candidates_.size(); n_more *= 4) {
    const auto from = candidates_.begin() + static_cast<ptrdiff_t>(n_sorted);
    const auto to = from + static_cast<ptrdiff_t>(std::min(n_more, candidates_.size() - n_sorted));
    if (to != candidates_.end()) std::nth_element(from, to, candidates_.end(), is_before);
    std::sort(from, to, is_before);
    for (auto c = from; c != to; ++c) {
      ++n_sorted;
      sum += c->weight;
      if (sum >= wanted) return n_sorted;
    }
  }
  return n_sorted;
}

void Candidates::apply_temperature(double temperature) {
  double total = 0;
  for (Candidate& c : candidates_) {
    c.weight = portable_exp((static_cast<double>(c.logit) - highest_) / temperature);
    total += c.weight;
  }
  for (Candidate& c : candidates_) c.weight /= total;
}

}  // namespace parlance
