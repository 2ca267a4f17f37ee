#include "sampling/draft_sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace parlance {

namespace {

// Tokens that a drafted one is drawn from, at most: what is kept of a draft stays small, and hardly anything
// is drawn from behind them.
constexpr int kMostDrawnFrom = 256;

SamplingOptions for_drafts(SamplingOptions options, bool draws) {
  if (!draws) options.temperature = 0;
  options.top_k = options.top_k == 0 ? kMostDrawnFrom : std::min(options.top_k, kMostDrawnFrom);
  return options;
}

// In [0, 1): of a seed, another one for each place (SplitMix64; Steele, Lea and Flood, 2014). The answer's
// own random source is asked once for a token, drafted or not, so drafts have one of theirs.
double random_at(uint64_t seed, int64_t place) {
  uint64_t z = seed + (static_cast<uint64_t>(place) + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// Loops over a vocabulary are in blocks of one length, without branches, so that compilers make vector code
// of them; sums are in lanes, so that they are the same on every machine.
constexpr size_t kBlock = 256, kLanes = 16;

// The largest that is a number; -inf when there is none.
float highest(std::span<const float> logits) {
  std::array<float, kLanes> lanes;
  lanes.fill(-INFINITY);
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = logits[i + lane] > lanes[lane] ? logits[i + lane] : lanes[lane];
  }
  for (; i < logits.size(); ++i) lanes[0] = logits[i] > lanes[0] ? logits[i] : lanes[0];
  return *std::ranges::max_element(lanes);
}

constexpr float kLowest = -87;  // e^x is as good as 0 there; also for what is no number

// e^x for x from kLowest to 0, to about 1e-7 of its value.
inline float quick_exp(float x) {
  const auto n = static_cast<int32_t>(x * 1.44269504f - 0.5f);
  const auto whole = static_cast<float>(n);
  const float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
  const float high = (r * (1.0f / 720) + 1.0f / 120) * r + 1.0f / 24;
  return (((high * r + 1.0f / 6) * r + 0.5f) * r + 1) * r * std::bit_cast<float>((127 + n) << 23) +
         std::bit_cast<float>((127 + n) << 23);
}

// Of all e^(logit - highest).
float sum_of_weights(std::span<const float> logits, float highest) {
  const auto exponent = [&](float logit) { return logit - highest > kLowest ? logit - highest : kLowest; };
  std::array<float, kBlock> exponents, weights;
  std::array<float, kLanes> lanes{};
  size_t i = 0;
  for (; i + kBlock <= logits.size(); i += kBlock) {
    const float* const block = logits.data() + i;
    for (size_t j = 0; j < kBlock; ++j) exponents[j] = exponent(block[j]);
    for (size_t j = 0; j < kBlock; ++j) weights[j] = quick_exp(exponents[j]);
    for (size_t j = 0; j < kBlock; j += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += weights[j + lane];
    }
  }
  for (; i < logits.size(); ++i) lanes[0] += quick_exp(exponent(logits[i]));
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

}  // namespace

std::string_view name_of(DraftRule rule) {
  return rule == DraftRule::exact ? "exact" : "sampling";
}

std::optional<DraftRule> draft_rule_from_name(std::string_view name) {
  for (const DraftRule rule : {DraftRule::exact, DraftRule::sampling}) {
    if (name_of(rule) == name) return rule;
  }
  return std::nullopt;
}

Proposal Draft::proposal(int64_t i) const {
  const auto at = static_cast<size_t>(i);
  return {tokens[at], drawn_from.empty() ? std::span<const TokenProbability>() : drawn_from[at]};
}

void Draft::add(int32_t token, float probability) {
  tokens.push_back(token);
  probabilities.push_back(probability);
}

void Draft::cut(int64_t n) {
  if (n >= n_tokens()) return;
  tokens.resize(static_cast<size_t>(n));
  probabilities.resize(tokens.size());
  if (!drawn_from.empty()) drawn_from.resize(tokens.size());
  if (!others.empty()) others.resize(tokens.size());
}

DraftSampler::DraftSampler(const SamplingOptions& options, DraftRule rule)
    : sampler_(for_drafts(options, rule == DraftRule::sampling && options.temperature > 0)),
      seed_(options.seed),
      draws_(rule == DraftRule::sampling && options.temperature > 0),
      takes_most_likely_(parlance::takes_most_likely(for_drafts(options, draws_))) {}

void DraftSampler::accept(int32_t token) {
  sampler_.end_trial();
  sampler_.accept(token);
}

void DraftSampler::begin(int64_t n_said) {
  sampler_.end_trial();
  sampler_.begin_trial();
  first_ = place_ = n_said;
}

bool DraftSampler::propose(std::span<const float> logits, float least_probability, Draft& draft) {
  if (mask_) logits = mask_->masked(logits, draft.tokens);
  const float most = highest(logits);
  if (!(most > -INFINITY && most < INFINITY)) return false;
  const float sum = sum_of_weights(logits, most);
  if (1 / sum < least_probability) return false;
  int32_t token = 0;
  if (draws_) {
    const auto left = sampler_.distribution(logits);
    std::vector<TokenProbability> drawn_from(left.begin(), left.end());
    std::ranges::sort(drawn_from, {}, &TokenProbability::token);
    token = drawn(drawn_from, random_at(seed_, place_));
    draft.drawn_from.push_back(std::move(drawn_from));
  } else {
    token = sampler_.sample(logits);
  }
  draft.add(token, quick_exp(std::max(kLowest, logits[static_cast<size_t>(token)] - most)) / sum);
  sampler_.accept(token);
  ++place_;
  return true;
}

bool DraftSampler::propose(std::span<const int32_t> tokens, std::span<const float> probabilities,
                           float least_probability, Draft& draft) {
  const auto is_likely = [&](size_t i) { return tokens[i] >= 0 && probabilities[i] >= least_probability; };
  if (!is_likely(0)) return false;
  draft.add(tokens[0], probabilities[0]);
  if (tokens.size() > 1) {
    std::vector<TokenProbability>& others = draft.others.emplace_back();
    for (size_t i = 1; i < tokens.size() && is_likely(i); ++i)
      others.push_back({tokens[i], probabilities[i]});
  }
  sampler_.accept(tokens[0]);
  ++place_;
  return true;
}

}  // namespace parlance
