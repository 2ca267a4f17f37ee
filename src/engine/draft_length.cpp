#include "engine/draft_length.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace parlance {

namespace {

// Of the time of steps without drafts, what drafts that do not pay may take.
constexpr double kShareForTries = 0.02;

// In steps without drafts: what a drafter may lose until it is stopped, and what is put by for it at most.
constexpr double kMostLost = 8, kMostSaved = 8;

constexpr int64_t kMostPatience = 2048;

// Of steps before the last one.
constexpr double kKeptOfSpeed = 0.97;

// What drafting must promise beyond what is done otherwise, since all estimates err.
constexpr double kLeastGain = 1.03;

// What a branch may yield: its first token, and as many behind it.
constexpr double kTokensOfBranch = 2;

// Of all that a drafter leaves to others than its first choice.
double share_of(const TokenProbability& other, float first) {
  return first < 1 ? std::min(1.0, other.probability / (1 - static_cast<double>(first))) : 0;
}

}  // namespace

DraftOffer offer_of(std::span<const DraftNode> tree, int64_t depth) {
  DraftOffer offer{.reach = {}, .n_branches = count_branches(tree), .depth = depth};
  for (const DraftNode& node : tree) offer.reach.push_back(node.reach);
  return offer;
}

bool DraftLengths::is_better_than(const DraftLengths& other, double rate) const {
  if (rate > 0) return expected - rate * ms > other.expected - rate * other.ms;
  return this->rate() > other.rate();
}

DraftLengths best_lengths(std::span<const DraftOffer> offers, const StepSize& size, const DraftCosts& costs,
                          double draft_ms, double rate, int64_t n_least) {
  // Tokens of all drafts, the likeliest first; those of one draft stay in order, since their chances fall.
  std::vector<std::pair<double, size_t>> tokens;
  for (size_t i = 0; i < offers.size(); ++i) {
    for (const double chance : offers[i].reach) tokens.emplace_back(chance, i);
  }
  std::ranges::stable_sort(tokens, [](const auto& a, const auto& b) { return a.first > b.first; });

  std::optional<DraftLengths> best;
  DraftLengths now{.expected = static_cast<double>(size.n_rows), .n = std::vector<int64_t>(offers.size(), 0)};
  StepSize all = size;
  for (size_t n_drafted = 0; n_drafted <= tokens.size(); ++n_drafted) {
    if (n_drafted > 0) {
      const auto [chance, i] = tokens[n_drafted - 1];
      int64_t& n = now.n[i];
      now.expected += chance;
      ++n;
      const int64_t n_branches = offers[i].branches_of(n) - offers[i].branches_of(n - 1);
      all.has_branches |= n_branches > 0;
      all.depth += offers[i].depth * n_branches;
      ++all.n_rows;
    }
    if (std::cmp_less(n_drafted, n_least) && n_drafted < tokens.size()) continue;
    now.ms = costs.step_ms(all) + draft_ms;
    if (!best || now.is_better_than(*best, rate)) best = now;
  }
  return *std::move(best);
}

void SpeedUp::note(double plain_ms, double ms) {
  plain_ms_ = kKeptOfSpeed * plain_ms_ + plain_ms;
  ms_ = kKeptOfSpeed * ms_ + ms;
}

double SpeedUp::factor() const {
  return ms_ > 0 ? std::max(1.0, plain_ms_ / ms_) : 1;
}

void DraftAccount::note_without(double plain_ms) {
  ++n_without_;
  balance_ms_ =
      std::min(balance_ms_ + kShareForTries * plain_ms, std::max(balance_ms_, kMostSaved * plain_ms));
  if (balance_ms_ >= 0) is_solvent_ = true;
}

void DraftAccount::note_with(double won_ms, double spent_ms, double plain_ms) {
  balance_ms_ = std::min(balance_ms_ + won_ms - spent_ms, kMostSaved * plain_ms);
  if (balance_ms_ < -kMostLost * plain_ms) is_solvent_ = false;
}

void DraftAccount::tried() {
  n_without_ = 0;
  patience_ = std::min(2 * patience_, kMostPatience);
}

double DraftLength::pass_ms(int64_t n_sequences) const {
  return pass_ms_.at(n_sequences) / static_cast<double>(std::max<int64_t>(n_sequences, 1));
}

DraftLength::Answer DraftLength::ask(const Question& question, const DraftCosts& costs,
                                     const AnswerAcceptance& answer) {
  const int64_t most = std::min(question.most, kMostDrafted);
  if (most <= 0 || !costs.knows_steps()) return {};
  const StepSize& size = question.size;
  const double pass = pass_ms(question.n_asking), plain_ms = costs.step_ms(size);
  Answer best;
  double best_rate = 0, best_ms = 0, reach = 1;
  auto expected = static_cast<double>(size.n_rows);
  for (int64_t n = 1; n <= most; ++n) {
    reach *= answer.chance(acceptance.at(n - 1));
    expected += reach;
    const double ms = costs.step_ms({size.n_rows + n, size.depth}) +
                      pass * static_cast<double>(question.is_pass_for_each ? n : 1);
    if (expected / ms <= best_rate) continue;
    best = {n, false};
    best_rate = expected / ms;
    best_ms = ms;
  }
  // What a pass yields beyond that costs nothing, and its tokens may turn out surer than usual.
  if (!question.is_pass_for_each) best.n = most;
  if (best_rate > kLeastGain * question.other_rate && account.is_solvent()) {
    account.paid();
    return best;
  }
  if (!account.may_try(best_ms - plain_ms)) return {};
  account.tried();
  best.is_trial = true;
  return best;
}

