#include "sampling/candidates.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "sampling/logits.h"
#include "sampling/portable_exp.h"

namespace parlance {

namespace {

constexpr float kNever = -INFINITY;

bool is_before(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// Of the logit, for keep_heaviest(): the last band has all that is further below.
constexpr size_t kBands = 1024;
constexpr float kBandsPerUnit = 16;

// Infinity counts as the largest number, so that differences of logits are numbers. NaN stays.
float bounded(float logit) {
  return std::min(logit, FLT_MAX);
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
      if (!(bounded(block[i]) > threshold)) continue;
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
  highest_ = candidates_.empty() ? 0 : candidates_.front().logit;
}

void Candidates::take_all(std::span<const float> logits) {
  candidates_.clear();
  highest_ = kNever;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > kNever)) continue;
    candidates_.push_back({bounded(logits[i]), static_cast<int32_t>(i), 0});
    highest_ = std::max(highest_, candidates_.back().logit);
  }
}

void Candidates::take_listed(std::span<const Candidate> listed) {
  candidates_.clear();
  for (const Candidate& c : listed) {
    if (c.logit > kNever) candidates_.push_back({bounded(c.logit), c.token, 0});
  }
  std::ranges::sort(candidates_, is_before);
  highest_ = candidates_.empty() ? 0 : candidates_.front().logit;
}

size_t Candidates::n_until(float logit, int32_t token) const {
  const Candidate last{logit, token, 0};
  const auto behind = std::ranges::partition_point(
      candidates_, [&](const Candidate& candidate) { return !is_before(last, candidate); });
  return static_cast<size_t>(behind - candidates_.begin());
}

// Sets weights to e^((logit - highest) / temperature) and yields their sum.
double Candidates::weigh(double temperature) {
  double total = 0;
  for (Candidate& c : candidates_) {
    c.weight = portable_exp((static_cast<double>(c.logit) - highest_) / temperature);
    total += c.weight;
  }
  return total;
}

void Candidates::keep_top_p_and_min_p(double p, double least) {
  if (p >= 1 && least <= 0) return;
  const double total = weigh(1);
  // Both rules keep a beginning of the list from the highest weight down, so that their order does not
  // matter.
  if (least > 0) std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < least; });
  if (p < 1) keep_heaviest({p * total, p * total}, kBands);
}

bool Candidates::keep_top_p_and_min_p(double p, double least, const Missing& missing) {
  constexpr double kRounding = 1e-9;  // more than sums and powers are off by
  std::ranges::sort(candidates_, {}, &Candidate::token);
  const double total = weigh(1);
  const double most = portable_exp(static_cast<double>(missing.last_logit) - highest_);
  const bool drops_missing = most < least * (1 - kRounding);
  if (!drops_missing && p >= 1) return false;
  std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < least; });
  if (p >= 1) return true;
  const Bounds wanted{p * (total + missing.least_weight) * (1 - kRounding),
                      p * (total + missing.most_weight) * (1 + kRounding)};
  return keep_heaviest(wanted, drops_missing ? kBands : band_of(missing.last_logit));
}

size_t Candidates::band_of(float logit) const {
  return static_cast<size_t>(std::min((highest_ - logit) * kBandsPerUnit, static_cast<float>(kBands - 1)));
}

// Keeps the fewest that together weigh what is wanted, at least one. Candidates are sorted into bands by how
// far they are below the highest; only those of the band where the sum is reached are put in order. False:
// that is decided between the bounds, or by a band that may have candidates that are missing.
bool Candidates::keep_heaviest(Bounds wanted, size_t n_known_bands) {
  bool is_known = true;
  const auto reaches = [&](double sum) {
    is_known &= sum < wanted.low || sum >= wanted.high;
    return sum >= wanted.high;
  };
  band_weights_.assign(kBands, 0);
  for (const Candidate& c : candidates_) band_weights_[band_of(c.logit)] += c.weight;
  size_t band = 0;
  double sum = 0;
  while (band < n_known_bands && !reaches(sum + band_weights_[band])) sum += band_weights_[band++];
  if (!is_known || (band == n_known_bands && band < kBands)) return false;
  if (band == kBands) return true;  // what min-p dropped is missing from the sum

  border_.clear();
  size_t n_kept = 0;
  for (const Candidate& c : candidates_) {
    const size_t its_band = band_of(c.logit);
    if (its_band < band) candidates_[n_kept++] = c;
    if (its_band == band) border_.push_back(c);
  }
  candidates_.resize(n_kept);
  std::ranges::sort(border_, is_before);
  for (const Candidate& c : border_) {
    if (reaches(sum) && !candidates_.empty()) break;
    candidates_.push_back(c);
    sum += c.weight;
  }
  return is_known;
}

void Candidates::apply_temperature(double temperature) {
  const double total = weigh(temperature);
  for (Candidate& c : candidates_) c.weight /= total;
}

}  // namespace parlance
