// How the outputs of a group of products are cut into tasks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/checked.h"
#include "kernels/op_table.h"

namespace parlance::matmul {

// Rows [first_row, first_row + n_rows) of output `output`.
struct RowTask {
  int output;
  int64_t first_row;
  int64_t n_rows;
};

// The rows of each output in pieces of rows_per_task[output].
class RowTasks {
 public:
  // Pieces of about kTaskBytes of weights, long enough for the memory to stream.
  static RowTasks by_bytes(const MatmulArgs& args) {
    RowTasks tasks;
    for (int i = 0; i < args.n_outputs; ++i) {
      const int64_t rows = kTaskBytes / static_cast<int64_t>(args.w[i].weight.row_size() + 1);
      tasks.add(args.w[i].weight.n_rows(), align_up(std::max<int64_t>(rows, 1), kTaskRows));
    }
    return tasks;
  }

  static RowTasks by_rows(const MatmulArgs& args, int64_t rows_per_task) {
    RowTasks tasks;
    for (int i = 0; i < args.n_outputs; ++i) tasks.add(args.w[i].weight.n_rows(), rows_per_task);
    return tasks;
  }

  int64_t size() const { return size_; }

  RowTask operator[](int64_t index) const {
    int i = 0;
    while (index >= counts_[i]) index -= counts_[i++];
    const int64_t first = index * rows_per_task_[i];
    return {i, first, std::min(rows_per_task_[i], n_rows_[i] - first)};
  }

 private:
  static constexpr int64_t kTaskBytes = 64 << 10;
  static constexpr int64_t kTaskRows = 32;  // whole strips of packed weights, and cache lines of outputs

  void add(int64_t n_rows, int64_t rows_per_task) {
    n_rows_[n_] = n_rows;
    rows_per_task_[n_] = rows_per_task;
    counts_[n_] = div_up(n_rows, rows_per_task);
    size_ += counts_[n_++];
  }

  int n_ = 0;
  int64_t size_ = 0;
  std::array<int64_t, MatmulArgs::kMaxOutputs> n_rows_{}, rows_per_task_{}, counts_{};
};

// Into how many parts the tiles of tokens are shared out for each panel: into one, unless there are few
// panels for many threads. There are several tasks for each thread, so that one that lost its processor
// leaves little behind.
inline int64_t token_parts(int64_t n_panels, int64_t n_tiles, int n_threads) {
  constexpr int64_t kTasksPerThread = 6;
  const int64_t wanted = n_threads > 1 ? kTasksPerThread * n_threads : 1;
  return std::clamp<int64_t>(wanted / std::max<int64_t>(n_panels, 1), 1, std::max<int64_t>(n_tiles, 1));
}

}  // namespace parlance::matmul
