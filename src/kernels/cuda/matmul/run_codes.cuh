// How a run of 32 values of x is rounded to bytes: equally on every device, see
// kernels/cpu/matmul/activations.h.
#pragma once

#include "kernels/cuda/reduce.cuh"

namespace parlance::cuda {

inline constexpr int kQuarter = 4;               // values of a lane
inline constexpr int kRunLanes = 32 / kQuarter;  // that follow each other share a run

// What a run whose largest magnitude is this is multiplied with, and what its codes count. Where that is no
// number, neither is the step, and what the codes, which are zero, are multiplied with shows it.
struct RunStep {
  float inverse, step;

  __device__ explicit RunStep(float magnitude) {
    constexpr float kSmallestMagnitude = 1e-30f;
    const bool is_tiny = magnitude < kSmallestMagnitude;
    inverse = is_tiny ? 0.0f : __fdiv_rn(127.0f, magnitude);
    step = is_tiny ? 0.0f : __fdiv_rn(magnitude, 127.0f);
  }
  __device__ int code(float value) const { return __float2int_rn(__fmul_rn(value, inverse)); }
};

struct RunCodes {
  int codes[kQuarter];  // this lane's
  float step;
};

// By all lanes of the run. `lanes`: those of the warp that are here; where a warp's lanes named only those of
// their run, runs would wait for each other.
__device__ inline RunCodes codes_of_run(const float4& v, unsigned lanes = kAllLanes) {
  float magnitude = largest_magnitude(v);
#pragma unroll
  for (int mask = 1; mask < kRunLanes; mask *= 2)
    magnitude = max_or_nan(magnitude, __shfl_xor_sync(lanes, magnitude, mask));
  const RunStep step(magnitude);
  const float values[kQuarter] = {v.x, v.y, v.z, v.w};
  RunCodes run;
  run.step = step.step;
#pragma unroll
  for (int i = 0; i < kQuarter; ++i) run.codes[i] = step.code(values[i]);
  return run;
}

// What integer products take of it.
struct QuantisedRun {
  uint32_t codes;  // this lane's four
  float step;
  int half_sum;  // of this lane's half of the run
};

__device__ inline QuantisedRun quantised_run(const float4& v) {
  const RunCodes rounded = codes_of_run(v);
  QuantisedRun run{};
  run.step = rounded.step;
#pragma unroll
  for (int i = 0; i < kQuarter; ++i) {
    run.codes |= (static_cast<uint32_t>(rounded.codes[i]) & 255) << (8 * i);
    run.half_sum += rounded.codes[i];
  }
#pragma unroll
  for (int mask = 1; mask < kRunLanes / 2; mask *= 2)
    run.half_sum += __shfl_xor_sync(kAllLanes, run.half_sum, mask);
  return run;
}

// The same by two lanes for a run, neighbours that have half of it each.
inline constexpr int kHalfRunValues = 16;

struct HalfRun {
  uint32_t codes[kHalfRunValues / 4];
  float step;
  int sum, other_sum;  // of this half's codes, of the other's
};

__device__ inline HalfRun half_of_run(const float (&values)[kHalfRunValues], unsigned lanes) {
  float magnitude = 0;
#pragma unroll
  for (const float value : values) magnitude = max_or_nan(magnitude, fabsf(value));
  const RunStep step(max_or_nan(magnitude, __shfl_xor_sync(lanes, magnitude, 1)));
  HalfRun half{};
  half.step = step.step;
#pragma unroll
  for (int i = 0; i < kHalfRunValues / 4; ++i) {
    const auto code = [&](int j) { return static_cast<uint32_t>(step.code(values[4 * i + j])); };
    const uint32_t low = __byte_perm(code(0), code(1), 0x0040), high = __byte_perm(code(2), code(3), 0x0040);
    half.codes[i] = __byte_perm(low, high, 0x5410);
    half.sum = __dp4a(static_cast<int>(half.codes[i]), 0x01010101, half.sum);
  }
  half.other_sum = __shfl_xor_sync(lanes, half.sum, 1);
  return half;
}

// What the codes stand for.
__device__ inline float4 rounded_to_codes(const float4& v, unsigned lanes = kAllLanes) {
  const RunCodes run = codes_of_run(v, lanes);
  const auto value = [&](int i) { return __fmul_rn(static_cast<float>(run.codes[i]), run.step); };
  return make_float4(value(0), value(1), value(2), value(3));
}

}  // namespace parlance::cuda
