#include "engine/draft_length.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

namespace parlance {
namespace {

constexpr int64_t kLongest = 15;

// A device and a drafter: what steps and passes take, how likely a drafted token is taken, on average, and
// how much that differs from token to token, which the drafter knows.
struct Pair {
  double step_ms, row_ms, pass_ms, taken, spread = 0;
};

struct Outcome {
  double ms = 0;
  double tokens = 0;
  int64_t n_steps = 0, n_drafts = 0;
  double rate() const { return tokens / ms; }
};

// How lengths are decided: as the engine does it, or always the same.
struct Rules {
  int64_t fixed = -1;
  double noise = 0;       // of what is measured
  bool is_bold = false;   // the drafter believes all of its tokens
  int n_in_answer = 200;  // steps
};

// Answers one after the other, beside n_others without drafts.
class Simulation {
 public:
  Simulation(const Rules& rules, int64_t n_others) : rules_(rules), n_others_(n_others) {}

  Outcome run(const Pair& machine, int n_steps) {
    Outcome outcome;
    for (int i = 0; i < n_steps; ++i) {
      if (i % rules_.n_in_answer == 0) {
        record_.emplace(length_);
        text_.clear();
      }
      step(machine, outcome);
    }
    return outcome;
  }

 private:
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  double measured(double ms) { return ms * (1 + rules_.noise * (uniform() < 0.2 ? 3 : uniform())); }
  double step_ms(const Pair& machine, int64_t n_drafted) const {
    return machine.step_ms + machine.row_ms * static_cast<double>(n_others_ + 1 + n_drafted);
  }

  void step(const Pair& machine, Outcome& outcome) {
    const StepSize size{.n_rows = n_others_ + 1, .depth = 100};
    const double plain_ms = costs_.step_ms(size);
    DraftLength::Answer ask{.n = rules_.fixed};
    if (rules_.fixed < 0) {
      const double plain_rate = plain_ms > 0 ? static_cast<double>(size.n_rows) / plain_ms : 0;
      ask = length_.ask({.size = size, .most = kLongest, .other_rate = plain_rate}, costs_,
                        record_->acceptance());
    }
    Draft draft;
    std::vector<bool> is_taken;
    for (int64_t i = 0; i < ask.n; ++i) {
      const double chance = std::clamp(machine.taken + machine.spread * (2 * uniform() - 1), 0.0, 1.0);
      draft.add(1, rules_.is_bold ? 1.0f : static_cast<float>(chance));
      is_taken.push_back(uniform() < chance);
    }
    int64_t n = ask.n;
    const double pass_ms = ask.n > 0 ? length_.pass_ms(1) : 0;
    if (rules_.fixed < 0 && ask.n > 0) {
      const DraftOffer offer{.reach = length_.reach_of(draft.probabilities, record_->acceptance())};
      const double plain_rate = static_cast<double>(size.n_rows) / plain_ms;
      const DraftLengths best = best_lengths({&offer, 1}, size, costs_, pass_ms,
                                             speed_up_.factor() * plain_rate, ask.is_trial ? ask.n : 0);
      n = best.n.front();
      if (!ask.is_trial) speed_up_.note(best.expected / plain_rate, best.ms);
      const double longer = costs_.step_ms({size.n_rows + n, size.depth}) - plain_ms;
      record_->propose(draft, n, std::ssize(text_),
                       {plain_ms / static_cast<double>(size.n_rows), longer + pass_ms});
      if (n == 0) length_.account.note_with(0, pass_ms, plain_ms);
    } else if (ask.n == 0) {
      length_.account.note_without(plain_ms);
    }
    int64_t n_accepted = 0;
    while (n_accepted < n && is_taken[static_cast<size_t>(n_accepted)]) ++n_accepted;
    const double ms = step_ms(machine, n);
    outcome.ms += ms + (ask.n > 0 ? machine.pass_ms : 0);
    outcome.tokens += static_cast<double>(n_others_ + n_accepted + 1);  // of all answers
    outcome.n_drafts += ask.n > 0;
    ++outcome.n_steps;
    costs_.note_step({size.n_rows + n, size.depth}, measured(ms));
    if (ask.n > 0) length_.note_pass(1, measured(machine.pass_ms));
    if (n > 0) record_->note(n, n_accepted);
    for (int64_t i = 0; i < n_accepted; ++i) text_.push_back(1);
    text_.push_back(n_accepted == n && n < ask.n && is_taken[static_cast<size_t>(n)] ? 1 : 0);
    record_->follow(text_);
  }

