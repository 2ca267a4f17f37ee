#include "engine/lookup_drafter.h"

#include <algorithm>

#include "engine/sequence.h"

namespace parlance {

namespace {

// Of a text's tokens, what is right of what is found: a first guess, from which is learned what matches are
// worth in the texts at hand (draft_acceptance.h). Of 1,330 of the demo's answers, two of three tokens were
// right behind four or more that matched and behind a token of the draft that was right, however many matched
// before; where places went on differently, fewer by as much as they did.
constexpr double kMostRight = 0.7, kRightBehindRight = 0.65;

float probability_of(const LookupIndex::Found& found, int64_t place) {
  if (place > 0) return kRightBehindRight;
  const auto n = static_cast<double>(found.n_matched);
  return static_cast<float>(std::min(n / (n + 1.5), kMostRight) * found.agreement);
}

}  // namespace

Result<void> LookupDrafter::read(std::span<DraftJob* const> jobs) {
  for (const DraftJob* const job : jobs) {
    const std::span<const Token> text = job->sequence->tokens();
    index_of(*job).follow(text.first(static_cast<size_t>(job->sequence->n_computed() + job->most)));
  }
  return {};
}

Result<void> LookupDrafter::draft(std::span<DraftJob* const> jobs) {
  for (DraftJob* const job : jobs) {
    LookupIndex& index = index_of(*job);
    index.follow(job->sequence->tokens());
    const LookupIndex::Found found = index.find(job->most);
    for (const Token token : found.tokens)
      job->draft.add(token, probability_of(found, job->draft.n_tokens()));
  }
  return {};
}

LookupIndex& LookupDrafter::index_of(const DraftJob& job) {
  return by_slot_[static_cast<size_t>(job.sequence->slot())];
}

}  // namespace parlance
