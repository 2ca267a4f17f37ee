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

struct Proposals::Wanted {
  Task* task;
  Task::DraftWish wish;
  int64_t limit;
  DraftJob job;

  bool has_enough() const { return job.draft.n_tokens() >= std::max<int64_t>(wish.least, 1); }
};

Proposals::Proposals(Context& context, Runner& runner) : context_(context) {
  if (context.options().looks_up) proposers_.push_back({std::make_unique<LookupDrafter>(), {}});
  if (context.options().drafter) proposers_.push_back({std::make_unique<BlockDrafter>(context, runner), {}});
  if (context.draft_context()) {
    proposers_.push_back(
        {std::make_unique<ModelDrafter>(context.draft_context(), context.model().model().n_vocab()), {}});
  }
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
  int64_t n_rows = 0;
  for (const Task* const task : answers) n_rows += task->sequence().n_missing();
  std::vector<Wanted> wanted = wanted_by(answers);
  for (Proposer& proposer : proposers_) PARLANCE_CHECK(ask(proposer, wanted, n_rows));
  return {};
}

std::vector<Proposals::Wanted> Proposals::wanted_by(std::span<Task* const> answers) const {
  std::vector<Wanted> wanted;
  for (Task* const task : answers) {
    Sequence& sequence = task->sequence();
    const Task::DraftWish wish = task->draft_wish();
    const int64_t n_room = context_.options().n_ctx - sequence.n_tokens();
    const int64_t limit = std::min({wish.most, context_.options().n_draft, n_room});
    if (limit < 1 || sequence.n_missing() != 1) continue;
    wanted.push_back({task,
                      wish,
                      limit,
                      {.sequence = &sequence,
                       .least_probability = wish.least_probability,
                       .cancellation = task->work_.cancellation,
                       .sampler = wish.sampler}});
  }
  return wanted;
}

// For those who have nothing yet, in one go.
Result<void> Proposals::ask(Proposer& proposer, std::span<Wanted> wanted, int64_t n_rows) {
  std::vector<DraftJob*> jobs;
  std::vector<Wanted*> served;
  for (Wanted& one : wanted) {
    if (one.job.draft.n_tokens() > 0) continue;
    one.job.most = one.wish.is_required
                       ? one.limit
                       : proposer.length.choose(costs_, n_rows - 1, one.limit, proposer.drafter->computes());
    if (one.job.most < std::max<int64_t>(one.wish.least, 1)) continue;
    jobs.push_back(&one.job);
    served.push_back(&one);
  }
  if (jobs.empty()) return {};
  const auto start = std::chrono::steady_clock::now();
  PARLANCE_CHECK(proposer.drafter->draft(jobs));
  if (proposer.drafter->computes())
    costs_.note_draft(std::ssize(jobs), ms_between(start, std::chrono::steady_clock::now()));
  for (Wanted* const one : served) {
    if (one->has_enough()) {
      one->task->take_draft(one->job.draft, proposer.length);
    } else {
      one->job.draft = {};
    }
  }
  return {};
}

}  // namespace parlance
