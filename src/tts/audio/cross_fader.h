// Parts of a long text, spoken one after the other, as one sound: between two there are a fade-out, silence
// and a fade-in of 100 ms each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"

namespace parlance {

class CrossFader {
 public:
  using Emit = FunctionRef<void(std::span<const float>)>;

  // A whole part. Its end is held back, since another may follow.
  void push(std::span<const float> part, Emit emit);
  // More of that part, whose first piece must have been as long as a fade.
  void extend(std::span<const float> piece, Emit emit);
  void finish(Emit emit);

 private:
  void hold_end(std::span<const float> samples, Emit emit);

  std::vector<float> held_;  // the end of the last part
  int64_t n_samples_ = 0;    // so far, with the silence between parts
};

// All parts at once.
std::vector<float> join_parts(std::span<const std::vector<float>> parts);

}  // namespace parlance
