#include "engine/block_drafter.h"

#include <algorithm>

#include "engine/context.h"

namespace parlance {

BlockDrafter::BlockDrafter(Context& context, Runner& runner)
    : context_(context), runner_(runner), model_(*context.options().drafter) {}

Result<void> BlockDrafter::draft(std::span<DraftJob* const> jobs) {
  std::vector<DraftJob*> served;
  std::vector<Runner::Block> blocks;
  std::vector<Cancellation> tickets;
  for (DraftJob* const job : jobs) {
    const int64_t n_room = context_.options().n_ctx - job->sequence->n_computed();
    const int64_t n_slots = std::min(model_.parameters().block_size, n_room);
    const int64_t n_wanted = std::min(job->most, n_slots - 1);
    if (n_wanted < 1 || !runner_.prepare({job->sequence, n_slots, 0})) continue;
    served.push_back(job);
    blocks.push_back({job->sequence, n_slots, n_wanted});
    tickets.push_back(job->cancellation);
  }
  if (blocks.empty()) return {};
  const bool needs_logits =
      std::ranges::any_of(served, [](const DraftJob* job) { return !job->sampler->takes_most_likely(); });
  int64_t n_choices = 1;
  for (const DraftJob* const job : served) n_choices = std::max(n_choices, job->n_choices);
  PARLANCE_TRY(const bool is_done,
               runner_.draft(blocks, needs_logits ? Wanted::logits : Wanted::tokens, tickets, n_choices));
  if (!is_done) return {};
  const auto n_vocab = static_cast<size_t>(context_.model().model().n_vocab());
  const auto n_told = static_cast<size_t>(n_choices);
  size_t row = 0;
  for (size_t i = 0; i < served.size(); ++i) {
    DraftJob& job = *served[i];
    const auto n_own = static_cast<size_t>(job.n_choices);
    bool goes_on = true;  // what follows an unlikely token is no use
    for (int64_t slot = 0; slot < blocks[i].n_wanted; ++slot, ++row) {
      if (!goes_on) continue;
      goes_on = needs_logits ? job.sampler->propose(runner_.outputs().subspan(row * n_vocab, n_vocab),
                                                    job.least_probability, job.draft)
                             : job.sampler->propose(runner_.tokens().subspan(row * n_told, n_own),
                                                    runner_.outputs().subspan(row * n_told, n_own),
                                                    job.least_probability, job.draft);
    }
  }
  return {};
}

}  // namespace parlance
