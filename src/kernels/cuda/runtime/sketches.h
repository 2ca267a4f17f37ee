// The matrices of qjl1_256 (quant/sketch.h) on the GPU.
#pragma once

#include "kernels/cuda/runtime/launch.h"
#include "quant/kv_transform.h"

namespace parlance::cuda {

enum class Sketch { projection, unbiased, least_squares };

// Copied to the GPU when a stream first asks for it. Null when the GPU has no room: the stream has failed
// then.
const float* sketch_of(Stream& s, Sketch which);

// The one that a transform reads sketches with; null if it is another transform.
inline const float* sketch_of(Stream& s, KvTransform transform) {
  if (transform == KvTransform::sketch) return sketch_of(s, Sketch::unbiased);
  if (transform == KvTransform::sketch_least_squares) return sketch_of(s, Sketch::least_squares);
  return nullptr;
}

}  // namespace parlance::cuda
