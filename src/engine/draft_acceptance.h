// How often drafted tokens are taken: of a drafter, by their place in the draft and by how sure it was of
// them; and how much more or less often in one answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/draft_costs.h"

namespace parlance {

// Chances are those of a token whose predecessors in the draft were taken.
class DraftAcceptance {
 public:
  // Before anything is drafted. At first hopeful, so that drafts are tried.
  double at(int64_t place) const;
  // Of a token that was drafted, to which the drafter gives a probability. What that is worth is learned;
  // until then it is believed.
  double of(int64_t place, float probability) const;

  void note(int64_t place, float probability, bool is_taken);

  // Of the drafter's choice of such a rank (from 1 on) where the first one is wrong; `share` is what it gives
  // it of all that it leaves to others than the first. Learned and believed likewise.
  double of_other(int64_t rank, double share) const;
  void note_other(int64_t rank, double share, bool is_right);
  // Of a first choice somewhere behind another one.
  double of_first_behind_other(float probability) const;
  void note_first_behind_other(float probability, bool is_right);
  // Of a whole draft, that another choice is right where the first wrong token stands. At first hopeful.
  double that_other_is_right() const { return other_is_right_; }
  void note_draft(bool is_other_right);

 private:
  static constexpr size_t kPlaces = 4;     // groups of them
  static constexpr size_t kSureness = 15;  // classes of probability
  struct Share {
    double n_taken = 0, n = 0;
  };
  using Shares = std::array<Share, kSureness>;
  static size_t group_of(int64_t place);
  static size_t class_of(float probability);
  static double share_of(const Shares& shares, float probability);
  static void note(Shares& shares, float probability, bool is_taken);

  std::array<double, kMostDrafted> at_ = filled();
  std::array<Shares, kPlaces> by_sureness_;
  std::array<Shares, 2> others_;  // second choices, and those behind them
  Shares behind_other_;
  double other_is_right_ = 0.3;
  static constexpr std::array<double, kMostDrafted> filled() {
    std::array<double, kMostDrafted> all{};
    for (double& one : all) one = 0.8;
    return all;
  }
};

// How one answer differs from what is known of the drafter: by the same factor on the odds of every token.
class AnswerAcceptance {
 public:
  void note(double chance, bool is_taken);
  double chance(double of_all) const;

 private:
  double n_ = 0, n_taken_ = 0, n_expected_ = 0;
};

}  // namespace parlance