  const Rules rules_;
  const int64_t n_others_;
  DraftLength length_;
  DraftCosts costs_;
  SpeedUp speed_up_;
  std::optional<DraftRecord> record_;
  std::vector<int32_t> text_;  // of the answer: 1 is what was drafted
  std::mt19937 random_{3};
};

Outcome answer(const Pair& machine, int64_t n_others, int n_steps, const Rules& rules = {}) {
  return Simulation(rules, n_others).run(machine, n_steps);
}

double plain_rate(const Pair& machine, int64_t n_others) {
  return answer(machine, n_others, 100, {.fixed = 0}).rate();
}

double best_fixed(const Pair& machine, int64_t n_others) {
  double best = 0;
  for (int64_t n = 0; n <= kLongest; ++n)
    best = std::max(best, answer(machine, n_others, 1000, {.fixed = n}).rate());
  return best;
}

const Pair kPairs[] = {
    {.step_ms = 20, .row_ms = 0.5, .pass_ms = 2, .taken = 0.85},      // reads weights from memory
    {.step_ms = 20, .row_ms = 0.5, .pass_ms = 2, .taken = 0.4},       // a poor drafter
    {.step_ms = 0.45, .row_ms = 0.09, .pass_ms = 0.3, .taken = 0.8},  // the demo
    {.step_ms = 6, .row_ms = 0.01, .pass_ms = 0.5, .taken = 0.9},     // a GPU
    {.step_ms = 1, .row_ms = 10, .pass_ms = 1, .taken = 0.8},         // arithmetic alone: nothing is gained
    {.step_ms = 20, .row_ms = 0.5, .pass_ms = 40, .taken = 0.5},      // a slow drafter
    {.step_ms = 20, .row_ms = 0.5, .pass_ms = 2, .taken = 0},         // never right
    {.step_ms = 20, .row_ms = 2, .pass_ms = 2, .taken = 0.6, .spread = 0.4},    // knows when it is right
    {.step_ms = 20, .row_ms = 2, .pass_ms = 2, .taken = 0.06, .spread = 0.06},  // knows that it is not
};

TEST(DraftLength, IsNearlyAsFastAsTheBestLengthAndNeverSlowerThanWithout) {
  for (const Pair& machine : kPairs) {
    for (const int64_t n_others : {0, 15}) {
      const double best = best_fixed(machine, n_others), plain = plain_rate(machine, n_others);
      for (const bool is_bold : {false, true}) {
        for (const int n_in_answer : {12, 200}) {
          const Rules rules{.is_bold = is_bold, .n_in_answer = n_in_answer};
          const double chosen = answer(machine, n_others, 2000, rules).rate();
          SCOPED_TRACE(testing::Message() << machine.taken << " beside " << n_others
                                          << (is_bold ? ", bold" : "") << ", answers of " << n_in_answer);
          EXPECT_GE(chosen, 0.93 * best);
          EXPECT_GE(chosen, 0.97 * plain);
        }
      }
    }
  }
}

TEST(DraftLength, WhatTheDrafterKnowsIsWorthMoreThanAnyFixedLength) {
  const Pair machine{.step_ms = 20, .row_ms = 5, .pass_ms = 2, .taken = 0.6, .spread = 0.4};
  EXPECT_GE(answer(machine, 0, 4000).rate(), 1.05 * best_fixed(machine, 0));
}

TEST(DraftLength, NoiseOfTheMachineDoesNotSwitchItOff) {
  for (const Pair& machine : {kPairs[0], kPairs[2], kPairs[3]}) {
    EXPECT_GE(answer(machine, 0, 4000, {.noise = 0.5}).rate(), 0.9 * best_fixed(machine, 0)) << machine.taken;
  }
}

TEST(DraftLength, WhereItDoesNotPayItIsTriedMoreAndMoreSeldom) {
  Simulation simulation({}, 0);
  const int64_t early = simulation.run(kPairs[4], 1000).n_drafts;
  const int64_t late = simulation.run(kPairs[4], 10000).n_drafts;
  EXPECT_GE(early, 1);
  EXPECT_LT(early, 10);
  EXPECT_GE(late, 1);
  EXPECT_LT(late, 10);
}

// A text of another kind: drafts begin and end to pay, and that is found out, at little cost.
TEST(DraftLength, FollowsWhatTheTextIsLike) {
  for (const bool is_bold : {false, true}) {
    Simulation simulation({.is_bold = is_bold}, 0);
    const Pair &good = kPairs[0], &bad = kPairs[6];
    EXPECT_GE(simulation.run(bad, 2000).rate(), 0.97 * plain_rate(bad, 0));
    simulation.run(good, 1500);
    EXPECT_GE(simulation.run(good, 2000).rate(), 0.9 * best_fixed(good, 0)) << is_bold;
    EXPECT_GE(simulation.run(bad, 2000).rate(), 0.97 * plain_rate(bad, 0)) << is_bold;
  }
}

// Several drafts in one step: where a row costs as much as it does from some number on, the likeliest tokens
// of all of them are verified.
TEST(BestLengths, TakesTheLikeliestTokensOfAllDrafts) {
  DraftCosts costs;
  for (int64_t n = 1; n <= 64; ++n)
    costs.note_step({n, 0}, n <= 8 ? 10.0 : 10.0 + 10.0 * static_cast<double>(n - 8));
  const std::vector<DraftOffer> offers = {
      {.reach = {0.9, 0.8, 0.7, 0.6, 0.5}}, {.reach = {0.4, 0.3}}, {.reach = {0.95, 0.2, 0.1}}};
  const DraftLengths lengths = best_lengths(offers, {.n_rows = 3, .depth = 0}, costs, 0, 0);
  EXPECT_EQ(lengths.n, (std::vector<int64_t>{4, 0, 1}));
  EXPECT_DOUBLE_EQ(lengths.rate(), (3 + 0.9 + 0.8 + 0.7 + 0.6 + 0.95) / 10);
  EXPECT_EQ(best_lengths(offers, {.n_rows = 3, .depth = 0}, costs, 0, 0, 10).n,
            (std::vector<int64_t>{5, 2, 3}));
  EXPECT_EQ(best_lengths({}, {.n_rows = 3, .depth = 0}, costs, 0, 0).rate(), 0.3);
}

TEST(DraftAcceptance, LearnsEachPlaceAndWhatProbabilitiesAreWorth) {
  DraftLength length;
  for (int i = 0; i < 300; ++i) {  // the first two always, the third never, however sure it was
    DraftRecord record(length);
    const Draft draft{
        .tokens = {1, 2, 3, 4}, .probabilities = {0.3f, 0.3f, 0.9f, 0.9f}, .drawn_from = {}, .others = {}};
    record.propose(draft, 4, 0, {});
    record.note(4, 2);
  }
  EXPECT_GT(length.acceptance.at(0), 0.97);
  EXPECT_GT(length.acceptance.at(1), 0.97);
  EXPECT_LT(length.acceptance.at(2), 0.03);
  EXPECT_GT(length.acceptance.of(0, 0.3f), 0.97);
  EXPECT_LT(length.acceptance.of(2, 0.9f), 0.05);
  EXPECT_NEAR(length.acceptance.of(0, 0.75f), 0.75, 0.01);  // never seen: believed
}

// What would have become of a token that was not verified shows in the text, if those before it were right.
TEST(DraftRecord, LearnsFromTheTextWhatWasNotVerified) {
  const Draft draft{.tokens = {1, 2, 3}, .probabilities = {0.5f, 0.5f, 0.5f}, .drawn_from = {}, .others = {}};
  const std::vector<int32_t> text = {7, 8, 1, 2, 9};
  for (int64_t n_chosen = 0; n_chosen <= 3; ++n_chosen) {
    DraftLength length;
    DraftRecord record(length);
    record.propose(draft, n_chosen, 2, {});
    if (n_chosen > 0) record.note(n_chosen, std::min<int64_t>(n_chosen, 2));
    record.follow(std::span(text).first(2 + static_cast<size_t>(n_chosen)));  // nothing new yet
    const DraftAcceptance before = length.acceptance;
    record.follow(text);
    record.follow(text);  // is taken in once
    for (int64_t place = 0; place < 3; ++place) {
      const double change = length.acceptance.at(place) - before.at(place);
      SCOPED_TRACE(testing::Message() << n_chosen << " verified, place " << place);
      if (place != n_chosen) {
        EXPECT_EQ(change, 0);
      } else {
        EXPECT_EQ(change > 0, place < 2);
        EXPECT_NE(change, 0);
      }
    }
  }
}

// A device and a drafter that knows second choices: what steps take by their rows, how often the first choice
// is right, and how often the second where the first is not.
struct TreePair {
  double step_ms, row_ms;
  double first, second;
};

struct TreeOutcome {
  double ms = 0, tokens = 0;
  int64_t n_steps = 0, n_with_branches = 0;
};

// One answer with drafts of seven tokens in every step, as chains or as whatever seems to pay.
class TreeSimulation {
 public:
  explicit TreeSimulation(int64_t n_tree) : n_tree_(n_tree) {}

