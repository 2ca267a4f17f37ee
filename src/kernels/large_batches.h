// What a device is beside a Device that computes prompts faster in batches larger than the usual ones.
#pragma once

#include <cstdint>

namespace parlance {

class TakesLargeBatches {
 public:
  virtual ~TakesLargeBatches() = default;
  virtual int64_t best_batch() const = 0;  // rows; 0: the usual ones will do
};

}  // namespace parlance
