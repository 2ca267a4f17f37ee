// What a drafter proposes, from its logits: the likeliest token, to be taken where the model's own choice is
// the same one (exact match), or one that is drawn as the model draws, to be taken with a probability that
// leaves the model's distribution as it is (speculative sampling; Leviathan et al., arXiv 2211.17192, and
// Chen et al., arXiv 2302.01318). Sampler::sample() has the other half.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sampling/sampler.h"

namespace parlance {

enum class DraftRule : uint8_t { exact, sampling };

std::string_view name_of(DraftRule rule);  // "exact"
std::optional<DraftRule> draft_rule_from_name(std::string_view name);

// Tokens that may follow a text, one behind the other.
struct Draft {
  std::vector<int32_t> tokens;
  // That the drafter itself gives each of them, before penalties, temperature and the like; 1 where it knows
  // of no other.
  std::vector<float> probabilities;
  // What each was drawn from, by token, ascending; empty: none was drawn.
  std::vector<std::vector<TokenProbability>> drawn_from;
  // What the drafter would have proposed in the place of each, the likeliest first; empty: it was not asked.
  std::vector<std::vector<TokenProbability>> others;

  int64_t n_tokens() const { return static_cast<int64_t>(tokens.size()); }
  // Of token i, as Sampler::sample() wants to know it.
  Proposal proposal(int64_t i) const;
  void add(int32_t token, float probability);
  void cut(int64_t n);  // to its first n tokens, where it has more
};

// What a drafter may propose, where not every token may come.
class DraftMask {
 public:
  virtual ~DraftMask() = default;
  // The logits of the token behind those that were drafted, with -inf for the tokens that may not come there;
  // valid until the next call. Empty: nothing may be proposed.
  virtual std::span<const float> masked(std::span<const float> logits, std::span<const int32_t> drafted) = 0;
};

class DraftSampler {
 public:
  // For an answer with these options, which are valid. Greedy answers have one rule only.
  DraftSampler(const SamplingOptions& options, DraftRule rule);

  bool draws() const { return draws_; }
  // Whether it proposes the likeliest token, whatever was said before, so that this and its probability are
  // all that it needs to know of logits.
  bool takes_most_likely() const { return takes_most_likely_ && !mask_; }

  // From now on, drafts are made of what the mask lets through; null: of everything.
  void set_mask(DraftMask* mask) { mask_ = mask; }

  // A token (of the prompt or the answer) that drafts come behind.
  void accept(int32_t token);
  // A draft begins, whose first token would be number n_said of the answer; what was drafted before is
  // forgotten. What is drawn for a place of the answer depends on the seed, the place and the logits alone.
  void begin(int64_t n_said);
  // Another draft in its place.
  void begin_again() { begin(first_); }
  // Adds what the drafter's logits propose next. False, and nothing is added, where no logit is a number, the
  // mask lets nothing through, or the drafter gives the likeliest token less than least_probability. (Not the
  // one that was drawn: to draw and then leave out what is unlikely would change what is said.)
  bool propose(std::span<const float> logits, float least_probability, Draft& draft);
  // The same, of the likeliest tokens (-1: there are no more, or a logit is no number) and their
  // probabilities, if that is all that it needs. What comes behind the first may be proposed in its place.
  bool propose(std::span<const int32_t> tokens, std::span<const float> probabilities, float least_probability,
               Draft& draft);

 private:
  Sampler sampler_;
  const uint64_t seed_;
  const bool draws_;
  const bool takes_most_likely_;  // where there is no mask
  int64_t first_ = 0;             // place in the answer: of the draft's first token,
  int64_t place_ = 0;             // and of the next one
  DraftMask* mask_ = nullptr;
};

}  // namespace parlance
