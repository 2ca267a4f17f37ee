#include "engine/proposals.h"

#include <algorithm>
#include <chrono>

#include "engine/block_drafter.h"
#include "engine/context.h"
#include "engine/elapsed.h"
#include "engine/lookup_drafter.h"
#include "engine/model_drafter.h"
#include "engine/task.h"

namespace parlance {

namespace {

// A step without drafts is made after so many with, to know what it takes.
constexpr int64_t kMostWith = 250;

// What is behind the end of an answer is never said.
void cut_behind_end(Draft& draft, const Tokenizer& tokenizer) {
  for (int64_t i = 0; i < draft.n_tokens(); ++i) {
    if (tokenizer.is_end_of_generation(draft.tokens[static_cast<size_t>(i)])) return draft.cut(i + 1);
  }
}

// What is as likely as this to be no use. Of drawn tokens this must not be asked: which were drawn would
// decide whether they are verified, and some would be said more often than the model says them.
void cut_unlikely(Draft& draft, float least_reach) {
  if (!draft.drawn_from.empty()) return;
  float reach = 1;
  for (int64_t i = 0; i < draft.n_tokens(); ++i) {
    reach *= draft.probabilities[static_cast<size_t>(i)];
    if (reach < least_reach) return draft.cut(i);
  }
}

}  // namespace

struct Proposals::Wanted {
  Task* task;
  Task::DraftWish wish;
  int64_t limit;
  std::vector<DraftRecord>* records;  // by proposer
  DraftJob job;                       // of the drafter that is being asked

  // The best draft so far, and whose it is.
  Draft draft = {};
  Reach reach = {};
  DraftTree tree = {};  // that may be verified in its place; none: the drafter told of no other choices
  bool is_tree_trial = false;  // it is to be verified to see what it costs
  size_t proposer = 0;
  bool is_whole = false;  // it is to be verified whether that pays or not
  double rate = 0;        // that it promises, or a step without
  // Of a drafter that has computed for this answer: what it took.
  size_t computing = 0;
  double draft_ms = 0;

