// Shares the rows or elements of one operation among the threads, in pieces that are worth handing over.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"

namespace parlance {

// Floats that one thread passes over in about a microsecond: below this, sharing costs more than it saves.
inline constexpr int64_t kGrainElements = 4096;

// Calls body(first, last) for pieces of [0, n) of at least `grain` items. There are several pieces for each
// thread, so that one which lost its processor leaves little behind.
inline void parallel_for(ThreadPool& pool, int64_t n, int64_t grain,
                         FunctionRef<void(int64_t first, int64_t last)> body) {
  constexpr int64_t kPiecesPerThread = 4;
  const int64_t n_pieces =
      std::min<int64_t>(n / std::max<int64_t>(grain, 1), kPiecesPerThread * pool.n_threads());
  if (n_pieces <= 1) {
    if (n > 0) body(0, n);
    return;
  }
  const int64_t piece = div_up(n, n_pieces);
  pool.run(div_up(n, piece), [&](int64_t task, int) { body(task * piece, std::min(n, (task + 1) * piece)); });
}

// The same for rows of `row_elements` floats.
inline void parallel_rows(ThreadPool& pool, int64_t n_rows, int64_t row_elements,
                          FunctionRef<void(int64_t first, int64_t last)> body) {
  parallel_for(pool, n_rows, div_up(kGrainElements, std::max<int64_t>(row_elements, 1)), body);
}

}  // namespace parlance
