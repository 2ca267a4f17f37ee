#include "engine/lookup_drafter.h"

#include <algorithm>

#include "engine/sequence.h"

namespace parlance {

namespace {

// Shorter runs repeat by chance; a longer one is not a better reason.
constexpr int64_t kLeastMatch = 2;
constexpr int64_t kMostMatch = 4;

}  // namespace

std::vector<Token> look_up(std::span<const Token> text, int64_t most) {
  const int64_t n = std::ssize(text);
  if (most <= 0 || n <= kLeastMatch) return {};
  int64_t best_match = kLeastMatch - 1, best_end = 0;
  for (int64_t end = n - 1; end >= kLeastMatch && best_match < kMostMatch; --end) {
    int64_t match = 0;
    while (match < kMostMatch && match < end &&
           text[static_cast<size_t>(end - 1 - match)] == text[static_cast<size_t>(n - 1 - match)])
      ++match;
    if (match > best_match) {
      best_match = match;
      best_end = end;
    }
  }
  if (best_match < kLeastMatch) return {};
  std::vector<Token> found;
  for (int64_t i = best_end; i < n && std::ssize(found) < most; ++i) {
    const Token token = text[static_cast<size_t>(i)];
    if (token < 0) break;  // stands for a row or for noise
    found.push_back(token);
  }
  return found;
}

Result<void> LookupDrafter::draft(std::span<DraftJob* const> jobs) {
  for (DraftJob* const job : jobs) {
    for (const Token token : look_up(job->sequence->tokens(), job->most)) job->draft.add(token, 1);
  }
  return {};
}

}  // namespace parlance