  bool has_draft() const { return draft.n_tokens() > 0; }
  bool has_whole_tree() const { return !tree.empty() && (is_tree_trial || is_whole); }
  int64_t depth() const { return job.sequence->n_computed(); }
};

// What is verified of a draft: so many tokens, or nodes of its tree.
struct Proposals::Given {
  int64_t n = 0;
  bool is_tree = false;
  int64_t n_branches = 0;
};

Proposals::Proposals(Context& context, Runner& runner) : context_(context), runner_(runner) {
  const SessionOptions& options = context.options();
  const auto add = [&](std::unique_ptr<Drafter> drafter) {
    if (options.replaces_drafter) drafter = options.replaces_drafter(std::move(drafter));
    proposers_.push_back({std::move(drafter), {}});
  };
  if (options.looks_up) add(std::make_unique<LookupDrafter>(options.n_seq));
  if (options.drafter) add(std::make_unique<BlockDrafter>(context, runner));
  if (context.draft_context())
    add(std::make_unique<ModelDrafter>(context.draft_context(), context.model().model().n_vocab()));
  if (proposers_.empty() && options.replaces_drafter) add(nullptr);
}

Result<void> Proposals::read(std::span<const StepPlan::Piece> pieces) {
  std::vector<DraftJob> jobs;
  for (const StepPlan::Piece& piece : pieces) {
    if (piece.is_prompt && piece.task->wants_drafts()) {
      jobs.push_back({.sequence = piece.slice.sequence,
                      .most = piece.slice.n_tokens,
                      .cancellation = piece.task->work_.cancellation});
    }
  }
  if (jobs.empty()) return {};
  std::vector<DraftJob*> listed;
  for (DraftJob& job : jobs) listed.push_back(&job);
  for (Proposer& proposer : proposers_) PARLANCE_CHECK(proposer.drafter->read(listed));
  return {};
}

Result<void> Proposals::propose(std::span<Task* const> answers) {
  if (proposers_.empty()) return {};
  size_ = {};
  for (const Task* const task : answers) {
    size_.n_rows += task->sequence().n_missing();
    size_.depth += task->sequence().n_computed();
  }
  plain_ms_ = costs_.step_ms(size_);
  std::vector<Wanted> wanted = wanted_by(answers);
  if (++n_with_ > kMostWith) {
    n_with_ = 0;
    std::erase_if(wanted, [](const Wanted& one) { return !one.wish.is_required; });
  }
  for (size_t i = 0; i < proposers_.size(); ++i) PARLANCE_CHECK(ask(i, wanted));
  choose(wanted);
  return {};
}

// Tokens of all answers in a millisecond, without drafts.
double Proposals::plain_rate() const {
  return plain_ms_ > 0 ? static_cast<double>(size_.n_rows) / plain_ms_ : 0;
}

double Proposals::plain_ms_a_token() const {
  return plain_ms_ / static_cast<double>(size_.n_rows);
}

std::vector<Proposals::Wanted> Proposals::wanted_by(std::span<Task* const> answers) {
  std::vector<Wanted> wanted;
  for (Task* const task : answers) {
    Sequence& sequence = task->sequence();
    Task::DraftWish wish = task->draft_wish();
    wish.n_tree = std::min({wish.n_tree, context_.options().n_tree, runner_.most_alike_rows() - 1});
    const int64_t n_room = context_.options().n_ctx - sequence.n_tokens();
    // Drafts see what they would see as answers, also of what is compressed.
    const int64_t limit = std::min({wish.most, context_.options().n_draft, n_room,
                                    sequence.n_rows_of_window() - 1, runner_.most_alike_rows() - 1});
    if (limit < std::max<int64_t>(wish.least, 1) || sequence.n_missing() != 1) continue;
    std::vector<DraftRecord>& records = records_[task];
    if (records.empty()) {
      for (Proposer& proposer : proposers_) records.emplace_back(proposer.length);
    }
    for (DraftRecord& record : records) record.follow(sequence.tokens());
    wanted.push_back({.task = task,
                      .wish = wish,
                      .limit = limit,
                      .records = &records,
                      .job = {.sequence = &sequence,
                              .least_probability = wish.least_probability,
                              .cancellation = task->work_.cancellation,
                              .sampler = wish.sampler},
                      .rate = plain_rate()});
  }
  return wanted;
}

// How much to ask a drafter for.
struct Proposals::Asked {
  Wanted* one;
  int64_t n;
  bool is_trial;
};

Proposals::Asked Proposals::question_for(Wanted& one, size_t proposer, size_t n_asking) {
  Proposer& asked = proposers_[proposer];
  if (one.wish.is_required) return {&one, one.has_draft() ? 0 : one.limit, false};
  if (!costs_.knows_steps() || one.is_whole) return {&one, 0, false};
  if (!asked.drafter->computes()) return {&one, one.limit, false};
  if (one.has_draft() && one.draft_ms > 0) return {&one, 0, false};  // another one has computed
  const DraftLength::Answer answer =
      asked.length.ask({.size = size_,
                        .most = one.limit,
                        .n_asking = static_cast<int64_t>(n_asking),
                        .other_rate = one.rate,
                        .is_pass_for_each = asked.drafter->writes_token_by_token()},
                       costs_, (*one.records)[proposer].acceptance());
  if (answer.n == 0) asked.length.account.note_without(plain_ms_a_token());
  return {&one, answer.n, answer.is_trial};
}

Result<void> Proposals::ask(size_t proposer, std::span<Wanted> wanted) {
  Proposer& asked = proposers_[proposer];
  std::vector<Asked> all;
  std::vector<DraftJob*> jobs;
  for (Wanted& one : wanted) {
    const Asked question = question_for(one, proposer, wanted.size());
    if (question.n < std::max<int64_t>(one.wish.least, 1)) continue;
    one.job.most = question.n;
    one.job.n_choices = asks_for_choices(one, proposer) ? kTreeChoices : 1;
    one.job.draft = {};
    one.job.sampler->begin_again();
    all.push_back(question);
    jobs.push_back(&one.job);
  }
  if (jobs.empty()) return {};
  const auto start = std::chrono::steady_clock::now();
  PARLANCE_CHECK(asked.drafter->draft(jobs));
  double ms = 0;
  if (asked.drafter->computes()) {
    ms = ms_between(start, std::chrono::steady_clock::now());
    draft_ms_ += ms;
    int64_t n_passes = 1;
    for (const DraftJob* const job : jobs) {
      if (asked.drafter->writes_token_by_token()) n_passes = std::max(n_passes, job->draft.n_tokens());
    }
    asked.length.note_pass(std::ssize(jobs), ms / static_cast<double>(n_passes));
  }
  for (const Asked& question : all)
    judge(proposer, *question.one, question.is_trial, ms / static_cast<double>(jobs.size()));
  return {};
}

// Whether a tree may be worth more than a chain.
bool Proposals::asks_for_choices(Wanted& one, size_t proposer) {
  one.is_tree_trial = false;
  if (one.wish.n_tree == 0 || !one.wish.sampler->takes_most_likely()) return false;
  if (one.wish.is_required) return one.wish.is_tree_required;
  if (!costs_.knows_chains()) return false;
  DraftLength& length = proposers_[proposer].length;
  const StepSize chain{size_.n_rows + one.limit, size_.depth};
  if (length.trees.is_solvent() && length.may_branch(chain, one.depth(), costs_, value_of_ms())) return true;
  const StepSize tree{size_.n_rows + one.wish.n_tree, size_.depth + kMostTreeBranches * one.depth(),
                      /*has_branches=*/true};
  one.is_tree_trial = length.trees.may_try(costs_.step_ms(tree) - costs_.step_ms(chain));
  if (one.is_tree_trial) length.trees.tried();
  return one.is_tree_trial;
}

// Whether the draft that was just made is the best for its answer so far.
void Proposals::judge(size_t proposer, Wanted& one, bool is_trial, double draft_ms) {
  DraftLength& length = proposers_[proposer].length;
  Draft& draft = one.job.draft;
  if (draft_ms > 0) {
    one.computing = proposer;
    one.draft_ms = draft_ms;
  }
  if (!one.wish.is_endless) cut_behind_end(draft, context_.model().tokenizer());
  cut_unlikely(draft, one.wish.least_reach);
  if (draft.n_tokens() < std::max<int64_t>(one.wish.least, 1)) return;
  Reach reach = length.reach_of(draft.probabilities, (*one.records)[proposer].acceptance());
  const bool is_whole = one.wish.is_required || is_trial;
  const DraftOffer offer{.reach = reach};
  const double rate = best_lengths({&offer, 1}, size_, costs_, 0, 0).rate();
  if (one.has_draft() && rate <= one.rate && !is_whole) return;
  one.tree.clear();
  if (!draft.others.empty() && one.wish.is_required == one.wish.is_tree_required && !is_trial) {
    const auto is_end = [&](int32_t token) {
      return !one.wish.is_endless && context_.model().tokenizer().is_end_of_generation(token);
    };
    one.tree =
        best_tree(length.choices_of(draft, (*one.records)[proposer].acceptance()), one.wish.n_tree, is_end);
  }
  one.draft = std::move(draft);
  one.reach = std::move(reach);
  one.proposer = proposer;
  one.is_whole = is_whole;
  one.rate = std::max(rate, one.rate);
}

// How much of the drafts is verified, and whether as chains or as trees.
void Proposals::choose(std::span<Wanted> wanted) {
  StepSize size = size_;
  std::vector<DraftOffer> chains, trees;
  double draft_ms = 0;
  bool has_tree = false, has_whole = false;
  for (const Wanted& one : wanted) {
    draft_ms += one.draft_ms;
    DraftOffer& chain = chains.emplace_back();
    DraftOffer& tree = trees.emplace_back();
    if (one.has_whole_tree()) {
      size.n_rows += std::ssize(one.tree);
      const int64_t n_branches = count_branches(one.tree).back();
      size.depth += n_branches * one.depth();
      size.has_branches |= n_branches > 0;
    } else if (one.is_whole) {
      size.n_rows += one.draft.n_tokens();
    } else {
      chain.reach = one.reach;
      tree = one.tree.empty() ? chain : offer_of(one.tree, one.depth());
      has_tree |= !one.tree.empty();
    }
    has_whole |= one.has_whole_tree() || one.is_whole;
  }
  const double rate = value_of_ms();
  DraftLengths best = best_lengths(chains, size, costs_, draft_ms, rate);
  bool takes_trees = false;
  if (has_tree) {
    DraftLengths of_trees = best_lengths(trees, size, costs_, draft_ms, rate);
    takes_trees = of_trees.is_better_than(best, rate);
    if (takes_trees) best = std::move(of_trees);
  }
  std::vector<Given> given;
  StepSize all = size_;
  int64_t n_branches = 0;
  has_drafts_ = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Wanted& one = wanted[i];
    Given& own = given.emplace_back(Given{best.n[i], takes_trees && !one.tree.empty()});
    if (one.has_whole_tree()) {
      own = {std::ssize(one.tree), true};
    } else if (one.is_whole) {
      own = {one.draft.n_tokens(), false};
    } else if (own.n < one.wish.least || !proposers_[one.proposer].length.account.is_solvent()) {
      own.n = 0;
    }
    all.n_rows += own.n;
    if (own.is_tree) own.n_branches = offer_of(one.tree, 0).branches_of(own.n);
    all.depth += own.n_branches * one.depth();
    n_branches += own.n_branches;
    has_drafts_ |= own.n > 0;
  }
  all.has_branches = n_branches > 0;
  if (!has_drafts_) n_with_ = 0;
  if (!wanted.empty() && !has_whole && plain_ms_ > 0) speed_up_.note(best.expected / plain_rate(), best.ms);
  for (size_t i = 0; i < wanted.size(); ++i)
    give(wanted[i], given[i], all, /*others_branch=*/n_branches > given[i].n_branches);
}