Reach DraftLength::reach_of(std::span<const float> probabilities, const AnswerAcceptance& answer) const {
  Reach reach;
  double all = 1;
  for (const float probability : probabilities) {
    all *= answer.chance(acceptance.of(std::ssize(reach), probability));
    reach.push_back(all);
  }
  return reach;
}

DraftChoices DraftLength::choices_of(const Draft& draft, const AnswerAcceptance& answer) const {
  DraftChoices choices;
  for (int64_t place = 0; place < draft.n_tokens(); ++place) {
    const auto at = static_cast<size_t>(place);
    const auto others =
        at < draft.others.size() ? std::span(draft.others[at]) : std::span<const TokenProbability>();
    const float probability = draft.probabilities[at];
    // Others have their shares of what the first leaves, and none more than the one before it.
    const auto list = [&](double first) {
      std::vector<LikelyToken> all = {{draft.tokens[at], first}};
      double left = 1 - first;
      for (int64_t rank = 1; rank <= std::ssize(others); ++rank) {
        const TokenProbability& other = others[static_cast<size_t>(rank - 1)];
        const double own = (1 - first) * acceptance.of_other(rank, share_of(other, probability));
        all.push_back({other.token, std::max(0.0, std::min({own, left, all.back().chance}))});
        left -= all.back().chance;
      }
      return all;
    };
    choices.behind_first.push_back(list(answer.chance(acceptance.of(place, probability))));
    choices.behind_other.push_back(list(answer.chance(acceptance.of_first_behind_other(probability))));
  }
  return choices;
}

bool DraftLength::may_branch(const StepSize& chain, int64_t depth, const DraftCosts& costs,
                             double rate) const {
  const double longer =
      costs.step_ms({chain.n_rows + 1, chain.depth + depth, /*has_branches=*/true}) - costs.step_ms(chain);
  return kTokensOfBranch * acceptance.that_other_is_right() > rate * longer;
}

void DraftRecord::propose(const Draft& draft, int64_t n_chosen, int64_t n_before, const Price& price) {
  draft_ = draft;
  price_ = price;
  unverified_.reset();
  if (n_chosen < draft.n_tokens()) {
    const auto first = static_cast<size_t>(n_chosen);
    unverified_ = {n_chosen, n_before + n_chosen, draft.tokens[first], draft.probabilities[first]};
  }
}

void DraftRecord::learn(int64_t place, float probability, bool is_taken) {
  acceptance_.note(length_.acceptance.of(place, probability), is_taken);
  length_.acceptance.note(place, probability, is_taken);
}

void DraftRecord::note(int64_t n_drafted, int64_t n_accepted, int64_t n_in_branches) {
  const int64_t n_known = std::min({n_drafted, n_accepted + 1, draft_.n_tokens()});
  for (int64_t i = 0; i < n_known; ++i)
    learn(i, draft_.probabilities[static_cast<size_t>(i)], i < n_accepted);
  if (n_accepted < n_drafted) unverified_.reset();  // it stood behind a wrong one
  length_.account.note_with(static_cast<double>(n_accepted) * price_.plain_ms,
                            price_.spent_ms - price_.branches_ms, price_.plain_ms);
  if (price_.branches_ms > 0) {
    length_.trees.note_with(static_cast<double>(n_in_branches) * price_.plain_ms, price_.branches_ms,
                            price_.plain_ms);
  }
}

void DraftRecord::learn_others(std::span<const int32_t> said) {
  if (draft_.others.empty()) return;
  DraftAcceptance& all = length_.acceptance;
  const auto wrong = static_cast<size_t>(std::ranges::mismatch(said, draft_.tokens).in1 - said.begin());
  bool is_other_right = false;
  if (wrong < said.size() && wrong < draft_.others.size()) {
    int64_t rank = 1;
    for (const TokenProbability& other : draft_.others[wrong]) {
      const bool is_right = other.token == said[wrong];
      all.note_other(rank++, share_of(other, draft_.probabilities[wrong]), is_right);
      is_other_right |= is_right;
    }
  }
  all.note_draft(is_other_right);
  if (!is_other_right) return;
  bool is_right = true;
  for (size_t i = wrong + 1; is_right && i < std::min(said.size(), draft_.tokens.size()); ++i) {
    is_right = said[i] == draft_.tokens[i];
    all.note_first_behind_other(draft_.probabilities[i], is_right);
  }
}

void DraftRecord::follow(std::span<const int32_t> text) {
  if (!unverified_ || unverified_->position >= std::ssize(text)) return;
  const bool is_right = text[static_cast<size_t>(unverified_->position)] == unverified_->token;
  learn(unverified_->place, unverified_->probability, is_right);
  unverified_.reset();
}

}  // namespace parlance
