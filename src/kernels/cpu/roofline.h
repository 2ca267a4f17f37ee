// What this machine can do at most: the bounds that benchmarks are printed beside (Williams, Waterman and
// Patterson, "Roofline", 2009). Measured, in well under a second, by loops that do nothing else.
#pragma once

#include "kernels/cpu/cpu_device.h"

namespace parlance {

// Rates of all threads together. A multiplication and the addition that follows count as two operations.
struct Roofline {
  double read_bytes_per_second = 0;  // from memory, of data far larger than the caches
  double f32_ops_per_second = 0;
  double int8_ops_per_second = 0;   // products of bytes summed to 32 bits
  double int16_ops_per_second = 0;  // products of 16-bit integers summed to 32 bits, for f16 weights; 0: they
                                    // become f32 on this instruction set
  double bf16_ops_per_second = 0;   // products of bf16 summed to f32; 0: the instruction set has none
};

// Measured when it is first asked for with so many threads; takes a few hundred MiB of memory meanwhile, less
// where there is less.
Roofline measure_roofline(Isa isa, int n_threads);

}  // namespace parlance
