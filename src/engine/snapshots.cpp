#include "engine/snapshots.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace parlance {

namespace {

// In host memory, for one session.
constexpr size_t kMaxSnapshots = 8;
constexpr size_t kMaxBytes = size_t{512} << 20;

// In tokens. Copying a state takes as long as computing less than one of them, a batch more as long as a few.
constexpr int64_t kSpacing = 256;
constexpr int64_t kLeastSpacing = 64;

}  // namespace

Snapshots::Snapshots(size_t state_bytes)
    : state_bytes_(state_bytes),
      capacity_(state_bytes == 0 ? 0 : std::clamp<size_t>(kMaxBytes / state_bytes, 2, kMaxSnapshots)) {}

bool Snapshots::is_due(int64_t n_tokens) const {
  return capacity_ > 0 && n_tokens - last() >= kSpacing;
}

bool Snapshots::is_worth_a_batch(int64_t n_tokens) const {
  return capacity_ > 0 && n_tokens - last() >= kLeastSpacing;
}

void Snapshots::add(int64_t n_tokens, StateCopy states) {
  assert(capacity_ > 0 && (kept_.empty() || kept_.back().n_tokens < n_tokens));
  if (kept_.size() == capacity_) {
    // What is computed again at worst if kept_[i] goes: the way from the one before to the one behind.
    const auto way_without = [&](size_t i) {
      const int64_t before = i == 0 ? 0 : kept_[i - 1].n_tokens;
      const int64_t behind = i + 1 < kept_.size() ? kept_[i + 1].n_tokens : n_tokens;
      return behind - before;
    };
    size_t least = 0;
    for (size_t i = 1; i < kept_.size(); ++i) {
      if (way_without(i) < way_without(least)) least = i;
    }
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(least));
  }
  kept_.push_back({n_tokens, std::move(states)});
}

const Snapshot* Snapshots::latest(int64_t n_tokens) const {
  const auto behind = std::ranges::upper_bound(kept_, n_tokens, {}, &Snapshot::n_tokens);
  return behind == kept_.begin() ? nullptr : &*std::prev(behind);
}

void Snapshots::truncate(int64_t n_tokens) {
  while (!kept_.empty() && kept_.back().n_tokens > n_tokens) kept_.pop_back();
}

}  // namespace parlance
