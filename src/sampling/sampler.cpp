#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>

#include "base/parameter.h"
#include "sampling/candidates.h"
#include "sampling/penalties.h"
#include "sampling/portable_exp.h"

namespace parlance {

namespace {

// One parameter against its range; `is_within` is false for NaN.
template <class T>
Result<void> require(bool is_within, Parameter parameter, const char* range, T value) {
  if (is_within) return {};
  return fail(ErrorCode::invalid_argument, "{} must be {}, got {}", parameter, range, value);
}

// Of anything with weights that add up to `total`, what a random number in [0, 1) stands for.
template <class Weighted>
int32_t pick(const Weighted& weighted, auto weight_of, double total, double random) {
  double sum = 0;
  int32_t last = 0;  // with a weight above 0, for when rounding leaves the sum below the draw
  for (const auto& one : weighted) {
    const double weight = weight_of(one);
    if (weight <= 0) continue;
    last = one.token;
    sum += weight;
    if (sum > random * total) break;
  }
  return last;
}

double weight_of(const Candidate& candidate) {
  return candidate.weight;
}

// What a proposal's distribution gives a token.
double proposed(const Proposal& proposal, int32_t token) {
  if (proposal.drawn_from.empty()) return token == proposal.token ? 1 : 0;
  const auto found = std::ranges::lower_bound(proposal.drawn_from, token, {}, &TokenProbability::token);
  return found != proposal.drawn_from.end() && found->token == token ? found->probability : 0;
}

}  // namespace

Result<void> validate(const SamplingOptions& o) {
  PARLANCE_CHECK(require(o.temperature >= 0 && std::isfinite(o.temperature), Parameter::temperature,
                         "0 or more", o.temperature));
  PARLANCE_CHECK(require(o.top_k >= 0, Parameter::top_k, "0 or more", o.top_k));
  PARLANCE_CHECK(require(o.top_p >= 0 && o.top_p <= 1, Parameter::top_p, "in [0, 1]", o.top_p));
  PARLANCE_CHECK(require(o.min_p >= 0 && o.min_p <= 1, Parameter::min_p, "in [0, 1]", o.min_p));
  PARLANCE_CHECK(require(o.repetition_penalty > 0 && std::isfinite(o.repetition_penalty),
                         Parameter::repeat_penalty, "above 0", o.repetition_penalty));
  PARLANCE_CHECK(require(std::isfinite(o.presence_penalty), Parameter::presence_penalty, "a finite number",
                         o.presence_penalty));
  PARLANCE_CHECK(require(std::isfinite(o.frequency_penalty), Parameter::frequency_penalty, "a finite number",
                         o.frequency_penalty));
  PARLANCE_CHECK(require(o.penalty_last_n >= -1, Parameter::repeat_last_n, "-1 or more", o.penalty_last_n));
  for (const auto& [token, bias] : o.logit_bias) {
    if (token < 0)
      return fail(ErrorCode::invalid_argument, "token of {} must be 0 or more, got {}", Parameter::logit_bias,
                  token);
    PARLANCE_CHECK(require(bias < INFINITY, Parameter::logit_bias, "a finite number or -inf", bias));
  }
  return {};
}

bool takes_most_likely(const SamplingOptions& o) {
  const bool has_penalty = o.repetition_penalty != 1 || o.presence_penalty != 0 || o.frequency_penalty != 0;
  return o.temperature == 0 && o.logit_bias.empty() && (!has_penalty || o.penalty_last_n == 0);
}

namespace {

bool biases_only_lower(const SamplingOptions& o) {
  return std::ranges::all_of(o.logit_bias, [](const auto& bias) { return bias.second <= 0; });
}

bool penalties_only_lower(const SamplingOptions& o) {
  return o.penalty_last_n == 0 ||
         (o.repetition_penalty >= 1 && o.presence_penalty >= 0 && o.frequency_penalty >= 0);
}

}  // namespace

bool may_do_with_top(const SamplingOptions& o, int64_t n) {
  constexpr size_t kMostBiases = 64;  // each is looked for among the n
  if (o.logit_bias.size() > kMostBiases || !biases_only_lower(o) || !penalties_only_lower(o)) return false;
  if (o.temperature == 0) return true;
  return o.top_k > 0 ? o.top_k <= n : o.top_p < 1 || o.min_p > 0;
}

bool draws_from_top(const SamplingOptions& o, int64_t n) {
  if (takes_most_likely(o)) return true;
  const bool has_penalty = o.repetition_penalty != 1 || o.presence_penalty != 0 || o.frequency_penalty != 0;
  return o.temperature > 0 && o.logit_bias.empty() && (!has_penalty || o.penalty_last_n == 0) &&
         o.top_k > 0 && o.top_k <= n;
}

struct Sampler::Impl {
  explicit Impl(SamplingOptions o)
      : options(std::move(o)),
        penalties({.repetition = options.repetition_penalty,
                   .presence = options.presence_penalty,
                   .frequency = options.frequency_penalty,
                   .last_n = options.penalty_last_n}),
        random(options.seed) {}

