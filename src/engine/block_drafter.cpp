#include "engine/block_drafter.h"

#include <algorithm>
#include <cmath>

#include "engine/context.h"

namespace parlance {

namespace {

Token most_likely(std::span<const float> logits) {
  // Several maxima at once, which compilers make vector code of.
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> lanes;
  lanes.fill(-INFINITY);
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = std::max(lanes[lane], logits[i + lane]);
  }
  float most = *std::ranges::max_element(lanes);
  for (; i < logits.size(); ++i) most = std::max(most, logits[i]);
  return static_cast<Token>(std::ranges::find(logits, most) - logits.begin());
}

float probability(std::span<const float> logits, Token token) {
  const float own = logits[static_cast<size_t>(token)];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - own));
  return static_cast<float>(1 / sum);
}

}  // namespace

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
  PARLANCE_TRY(const bool is_done, runner_.draft(blocks, tickets));
  if (!is_done) return {};
  std::span<const float> rows = runner_.outputs();
  const auto n_vocab = static_cast<size_t>(context_.model().model().n_vocab());
  for (size_t i = 0; i < served.size(); ++i) {
    DraftJob& job = *served[i];
    for (int64_t slot = 0; slot < blocks[i].n_wanted; ++slot, rows = rows.subspan(n_vocab)) {
      if (std::ssize(job.tokens) < slot) continue;  // what follows an unlikely token is no use
      const std::span<const float> logits = rows.first(n_vocab);
      const Token token = most_likely(logits);
      if (static_cast<size_t>(token) >= n_vocab) continue;  // none is a number
      if (job.least_probability > 0 && probability(logits, token) < job.least_probability) continue;
      job.tokens.push_back(token);
    }
  }
  return {};
}

}  // namespace parlance
