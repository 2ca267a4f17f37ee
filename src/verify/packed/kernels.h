// What the operations on packed rows ask of an instruction set: blocks of rows in f32, and sums over them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/cpu_device.h"
#include "quant/kv_format.h"

namespace parlance::verify::packed {

struct Kernels {
  Isa isa;
  // values [n] = the stored values of an encoded row, by KvFormat.
  std::array<void (*)(const std::byte* row, float* values, int64_t n), kKvFormatCount> decode;
  float (*dot)(const float* a, const float* b, int64_t n);
  // sums = factor sums + weight x
  void (*accumulate)(float* sums, float factor, float weight, const float* x, int64_t n);
  // scores = exp(scores - largest); yields their sum.
  float (*weigh)(float* scores, int64_t n, float largest);
};

#if defined(__x86_64__)
extern const Kernels kAvx2;
extern const Kernels kAvx512;
#elif defined(__aarch64__)
extern const Kernels kNeon;
#endif

}  // namespace parlance::verify::packed