// What drafting costs an answer is its drafter's time and its share of what the step takes longer, which is
// of the size `all` then.
void Proposals::give(Wanted& one, const Given& given, const StepSize& all, bool others_branch) {
  for (size_t i = 0; i < proposers_.size(); ++i) {
    const bool is_verified = given.n > 0 && one.proposer == i;
    const double draft_ms = one.computing == i ? one.draft_ms : 0;
    DraftLength& length = proposers_[i].length;
    if (!is_verified && draft_ms > 0) length.account.note_with(0, draft_ms, plain_ms_a_token());
    if (!is_verified && !proposers_[i].drafter->computes()) length.account.note_without(plain_ms_a_token());
    if (!one.has_draft() || one.proposer != i) continue;
    const int64_t n_of_all = std::max<int64_t>(all.n_rows - size_.n_rows, 1);
    const double longer = costs_.step_ms(all) - plain_ms_;
    DraftPaths paths;
    if (given.is_tree) paths = paths_of(std::span(one.tree).first(static_cast<size_t>(given.n)));
    const int64_t n_chosen = given.is_tree ? std::ssize(paths.trunk) : given.n;
    DraftRecord::Price price{
        .plain_ms = plain_ms_a_token(),
        .spent_ms = longer * static_cast<double>(given.n) / static_cast<double>(n_of_all) + draft_ms};
    if (given.n_branches > 0) {
      const StepSize without{all.n_rows - (given.n - n_chosen), all.depth - given.n_branches * one.depth(),
                             others_branch};
      price.branches_ms = std::max(0.0, costs_.step_ms(all) - costs_.step_ms(without));
    } else {
      length.trees.note_without(plain_ms_a_token());
    }
    DraftRecord& record = (*one.records)[i];
    record.propose(one.draft, n_chosen, one.job.sequence->n_tokens(), price);
    if (given.n == 0) continue;
    one.draft.cut(n_chosen);
    one.task->take_draft(std::move(one.draft), std::move(paths.branches), record);
  }
}

}  // namespace parlance
