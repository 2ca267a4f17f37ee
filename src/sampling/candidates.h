// The tokens that are still in the running, and the steps of the chain that thin them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parlance {

struct Candidate {
  float logit;
  int32_t token;
  double weight;  // once it is known
};

class Candidates {
 public:
  // Takes the k tokens of the highest logits (the lowest ids of equals), highest first. NaN and -inf are
  // never taken, so there may be fewer. Time grows as n + k log k log n, not n log n, for n logits.
  void take_top(std::span<const float> logits, size_t k);
  // Takes every token whose logit is neither NaN nor -inf, by id.
  void take_all(std::span<const float> logits);

  // Takes these tokens, whose logits need not be in order, without NaN and -inf; highest first.
  void take_listed(std::span<const Candidate> listed);
  // How many of those that are in order, highest first, do not lie behind a token with this logit.
  size_t n_until(float logit, int32_t token) const;
  void keep_first(size_t n) { candidates_.resize(n); }
  // Tokens that are missing, none of which lies before the last one that is there.
  struct Missing {
    float last_logit;                  // none has a higher one
    double least_weight, most_weight;  // that e^(logit - highest) may add up to
  };
  // As keep_top_p_and_min_p() would do if those that are missing were there, and everything came by id.
  // False: that cannot be told, and what is left means nothing.
  bool keep_top_p_and_min_p(double p, double least, const Missing& missing);

  // Keeps the fewest, highest first, whose share of all weights is at least p, and of those the ones whose
  // weight is at least `least`. p = 1 and least = 0 keep all. No order is made that is not needed: time grows
  // as n.
  void keep_top_p_and_min_p(double p, double least);
  // Weights of the softmax at a temperature above 0, adding up to 1.
  void apply_temperature(double temperature);

  std::span<const Candidate> view() const { return candidates_; }

 private:
  // Of what is not known to the last bit.
  struct Bounds {
    double low, high;
  };
  double weigh(double temperature);
  bool keep_heaviest(Bounds wanted, size_t n_known_bands);
  size_t band_of(float logit) const;

  std::vector<Candidate> candidates_;
  float highest_ = 0;  // logit
  // Of keep_heaviest().
  std::vector<double> band_weights_;
  std::vector<Candidate> border_;
};

}  // namespace parlance
