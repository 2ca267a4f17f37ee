// Recorded steps (CUDA graphs) by key; the least recently used ones make room for new ones.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

namespace parlance::cuda {

class Recordings {
 public:
  Recordings() = default;
  ~Recordings() { clear(); }
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  // Null when the step was not recorded, or long ago.
  cudaGraphExec_t find(uint64_t key);
  void add(uint64_t key, cudaGraphExec_t graph);
  // Nothing of them may still be running.
  void clear();

 private:
  struct Recording {
    uint64_t key;
    uint64_t last_use;
    cudaGraphExec_t graph;
  };

  std::vector<Recording> list_;
  uint64_t n_uses_ = 0;
};

}  // namespace parlance::cuda
