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
  size_t proposer = 0;
  bool is_whole = false;  // it is to be verified whether that pays or not
  double rate = 0;        // that it promises, or a step without
  // Of a drafter that has computed for this answer: what it took.
  size_t computing = 0;
  double draft_ms = 0;

  bool has_draft() const { return draft.n_tokens() > 0; }
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
    const Task::DraftWish wish = task->draft_wish();
    const int64_t n_room = context_.options().n_ctx - sequence.n_tokens();
    const int64_t limit =
        std::min({wish.most, context_.options().n_draft, n_room, runner_.most_alike_rows() - 1});
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
  const double rate = best_lengths({&reach, 1}, size_, costs_, 0, 0).rate();
  if (one.has_draft() && rate <= one.rate && !is_whole) return;
  one.draft = std::move(draft);
  one.reach = std::move(reach);
  one.proposer = proposer;
  one.is_whole = is_whole;
  one.rate = std::max(rate, one.rate);
}

// How much of the drafts is verified.
void Proposals::choose(std::span<Wanted> wanted) {
  StepSize size = size_;
  std::vector<Reach> reaches;
  double draft_ms = 0;
  for (const Wanted& one : wanted) {
    draft_ms += one.draft_ms;
    if (one.is_whole) {
      size.n_rows += one.draft.n_tokens();
      reaches.emplace_back();
    } else {
      reaches.push_back(one.reach);
    }
  }
  const double rate = speed_up_.factor() * plain_rate();
  const DraftLengths best = best_lengths(reaches, size, costs_, draft_ms, rate);
  std::vector<int64_t> n = best.n;
  int64_t n_of_all = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Wanted& one = wanted[i];
    if (one.is_whole) {
      n[i] = one.draft.n_tokens();
    } else if (n[i] < one.wish.least || !proposers_[one.proposer].length.account.is_solvent()) {
      n[i] = 0;
    }
    n_of_all += n[i];
  }
  has_drafts_ = n_of_all > 0;
  if (!has_drafts_) n_with_ = 0;
  if (!wanted.empty() && size.n_rows == size_.n_rows && plain_ms_ > 0)
    speed_up_.note(best.expected / plain_rate(), best.ms);
  for (size_t i = 0; i < wanted.size(); ++i) give(wanted[i], n[i], n_of_all);
}

// What drafting costs an answer is its drafter's time and its share of what the step takes longer.
void Proposals::give(Wanted& one, int64_t n, int64_t n_of_all) {
  for (size_t i = 0; i < proposers_.size(); ++i) {
    const bool is_verified = n > 0 && one.proposer == i;
    const double draft_ms = one.computing == i ? one.draft_ms : 0;
    DraftAccount& account = proposers_[i].length.account;
    if (!is_verified && draft_ms > 0) account.note_with(0, draft_ms, plain_ms_a_token());
    if (!is_verified && !proposers_[i].drafter->computes()) account.note_without(plain_ms_a_token());
    if (!one.has_draft() || one.proposer != i) continue;
    const double longer = costs_.step_ms({size_.n_rows + n_of_all, size_.depth}) - plain_ms_;
    const double share = static_cast<double>(n) / static_cast<double>(std::max<int64_t>(n_of_all, 1));
    DraftRecord& record = (*one.records)[i];
    record.propose(one.draft, n, one.job.sequence->n_tokens(),
                   {.plain_ms = plain_ms_a_token(), .spent_ms = share * longer + draft_ms});
    if (n == 0) continue;
    one.draft.cut(n);
    one.task->take_draft(std::move(one.draft), record);
  }
}

}  // namespace parlance
