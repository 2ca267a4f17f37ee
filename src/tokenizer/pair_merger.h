// Greedy merging of neighbours, the core of both BPE and SentencePiece tokenisation: as long as any two
// adjacent symbols may merge, the pair of lowest cost does, the leftmost one of equals.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace parlance {

struct Symbol {
  uint32_t start;  // in the text, bytes
  uint32_t n_bytes;
  int32_t id;  // of the string; what a negative one means is the caller's
};

// What two neighbours become.
struct Merge {
  static constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
  uint32_t cost = kNever;  // BPE: rank; SentencePiece: descending order of the score
  int32_t id = -1;         // of the merged symbol
};

// Keeps its buffers from one text to the next.
class PairMerger {
 public:
  // Merges symbols that lie back to back. `lookup(start, n_left, n_right)` tells what two neighbours become:
  // left begins at `start`, right follows. Time grows as n log n with the number of symbols.
  template <class Lookup>
  void run(std::vector<Symbol>& symbols, const Lookup& lookup) {
    if (symbols.size() <= kScanned) {
      scan(symbols, lookup);
    } else {
      use_heap(symbols, lookup);
    }
  }

  // The two ways, which give the same: scan() looks at every pair in each round, which is fastest for the few
  // symbols of a word; use_heap() is for long runs.
  template <class Lookup>
  void scan(std::vector<Symbol>& symbols, const Lookup& lookup);
  template <class Lookup>
  void use_heap(std::vector<Symbol>& symbols, const Lookup& lookup);

 private:
  static constexpr size_t kScanned = 48;

  struct Candidate {
    uint32_t cost;
    uint32_t left;  // index of the left symbol
    int32_t id;
    uint32_t n_left, n_right;  // bytes; when they are no longer those of the symbols, the candidate is stale
  };
  // For a heap whose front is the lowest cost, leftmost.
  static bool later(const Candidate& a, const Candidate& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.left > b.left;
  }

  std::vector<Merge> merges_;          // scan(): of symbol i with symbol i + 1
  std::vector<Candidate> heap_;        // use_heap()
  std::vector<uint32_t> prev_, next_;  // use_heap(): neighbours that are left
};

template <class Lookup>
void PairMerger::scan(std::vector<Symbol>& symbols, const Lookup& lookup) {
  const auto merge_of = [&](size_t i) -> Merge {
    if (i + 1 >= symbols.size()) return {};
    return lookup(symbols[i].start, symbols[i].n_bytes, symbols[i + 1].n_bytes);
  };
  merges_.clear();
  for (size_t i = 0; i < symbols.size(); ++i) merges_.push_back(merge_of(i));
  while (symbols.size() > 1) {
    size_t best = 0;
    for (size_t i = 1; i < symbols.size(); ++i) {
      if (merges_[i].cost < merges_[best].cost) best = i;
    }
    if (merges_[best].cost == Merge::kNever) break;
    symbols[best].n_bytes += symbols[best + 1].n_bytes;
    symbols[best].id = merges_[best].id;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    merges_.erase(merges_.begin() + static_cast<ptrdiff_t>(best) + 1);
    merges_[best] = merge_of(best);
    if (best > 0) merges_[best - 1] = merge_of(best - 1);
  }
}

template <class Lookup>
void PairMerger::use_heap(std::vector<Symbol>& symbols, const Lookup& lookup) {
  const auto n = static_cast<uint32_t>(symbols.size());
  const auto candidate_of = [&](uint32_t left, uint32_t right) -> Candidate {
    const Merge merge = lookup(symbols[left].start, symbols[left].n_bytes, symbols[right].n_bytes);
    return {merge.cost, left, merge.id, symbols[left].n_bytes, symbols[right].n_bytes};
  };
  const auto push = [&](const Candidate& candidate) {
    if (candidate.cost == Merge::kNever) return;
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(), later);
  };

  heap_.clear();
  prev_.resize(n);
  next_.resize(n);
  for (uint32_t i = 0; i < n; ++i) {
    prev_[i] = i - 1;  // wraps for the first, which is never asked for
    next_[i] = i + 1;
    if (i + 1 < n) {
      const Candidate candidate = candidate_of(i, i + 1);
      if (candidate.cost != Merge::kNever) heap_.push_back(candidate);
    }
  }
  std::make_heap(heap_.begin(), heap_.end(), later);

  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Candidate best = heap_.back();
    heap_.pop_back();
    const uint32_t left = best.left, right = next_[left];
    // A symbol that was merged into its left neighbour has no bytes.
    if (symbols[left].n_bytes != best.n_left || right >= n || symbols[right].n_bytes != best.n_right)
      continue;
    symbols[left].n_bytes += symbols[right].n_bytes;
    symbols[left].id = best.id;
    symbols[right].n_bytes = 0;
    next_[left] = next_[right];
    if (next_[left] < n) {
      prev_[next_[left]] = left;
      push(candidate_of(left, next_[left]));
    }
    if (left > 0) push(candidate_of(prev_[left], left));
  }
  std::erase_if(symbols, [](const Symbol& symbol) { return symbol.n_bytes == 0; });
}

}  // namespace parlance
