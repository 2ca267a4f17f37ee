// What a device is beside a Device that multiplies many rows faster by weights of its own form.
#pragma once

#include "base/result.h"
#include "tensor/tensor.h"

namespace parlance {

class WidensWeights {
 public:
  virtual ~WidensWeights() = default;

  // Bytes of a copy of this weight as wide floats, which products of many rows then read, with the same
  // values; 0 where they have no use for one.
  virtual size_t widened_bytes(const Tensor& weight) const = 0;

  // Makes it, of an imported weight that has none: it lives as long as the weight's buffer.
  virtual Result<void> widen(const Tensor& weight) = 0;
};

}  // namespace parlance