  TreeOutcome run(const TreePair& machine, int n_steps) {
    TreeOutcome outcome;
    for (int i = 0; i < n_steps; ++i) step(machine, outcome);
    return outcome;
  }

 private:
  static constexpr int64_t kPlaces = 7;
  static constexpr StepSize kPlain{.n_rows = 1, .depth = 100};

  bool happens(double chance) { return std::uniform_real_distribution<double>(0, 1)(random_) < chance; }

  // Even tokens are first choices, odd ones others; what is behind a wrong one is anything.
  std::vector<int32_t> text_of(const TreePair& machine) {
    std::vector<int32_t> said;
    for (int64_t place = 0; place <= kPlaces; ++place) {
      const bool is_second = !happens(machine.first);
      said.push_back(is_second ? (happens(machine.second) ? 1 : 7) : 0);
      if (said.back() == 7) break;
    }
    return said;
  }

  void step(const TreePair& machine, TreeOutcome& outcome) {
    const double plain_ms = costs_.step_ms(kPlain), rate = plain_ms > 0 ? speed_up_.factor() / plain_ms : 0;
    const StepSize chain{1 + kPlaces, kPlain.depth};
    const bool may_ask = n_tree_ > 0 && costs_.knows_chains();
    bool asks =
        may_ask && length_.trees.is_solvent() && length_.may_branch(chain, kPlain.depth, costs_, rate);
    bool is_trial = false;
    if (may_ask && !asks) {
      is_trial =
          length_.trees.may_try(costs_.step_ms({1 + n_tree_, kPlain.depth, true}) - costs_.step_ms(chain));
      if (is_trial) length_.trees.tried();
      asks = is_trial;
    }
    Draft draft;
    for (int64_t place = 0; place < kPlaces; ++place) {
      draft.add(0, static_cast<float>(machine.first));
      if (asks) draft.others.push_back({{1, (1 - machine.first) * machine.second}, {2, 0.001}, {3, 0.0005}});
    }
    const DraftTree tree =
        asks ? best_tree(length_.choices_of(draft, record_.acceptance()), n_tree_, kNoEnd) : DraftTree();
    const DraftOffer as_chain{.reach = length_.reach_of(draft.probabilities, record_.acceptance())};
    const DraftOffer as_tree = offer_of(tree, 0);
    DraftLengths best = best_lengths({&as_chain, 1}, kPlain, costs_, 0, rate);
    const DraftLengths of_tree = best_lengths({&as_tree, 1}, kPlain, costs_, 0, rate);
    const bool takes_tree = asks && (is_trial || of_tree.is_better_than(best, rate));
    if (takes_tree) best = of_tree;
    const int64_t n = is_trial ? std::ssize(tree) : best.n.front();
    if (plain_ms > 0) speed_up_.note(best.expected * plain_ms, best.ms);
    const DraftPaths paths =
        takes_tree ? paths_of(std::span(tree).first(static_cast<size_t>(n))) : DraftPaths();
    const int64_t n_trunk = takes_tree ? std::ssize(paths.trunk) : n;

    const double ms = machine.step_ms + machine.row_ms * static_cast<double>(1 + n);
    const double before = costs_.step_ms({1 + n_trunk, kPlain.depth});
    const bool has_branches = !paths.branches.empty();
    const StepSize all{1 + n, kPlain.depth, has_branches};
    record_.propose(draft, n_trunk, 0,
                    {.plain_ms = plain_ms,
                     .spent_ms = costs_.step_ms(all) - plain_ms,
                     .branches_ms = has_branches ? costs_.step_ms(all) - before : 0});
    if (!has_branches) length_.trees.note_without(plain_ms);
    const std::vector<int32_t> said = text_of(machine);
    int64_t n_taken = 0, n_of_trunk = 0, branch = -1;
    for (; n_taken < std::ssize(said); ++n_taken) {
      const int32_t token = said[static_cast<size_t>(n_taken)];
      const auto next = branch_with(paths, n_trunk, branch, n_taken, token);
      if (!next) break;
      branch = *next;
      n_of_trunk += branch < 0 ? 1 : 0;
    }
    if (n > 0) {
      record_.note(n_trunk, n_of_trunk, n_taken - n_of_trunk);
      record_.learn_others(
          std::span(said).first(std::min<size_t>(said.size(), static_cast<size_t>(n_taken) + 1)));
    }
    costs_.note_step(all, ms);
    outcome.ms += ms;
    outcome.tokens += static_cast<double>(1 + n_taken);
    outcome.n_with_branches += has_branches ? 1 : 0;
    ++outcome.n_steps;
  }

