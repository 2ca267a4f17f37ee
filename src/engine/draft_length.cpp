#include "engine/draft_length.h"

#include <algorithm>

namespace parlance {

namespace {

// What is learned fades, since texts differ.
constexpr double kNewShare = 0.08;

// A row more than was ever measured costs this share of the step.
constexpr double kRowShare = 0.02;

// A draft must promise so much more than a plain step, since both estimates err.
constexpr double kLeastGain = 1.04;

// A trial where drafting does not pay costs a few plain steps, so it is made once in so many, and more seldom
// each time it fails.
constexpr int64_t kFirstPatience = 128, kMostPatience = 2048;

// A plain step among drafted ones costs what they gain.
constexpr int64_t kMostWith = 200;

}  // namespace

void DraftCosts::note_step(int64_t n_rows, double ms) {
  if (n_rows < 1 || n_rows >= static_cast<int64_t>(kRows)) return;
  by_rows_[static_cast<size_t>(n_rows)].note(ms);
  knows_steps_ = true;
}

void DraftCosts::note_draft(int64_t n_sequences, double ms) {
  draft_.note(ms / static_cast<double>(n_sequences));
}

double DraftCosts::draft_ms() const {
  return draft_.empty() ? 0 : draft_.least();
}

double DraftCosts::step_ms(int64_t n_rows) const {
  const auto n = static_cast<size_t>(std::clamp<int64_t>(n_rows, 1, kRows - 1));
  size_t below = n, above = n;
  while (below > 0 && by_rows_[below].empty()) --below;
  while (above < kRows && by_rows_[above].empty()) ++above;
  if (below == 0) return above < kRows ? by_rows_[above].least() : 0;
  const double low = by_rows_[below].least();
  const auto more = static_cast<double>(n - below);
  if (above == kRows) return low * (1 + kRowShare * more);
  if (above == below) return low;
  return low + (by_rows_[above].least() - low) * more / static_cast<double>(above - below);
}

void Acceptance::note(int64_t n_drafted, int64_t n_accepted) {
  for (int64_t i = 0; i < std::min({n_drafted, n_accepted + 1, kMostDrafted}); ++i) {
    double& taken = taken_[static_cast<size_t>(i)];
    taken += kNewShare * ((i < n_accepted ? 1.0 : 0.0) - taken);
  }
}

double Acceptance::expected(int64_t n_drafted) const {
  double sum = 1, all_taken = 1;
  for (int64_t i = 0; i < std::min(n_drafted, kMostDrafted); ++i) {
    all_taken *= taken_[static_cast<size_t>(i)];
    sum += all_taken;
  }
  return sum;
}

int64_t DraftLength::choose(const DraftCosts& costs, int64_t n_other_rows, int64_t most, bool has_cost) {
  most = std::min(most, kMostDrafted);
  if (most <= 0 || !costs.knows_steps()) return 0;
  // Rows of others are computed anyway; tokens of all of them come out of the step.
  const auto rate = [&](int64_t n) {
    const double ms = costs.step_ms(n_other_rows + 1 + n) + (n > 0 && has_cost ? costs.draft_ms() : 0);
    return (static_cast<double>(n_other_rows) + acceptance_.expected(n)) / ms;
  };
  const double plain = rate(0);
  int64_t best = 0;
  double best_rate = kLeastGain * plain;
  for (int64_t n = 1; n <= most; ++n) {
    if (rate(n) > best_rate) {
      best = n;
      best_rate = rate(n);
    }
  }
  if (best == 0) {
    if (patience_ == 0) patience_ = kFirstPatience;
    if (++n_without_ < patience_) return 0;
    patience_ = std::min(2 * patience_, kMostPatience);
    n_without_ = 0;
    return most;
  }
  n_without_ = 0;
  if (n_with_ >= kMostWith) {
    n_with_ = 0;
    return 0;
  }
  ++n_with_;
  return best;
}

}  // namespace parlance
