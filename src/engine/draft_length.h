// How many tokens are worth drafting and verifying, by expected gain: the tokens that come out of a step,
// against what the step and the drafts take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/draft_acceptance.h"
#include "engine/draft_costs.h"
#include "engine/draft_tree.h"
#include "sampling/draft_sampler.h"

namespace parlance {

// Of a draft, the chance that all tokens up to each are taken: falling.
using Reach = std::vector<double>;

// What may be verified of an answer: tokens of a draft, or nodes of a tree, in the order in which they are
// worth it, each with the chance that it is said.
struct DraftOffer {
  Reach reach;
  // Of a tree, the branches that its first node has, its first two, and so on: each is attended like one more
  // text of `depth` tokens.
  std::vector<int64_t> n_branches = {};
  int64_t depth = 0;

  int64_t branches_of(int64_t n) const {
    return n == 0 || n_branches.empty() ? 0 : n_branches[static_cast<size_t>(n - 1)];
  }
};
DraftOffer offer_of(std::span<const DraftNode> tree, int64_t depth);

// Of several drafts, each of another answer, how many tokens of each are verified in one step.
struct DraftLengths {
  double expected = 0;  // tokens of all answers
  double ms = 0;        // that the step takes, and the drafts
  std::vector<int64_t> n;

  double rate() const { return ms > 0 ? expected / ms : 0; }
  // Where a millisecond is worth `rate` tokens; 0: by their own rates.
  bool is_better_than(const DraftLengths& other, double rate) const;
};

// The lengths that win most, beside a step of `size` without drafts and after drafts that took `draft_ms`,
// where a millisecond is worth `rate` tokens; 0: those with the best rate of their own. At least n_least
// tokens of all drafts together.
DraftLengths best_lengths(std::span<const DraftOffer> offers, const StepSize& size, const DraftCosts& costs,
                          double draft_ms, double rate, int64_t n_least = 0);

// How much faster answers get on with drafts, lately. What a step's time is worth follows from it: where the
// next draft may be a better one, it does not pay to try a poor one to its end.
class SpeedUp {
 public:
  // Tokens that steps without drafts would have needed plain_ms for came out in ms.
  void note(double plain_ms, double ms);
  double factor() const;  // 1 at least

 private:
  double plain_ms_ = 0, ms_ = 0;
};

// What a drafter has won and lost, and whether it may go on: what is lost is paid from a small share of the
// time that steps without drafts take, so that answers are hardly ever slower than without a drafter.
class DraftAccount {
 public:
  // A step took so long in which it could have proposed something to an answer and did not.
  void note_without(double plain_ms);
  // Tokens were taken that steps without drafts would have needed so long for; drafting and verifying took so
  // much longer.
  void note_with(double won_ms, double spent_ms, double plain_ms);

  // Whether drafts that seem to pay may be made.
  bool is_solvent() const { return is_solvent_; }
  // Whether it is time to draft even though it does not seem to pay, to see whether it does now, which is
  // expected to lose so much. More seldom each time in a row.
  bool may_try(double lost_ms) const { return balance_ms_ >= lost_ms && n_without_ >= patience_; }
  void tried();
  void paid() { patience_ = kFirstPatience; }

 private:
  static constexpr int64_t kFirstPatience = 32;
  double balance_ms_ = 0;
  bool is_solvent_ = true;
  int64_t n_without_ = 0;  // since the last try
  int64_t patience_ = kFirstPatience;
};

// Decides for one drafter and all its answers.
class DraftLength {
 public:
  // What is known of how often its tokens are taken, by all answers.
  DraftAcceptance acceptance;
  DraftAccount account;
  // Of what trees win beyond chains, and take longer.
  DraftAccount trees;

  // A pass of the drafter for so many sequences at once took so long.
  void note_pass(int64_t n_sequences, double ms) { pass_ms_.note(n_sequences, ms); }
  // One sequence's share of such passes; 0 when none was made yet.
  double pass_ms(int64_t n_sequences) const;

  // How many tokens to ask for, for one of n_asking answers in a step of `size` without drafts, where a draft
  // of so many tokens takes so many passes; beside what would be done otherwise, with its rate of tokens.
  struct Question {
    StepSize size;
    int64_t most = 0;
    int64_t n_asking = 1;
    double other_rate = 0;
    bool is_pass_for_each = false;  // token; else for all of them
  };
  struct Answer {
    int64_t n = 0;
    bool is_trial = false;  // it does not seem to pay, and is to be verified whole
  };
  Answer ask(const Question& question, const DraftCosts& costs, const AnswerAcceptance& answer);

  // Of tokens that the drafter gives these probabilities.
  Reach reach_of(std::span<const float> probabilities, const AnswerAcceptance& answer) const;
  // Of a draft with what the drafter would have proposed in its tokens' places.
  DraftChoices choices_of(const Draft& draft, const AnswerAcceptance& answer) const;

  // Whether it is worth asking for such choices: whether the first branch, a row at the end of a step of
  // `chain` that attends `depth` tokens, can win more than it takes.
  bool may_branch(const StepSize& chain, int64_t depth, const DraftCosts& costs, double rate) const;

 private:
  CostCurve pass_ms_;
};

// What one answer has shown of one drafter, and its last draft.
class DraftRecord {
 public:
  explicit DraftRecord(DraftLength& length) : length_(length) {}

  const AnswerAcceptance& acceptance() const { return acceptance_; }

  // A draft was made of which the first n_chosen tokens are to be verified, behind a text of n_before tokens.
  // Without it a token takes plain_ms; with it the step takes spent_ms longer, drafting included; of these
  // branches_ms for what leaves the draft.
  struct Price {
    double plain_ms = 0, spent_ms = 0, branches_ms = 0;
  };
  void propose(const Draft& draft, int64_t n_chosen, int64_t n_before, const Price& price);
  // It was verified. Behind those that were accepted of it, so many were in branches.
  void note(int64_t n_drafted, int64_t n_accepted, int64_t n_in_branches = 0);
  // This is what was said from the draft's first place on, whatever of it was drafted.
  void learn_others(std::span<const int32_t> said);
  // The text has gone on: what stands in the place of the first token that was not verified tells of it too.
  void follow(std::span<const int32_t> text);

 private:
  void learn(int64_t place, float probability, bool is_taken);

  DraftLength& length_;
  AnswerAcceptance acceptance_;
  Draft draft_;
  Price price_;
  struct Unverified {
    int64_t place = 0;     // in the draft
    int64_t position = 0;  // in the text
    int32_t token = 0;
    float probability = 0;
  };
  std::optional<Unverified> unverified_;
};

}  // namespace parlance