  static std::optional<int64_t> branch_with(const DraftPaths& paths, int64_t n_trunk, int64_t branch,
                                            int64_t place, int32_t token) {
    if (branch < 0) {
      if (place < n_trunk && token == 0) return branch;
    } else {
      const DraftBranch& way = paths.branches[static_cast<size_t>(branch)];
      if (place < way.end() && way.tokens[static_cast<size_t>(place - way.place)] == token) return branch;
    }
    for (int64_t i = 0; i < std::ssize(paths.branches); ++i) {
      const DraftBranch& way = paths.branches[static_cast<size_t>(i)];
      if (way.parent == branch && way.place == place && way.tokens.front() == token) return i;
    }
    return std::nullopt;
  }

  static constexpr auto kNoEnd = [](int32_t) { return false; };
  const int64_t n_tree_;
  DraftLength length_;
  DraftCosts costs_;
  SpeedUp speed_up_;
  DraftRecord record_{length_};
  std::mt19937 random_{5};
};

// Where rows cost nothing trees win what second choices are right for, and are verified nearly always; where
// they cost what they do on a CPU, hardly ever, and little is lost by trying. Sure drafters need none.
TEST(DraftTrees, AreVerifiedWhereTheyPay) {
  struct Case {
    TreePair machine;
    double least_gain, least_share, most_share;
  };
  const Case cases[] = {
      {{.step_ms = 6, .row_ms = 0.001, .first = 0.75, .second = 0.5}, 1.1, 0.8, 1},  // a GPU with one answer
      {{.step_ms = 6, .row_ms = 0.3, .first = 0.75, .second = 0.5}, 0.97, 0, 1},     // in between
      {{.step_ms = 0.45, .row_ms = 0.05, .first = 0.85, .second = 0.5}, 0.98, 0, 0.2},  // the demo on a CPU
      {{.step_ms = 6, .row_ms = 0.05, .first = 0.7, .second = 0}, 0.97, 0, 0.2},        // never right
      {{.step_ms = 1, .row_ms = 5, .first = 0.7, .second = 0.5}, 0.97, 0, 0.05},        // arithmetic alone
  };
  for (const Case& c : cases) {
    const TreeOutcome chains = TreeSimulation(0).run(c.machine, 6000);
    const TreeOutcome trees = TreeSimulation(kMostTreeNodes).run(c.machine, 6000);
    SCOPED_TRACE(testing::Message() << "rows of " << c.machine.row_ms << " beside " << c.machine.step_ms);
    EXPECT_GE(trees.tokens / trees.ms, c.least_gain * chains.tokens / chains.ms);
    const double share = static_cast<double>(trees.n_with_branches) / static_cast<double>(trees.n_steps);
    EXPECT_GE(share, c.least_share);
    EXPECT_LE(share, c.most_share);
  }
}

// A text of another kind: second choices begin to be right.
TEST(DraftTrees, AreTriedAgain) {
  const TreePair never{.step_ms = 6, .row_ms = 0.02, .first = 0.7, .second = 0};
  TreePair often = never;
  often.second = 0.6;
  TreeSimulation simulation(kMostTreeNodes);
  simulation.run(never, 3000);
  simulation.run(often, 4000);
  const TreeOutcome outcome = simulation.run(often, 2000);
  EXPECT_GT(outcome.n_with_branches, 1000);
}

// What trees cost, and the first of them at that, is nothing that chains are judged by.
TEST(DraftCosts, BranchesAreKeptApart) {
  DraftCosts costs;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(costs.knows_chains(), i >= 16);
    costs.note_step({1, 100}, 10);
    costs.note_step({8, 100}, 17);
  }
  const double chain = costs.step_ms({6, 100}), far = costs.step_ms({26, 100});
  EXPECT_DOUBLE_EQ(costs.step_ms({26, 100, true}), far);  // as far as anybody knows
  costs.note_step({26, 100, true}, 900);
  EXPECT_DOUBLE_EQ(costs.step_ms({26, 100, true}), 900);
  EXPECT_DOUBLE_EQ(costs.step_ms({6, 100}), chain);
  EXPECT_DOUBLE_EQ(costs.step_ms({26, 100}), far);
  for (int i = 0; i < 3; ++i) costs.note_step({26, 100, true}, 40);
  EXPECT_LT(costs.step_ms({26, 100, true}), 45);  // the first times are slow
}

// Branches are attended like texts of their own.
TEST(BestLengths, BranchesBehindLongTextsCost) {
  DraftCosts costs;
  for (int64_t n = 1; n <= 64; ++n) {
    costs.note_step({n, 200}, 10);
    costs.note_step({n, 8000}, 20);
    costs.note_step({n, 16000}, 40);
  }
  const DraftTree tree = {{-1, 0, 1, 0.6}, {-1, 0, 2, 0.3}, {0, 1, 3, 0.25}};
  EXPECT_EQ(count_branches(tree), (std::vector<int64_t>{0, 1, 1}));
  const DraftOffer shallow = offer_of(tree, 100), deep = offer_of(tree, 8000);
  EXPECT_EQ(best_lengths({&shallow, 1}, {.n_rows = 1, .depth = 100}, costs, 0, 0.05).n.front(), 3);
  EXPECT_EQ(best_lengths({&deep, 1}, {.n_rows = 1, .depth = 8000}, costs, 0, 0.05).n.front(), 1);
}

TEST(DraftRecord, LearnsWhatOtherChoicesAreWorth) {
  DraftLength length;
  const Draft draft{.tokens = {1, 2, 3},
                    .probabilities = {0.6f, 0.6f, 0.6f},
                    .drawn_from = {},
                    .others = {{{4, 0.2}, {5, 0.1}}, {{4, 0.2}, {5, 0.1}}, {{4, 0.2}, {5, 0.1}}}};
  for (int i = 0; i < 200; ++i) {  // the second choice is right in the second place, and the first behind it
    DraftRecord record(length);
    record.propose(draft, 3, 0, {});
    record.learn_others(std::vector<int32_t>{1, 4, 3, 9});
  }
  EXPECT_GT(length.acceptance.of_other(1, 0.5), 0.95);
  EXPECT_LT(length.acceptance.of_other(2, 0.25), 0.05);
  EXPECT_GT(length.acceptance.of_first_behind_other(0.6f), 0.95);
  EXPECT_GT(length.acceptance.that_other_is_right(), 0.95);
  const DraftChoices choices = length.choices_of(draft, {});
  ASSERT_EQ(choices.behind_first.size(), 3u);
  EXPECT_NEAR(choices.behind_first[0][1].chance, 0.4, 0.03);  // all that the first leaves
  EXPECT_LT(choices.behind_first[0][2].chance, 0.03);
  for (int i = 0; i < 300; ++i) {  // none is
    DraftRecord record(length);
    record.propose(draft, 3, 0, {});
    record.learn_others(std::vector<int32_t>{1, 9});
  }
  EXPECT_LT(length.acceptance.of_other(1, 0.5), 0.6);
  EXPECT_LT(length.acceptance.that_other_is_right(), 0.05);
}

TEST(AnswerAcceptance, IsBetweenWhatIsExpectedAndWhatWasSeen) {
  AnswerAcceptance answer;
  EXPECT_NEAR(answer.chance(0.7), 0.7, 1e-9);
  double last = 0.5;
  for (int i = 0; i < 30; ++i) {
    answer.note(0.5, true);
    EXPECT_GT(answer.chance(0.5), last);
    last = answer.chance(0.5);
  }
  EXPECT_GT(last, 0.8);
  for (int i = 0; i < 200; ++i) answer.note(0.5, false);
  EXPECT_LT(answer.chance(0.5), 0.2);
}

TEST(DraftCosts, LearnsFromWhatIsMeasuredAndKnowsTheRest) {
  DraftCosts costs;
  EXPECT_EQ(costs.step_ms({1, 0}), 0);
  costs.note_step({1, 100}, 10);
  EXPECT_NEAR(costs.step_ms({4, 100}), 13, 0.01);  // a guess
  for (int i = 0; i < 10; ++i) {
    costs.note_step({1, 100}, 10);
    costs.note_step({9, 100}, 18);
  }
  EXPECT_NEAR(costs.step_ms({1, 100}), 10, 0.01);
  EXPECT_NEAR(costs.step_ms({5, 100}), 14, 0.01);
  EXPECT_NEAR(costs.step_ms({20, 100}), 18 + 0.7 * 11, 0.1);  // beyond: nearly as steep
  EXPECT_NEAR(costs.step_ms({5, 9000}), 14, 0.01);            // as far as anybody knows
  costs.note_step({1, 9000}, 20);
  EXPECT_NEAR(costs.step_ms({9, 9000}), 36, 0.1);
  EXPECT_NEAR(costs.step_ms({9, 100}), 18, 0.1);
  for (int i = 0; i < 40; ++i) costs.note_step({9, 100}, 36);  // the machine is busy
  EXPECT_GT(costs.step_ms({1, 100}), 12);
  EXPECT_NEAR(costs.step_ms({9, 100}), 36, 0.5);
  for (int i = 0; i < 3; ++i) costs.note_step({9, 100}, 3600);  // somebody else had the processor
  EXPECT_LT(costs.step_ms({9, 100}), 60);
}

}  // namespace
}  // namespace parlance
