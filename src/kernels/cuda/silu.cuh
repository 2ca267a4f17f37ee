#pragma once

namespace parlance::cuda {

__device__ inline float silu(float x) {
  return x / (1 + expf(-x));
}

}  // namespace parlance::cuda
