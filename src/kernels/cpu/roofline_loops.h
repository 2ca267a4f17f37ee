// The innermost loops of the roofline, one set for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu_device.h"

namespace parlance {

struct RooflineLoops {
  // Reads n_bytes, a multiple of 512, at a 64-byte boundary; the result depends on each of them.
  uint64_t (*read)(const std::byte* data, size_t n_bytes);

  // Independent chains of multiply-and-add, as many as hide the latency, n_rounds times; and the operations
  // of one round. Null where the set has no such products, or no kernel for them.
  struct Products {
    float (*run)(int64_t n_rounds);
    int64_t ops_per_round;
  };
  Products f32;
  Products int8;
  Products int16 = {nullptr, 0};
  Products bf16 = {nullptr, 0};
};

const RooflineLoops& roofline_loops(Isa isa);

}  // namespace parlance