  // The logits after bias and penalties; the given ones when there are none.
  std::span<const float> adjust(std::span<const float> logits);
  // The chain up to the draw. Candidates are left with probabilities; none when every logit is -inf.
  void shape(std::span<const float> logits);
  // The same of the highest; false: they cannot tell.
  bool shape(const TopLogits& top);
  bool shape_without_top_k(const TopLogits& top, bool adjusts);
  float adjusted_one(int32_t token, float logit) const;
  // What follows.
  int32_t choose();
  int32_t choose(const Proposal& proposal);
  // In [0, 1), from the upper 53 bits.
  double draw() { return static_cast<double>(std::exchange(next_random, random()) >> 11) * 0x1p-53; }

  SamplingOptions options;
  Penalties penalties;
  std::optional<Penalties> before_trial;
  std::mt19937_64 random;
  uint64_t next_random = random();  // that is drawn from
  // Buffers, kept from token to token.
  std::vector<float> adjusted, row;
  std::vector<Candidate> listed;
  Candidates candidates;
  std::vector<TokenProbability> probabilities;
};

std::span<const float> Sampler::Impl::adjust(std::span<const float> logits) {
  if (options.logit_bias.empty() && penalties.are_idle()) return logits;
  adjusted.assign(logits.begin(), logits.end());
  for (const auto& [token, bias] : options.logit_bias) {
    if (static_cast<size_t>(token) < adjusted.size()) adjusted[static_cast<size_t>(token)] += bias;
  }
  if (!penalties.are_idle()) penalties.apply(adjusted);
  return adjusted;
}

void Sampler::Impl::shape(std::span<const float> given) {
  const std::span<const float> logits = adjust(given);
  const bool is_greedy = options.temperature == 0;
  const auto top_k = is_greedy ? 1 : static_cast<size_t>(options.top_k);
  if (top_k > 0 && top_k < logits.size()) {
    candidates.take_top(logits, top_k);
  } else {
    candidates.take_all(logits);
  }
  if (!is_greedy) candidates.keep_top_p_and_min_p(options.top_p, options.min_p);
  candidates.apply_temperature(is_greedy ? 1 : options.temperature);
}

float Sampler::Impl::adjusted_one(int32_t token, float logit) const {
  for (const auto& [biased, bias] : options.logit_bias) {
    if (biased == token) logit += bias;
  }
  return penalties.are_idle() ? logit : penalties.applied_to(token, logit);
}

bool Sampler::Impl::shape(const TopLogits& top) {
  if (top.has_all) {
    row.assign(top.n_vocab, -INFINITY);
    for (size_t i = 0; i < top.tokens.size(); ++i) row[static_cast<size_t>(top.tokens[i])] = top.logits[i];
    shape(row);
    return true;
  }
  const bool adjusts = !options.logit_bias.empty() || !penalties.are_idle();
  if (adjusts && !(biases_only_lower(options) && penalties_only_lower(options))) return false;
  const bool is_greedy = options.temperature == 0;
  const auto top_k = is_greedy ? 1 : static_cast<size_t>(options.top_k);
  const bool keeps_top_k = top_k > 0 && top_k < top.n_vocab;
  // Nothing else is needed where the order stays.
  const size_t n_needed = !adjusts && keeps_top_k ? std::min(top_k, top.tokens.size()) : top.tokens.size();
  listed.clear();
  for (size_t i = 0; i < n_needed; ++i) {
    const float logit = adjusts ? adjusted_one(top.tokens[i], top.logits[i]) : top.logits[i];
    listed.push_back({logit, top.tokens[i], 0});
  }
  candidates.take_listed(listed);
  // What is missing lies behind the last that was listed, and was lowered if anything: of those that are
  // known and lie before, none is missing.
  candidates.keep_first(candidates.n_until(top.last_logit, top.last_token));
  const size_t n = candidates.view().size();
  if (keeps_top_k) {
    if (n < top_k) return false;
    candidates.keep_first(top_k);
    if (!is_greedy) candidates.keep_top_p_and_min_p(options.top_p, options.min_p);
  } else if (n == 0 || !shape_without_top_k(top, adjusts)) {
    return false;
  }
  candidates.apply_temperature(is_greedy ? 1 : options.temperature);
  return true;
}

// Of the vocabulary's weights, those of the tokens that are there are known; what was lowered or left out may
// be missing from the rest.
bool Sampler::Impl::shape_without_top_k(const TopLogits& top, bool adjusts) {
  const double highest = candidates.view().front().logit;
  const double scale = 1 / portable_exp(std::min(0.0, highest - top.highest));
  double known = 0;  // before they were lowered
  for (size_t i = 0; i < top.tokens.size(); ++i)
    known += portable_exp(static_cast<double>(top.logits[i]) - top.highest);
  double lowered = 0;  // and then not kept
  if (adjusts) {
    for (size_t i = 0; i < top.tokens.size(); ++i) {
      const auto is_it = [&](const Candidate& c) { return c.token == top.tokens[i]; };
      if (std::ranges::none_of(candidates.view(), is_it))
        lowered += portable_exp(static_cast<double>(top.logits[i]) - top.highest);
    }
  }
  const double rest_low = top.sum * (1 - TopLogits::kSumError) - known;
  const double rest_high = top.sum * (1 + TopLogits::kSumError) - known + lowered;
  const bool may_lack = adjusts || top.leaves_out;
  return candidates.keep_top_p_and_min_p(options.top_p, options.min_p,
                                         {.last_logit = top.last_logit,
                                          .least_weight = may_lack ? 0 : std::max(0.0, rest_low) * scale,
                                          .most_weight = std::max(0.0, rest_high) * scale});
}

Sampler::Sampler(SamplingOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;
Sampler& Sampler::operator=(Sampler&&) noexcept = default;
Sampler::Sampler(const Sampler& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Sampler& Sampler::operator=(const Sampler& other) {
  return *this = Sampler(other);
}

TokenDraw Sampler::next_draw() const {
  const SamplingOptions& o = impl_->options;
  // The largest float below 1 stands for what lies above it.
  const double random = std::min(static_cast<double>(impl_->next_random >> 11) * 0x1p-53, 1 - 0x1p-24);
  return {.temperature = o.temperature,
          .top_p = o.top_p,
          .min_p = o.min_p,
          .random = static_cast<float>(random),
          .top_k = o.top_k};
}

int32_t Sampler::Impl::choose() {
  const std::span<const Candidate> left = candidates.view();
  if (options.temperature == 0) return left.empty() ? 0 : left[0].token;
  return pick(left, weight_of, 1, draw());
}

int32_t Sampler::Impl::choose(const Proposal& proposal) {
  if (options.temperature == 0) return choose();
  const std::span<const Candidate> left = candidates.view();
  const auto own = std::ranges::find(left, proposal.token, &Candidate::token);
  const double p = own == left.end() ? 0 : own->weight, q = proposed(proposal, proposal.token);
  const double random = draw();
  if (random * q < p) return proposal.token;
  // Given that it was not taken, the same number stands for any below 1 again.
  const double taken = p / q;
  const auto missing = [&](const Candidate& c) { return c.weight - proposed(proposal, c.token); };
  double total = 0;
  for (const Candidate& c : left) total += std::max(0.0, missing(c));
  if (!(total > 0)) return pick(left, weight_of, 1, random);  // p is q but for its last bits
  return pick(left, missing, total, (random - taken) / (1 - taken));
}

int32_t Sampler::sample(std::span<const float> logits) {
  impl_->shape(logits);
  return impl_->choose();
}

int32_t Sampler::sample(std::span<const float> logits, const Proposal& proposal) {
  impl_->shape(logits);
  return impl_->choose(proposal);
}

std::optional<int32_t> Sampler::sample(const TopLogits& top) {
  if (!impl_->shape(top)) return std::nullopt;
  return impl_->choose();
}

std::optional<int32_t> Sampler::sample(const TopLogits& top, const Proposal& proposal) {
  if (!impl_->shape(top)) return std::nullopt;
  return impl_->choose(proposal);
}

int32_t drawn(std::span<const TokenProbability> distribution, double random) {
  return pick(
      distribution, [](const TokenProbability& one) { return one.probability; }, 1, random);
}

std::span<const TokenProbability> Sampler::distribution(std::span<const float> logits) {
  impl_->shape(logits);
  std::vector<TokenProbability>& probabilities = impl_->probabilities;
  probabilities.clear();
  for (const Candidate& c : impl_->candidates.view()) probabilities.push_back({c.token, c.weight});
  if (probabilities.empty()) probabilities.push_back({0, 1});
  return probabilities;
}

void Sampler::accept(int32_t token) {
  impl_->penalties.accept(token);
}

void Sampler::begin_trial() {
  if (impl_->penalties.are_on()) impl_->before_trial = impl_->penalties;
}

void Sampler::end_trial() {
  if (!impl_->before_trial) return;
  impl_->penalties = *std::move(impl_->before_trial);
  impl_->before_trial.reset();
}

void Sampler::reset() {
  impl_->before_trial.reset();
  impl_->penalties.forget();
  impl_->random.seed(impl_->options.seed);
  impl_->next_random = impl_->random();
}

}  // namespace parlance
