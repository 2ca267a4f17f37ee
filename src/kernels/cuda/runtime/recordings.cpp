#include "kernels/cuda/runtime/recordings.h"

#include <algorithm>

namespace parlance::cuda {

namespace {

constexpr size_t kMaxRecordings = 32;  // each holds some hundred kilobytes of device memory

}  // namespace

cudaGraphExec_t Recordings::find(uint64_t key) {
  for (Recording& recording : list_) {
    if (recording.key != key) continue;
    recording.last_use = ++n_uses_;
    return recording.graph;
  }
  return nullptr;
}

void Recordings::add(uint64_t key, cudaGraphExec_t graph) {
  if (list_.size() == kMaxRecordings) {
    const auto oldest =
        std::min_element(list_.begin(), list_.end(),
                         [](const Recording& a, const Recording& b) { return a.last_use < b.last_use; });
    cudaGraphExecDestroy(oldest->graph);  // the driver keeps one that is running until it ends
    list_.erase(oldest);
  }
  list_.push_back({key, ++n_uses_, graph});
}

void Recordings::clear() {
  for (const Recording& recording : list_) cudaGraphExecDestroy(recording.graph);
  list_.clear();
}

}  // namespace parlance::cuda
