#include "engine/lookup_drafter.h"

#include "engine/sequence.h"

namespace parlance {

namespace {

// Of a token that stood behind so many of the last tokens before, in such a share of these places. A first
// guess: what such a match is worth in the texts at hand is learned (draft_acceptance.h).
float probability_of(const LookupIndex::Found& found) {
  const auto n = static_cast<double>(found.n_matched);
  return static_cast<float>(n / (n + 1.5) * (0.5 + 0.5 * found.agreement));
}

}  // namespace

Result<void> LookupDrafter::draft(std::span<DraftJob* const> jobs) {
  for (DraftJob* const job : jobs) {
    LookupIndex& index = by_slot_[static_cast<size_t>(job->sequence->slot())];
    index.follow(job->sequence->tokens());
    const LookupIndex::Found found = index.find(job->most);
    for (const Token token : found.tokens) job->draft.add(token, probability_of(found));
  }
  return {};
}

}  // namespace parlance
