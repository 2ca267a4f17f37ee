#include "engine/draft_acceptance.h"

#include <algorithm>

namespace parlance {

namespace {

// What is learned fades, since texts differ: by place, and by sureness once a class has so many.
constexpr double kNewShareTaken = 0.04;
constexpr double kMostNoted = 200;

// A drafter's own word counts as so many tokens.
constexpr double kTrust = 4;

// Nothing is certain.
constexpr double kLeastChance = 0.01, kMostChance = 0.995;

// Upper ends of the classes of probability: finer where the odds change fast.
constexpr std::array<float, 14> kSurenessEnds = {0.1f, 0.2f,  0.3f,  0.4f,  0.5f,  0.6f,   0.7f,
                                                 0.8f, 0.87f, 0.92f, 0.96f, 0.98f, 0.993f, 0.998f};

// What an answer has shown counts against so many tokens that went as expected; and fades.
constexpr double kDoubt = 6;
constexpr double kKeptOfAnswer = 0.97;

}  // namespace

size_t DraftAcceptance::group_of(int64_t place) {
  return place < 2 ? static_cast<size_t>(std::max<int64_t>(place, 0)) : place < 4 ? 2 : 3;
}

size_t DraftAcceptance::class_of(float probability) {
  static_assert(kSurenessEnds.size() + 1 == kSureness);
  return static_cast<size_t>(std::ranges::upper_bound(kSurenessEnds, probability) - kSurenessEnds.begin());
}

double DraftAcceptance::at(int64_t place) const {
  return std::clamp(at_[static_cast<size_t>(std::clamp<int64_t>(place, 0, kMostDrafted - 1))], kLeastChance,
                    kMostChance);
}

double DraftAcceptance::share_of(const Shares& shares, float probability) {
  const Share& share = shares[class_of(probability)];
  return (share.n_taken + kTrust * static_cast<double>(probability)) / (share.n + kTrust);
}

void DraftAcceptance::note(Shares& shares, float probability, bool is_taken) {
  Share& share = shares[class_of(probability)];
  if (share.n >= kMostNoted) share = {share.n_taken / 2, share.n / 2};
  share.n += 1;
  share.n_taken += is_taken ? 1 : 0;
}

double DraftAcceptance::of(int64_t place, float probability) const {
  return std::clamp(share_of(by_sureness_[group_of(place)], probability), kLeastChance, kMostChance);
}

void DraftAcceptance::note(int64_t place, float probability, bool is_taken) {
  if (place < 0 || place >= kMostDrafted) return;
  double& at = at_[static_cast<size_t>(place)];
  at += kNewShareTaken * ((is_taken ? 1.0 : 0.0) - at);
  note(by_sureness_[group_of(place)], probability, is_taken);
}

double DraftAcceptance::of_other(int64_t rank, double share) const {
  return share_of(others_[rank > 1 ? 1 : 0], static_cast<float>(share));
}

void DraftAcceptance::note_other(int64_t rank, double share, bool is_right) {
  note(others_[rank > 1 ? 1 : 0], static_cast<float>(share), is_right);
}

double DraftAcceptance::of_first_behind_other(float probability) const {
  return std::clamp(share_of(behind_other_, probability), kLeastChance, kMostChance);
}

void DraftAcceptance::note_first_behind_other(float probability, bool is_right) {
  note(behind_other_, probability, is_right);
}

void DraftAcceptance::note_draft(bool is_other_right) {
  other_is_right_ += kNewShareTaken * ((is_other_right ? 1.0 : 0.0) - other_is_right_);
}

void AnswerAcceptance::note(double chance, bool is_taken) {
  n_ = kKeptOfAnswer * n_ + 1;
  n_taken_ = kKeptOfAnswer * n_taken_ + (is_taken ? 1 : 0);
  n_expected_ = kKeptOfAnswer * n_expected_ + chance;
}

double AnswerAcceptance::chance(double of_all) const {
  const auto odds = [&](double n_taken) { return (n_taken + kDoubt / 2) / (n_ - n_taken + kDoubt / 2); };
  const double own = of_all / (1 - of_all) * odds(n_taken_) / odds(n_expected_);
  return std::clamp(own / (1 + own), kLeastChance, kMostChance);
}

}  // namespace parlance
