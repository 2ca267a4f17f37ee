// How matmul sees activations when the weights are quantised: signed bytes and one f32 step for each run of
// 32 values of a row, x = step * code. Integer dot products with the weights' codes are then exact, and every
// instruction set computes the same integers.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace parlance::matmul {

inline constexpr int64_t kRun = 32;  // values that share a step

// Runs whose largest magnitude is below this count as zero (the inverse of their step could overflow).
inline constexpr float kSmallestMagnitude = 1e-30f;

// Codes of one run, rounded to nearest even, -127..127; returns the step. Magnitudes are ordered as their
// bits are, with NaN above all numbers: a run with NaN or an infinity has such a step, and so have all
// products with it.
inline float quantise_run(const float* x, int8_t* codes) {
  uint32_t bits = 0;
  for (int64_t i = 0; i < kRun; ++i) bits = std::max(bits, std::bit_cast<uint32_t>(std::fabs(x[i])));
  const float magnitude = std::bit_cast<float>(bits);
  const bool tiny = magnitude < kSmallestMagnitude;
  const float inverse = tiny ? 0.0f : 127.0f / magnitude;
  for (int64_t i = 0; i < kRun; ++i) codes[i] = static_cast<int8_t>(std::lrint(x[i] * inverse));
  return tiny ? 0.0f : magnitude / 127.0f;
}

// 32 activations as an instruction set computes them.
struct RunCodes {
  alignas(32) int8_t codes[kRun];
  int32_t half_sums[2];  // of the codes
  float step;
};

// The order in which a kernel for few tokens meets the values of a row. Where integer products are to be
// summed up within one run by one lane, the lanes of a vector are pieces of four values of different runs, so
// a group of values is a matrix of pieces, transposed.
enum class Order : uint8_t {
  natural,
  by_runs,  // of each 128: the first piece of each of the four runs, then the second ones, up to the eighth
  by_half_runs,  // of each 256: likewise the four pieces of the 16 half runs
};
inline constexpr int kOrderCount = 3;

// One token's activations for gemv. Rows are padded with zeros to a multiple of kRowPadding values.
struct RowActivations {
  const int8_t* codes[kOrderCount];  // by order; null where no weight of the call needs it
  const float* steps;                // [n_in / 32]
  const float* sums;                 // [n_in / 32]: step * sum of the codes of the run
  const float* half_sums;            // [n_in / 16]: the same for its halves
  const int32_t* minus_codes;        // [n_in / 32]: minus the sum of the codes of the run
  const int32_t* half_minus_codes;   // [n_in / 16]: the same for its halves
};
inline constexpr int64_t kRowPadding = 512;

// Where the codes of a row of activations, and what is known of each run, are written.
struct RowCodes {
  int8_t* codes;  // in natural order
  float* steps;   // and the others as in RowActivations
  float* sums;
  float* half_sums;
  int32_t* minus_codes;
  int32_t* half_minus_codes;

  void put(int64_t run, const RunCodes& r) const {
    std::memcpy(codes + run * kRun, r.codes, kRun);
    steps[run] = r.step;
    sums[run] = r.step * static_cast<float>(r.half_sums[0] + r.half_sums[1]);
    minus_codes[run] = -(r.half_sums[0] + r.half_sums[1]);
    for (int half = 0; half < 2; ++half) {
      half_sums[2 * run + half] = r.step * static_cast<float>(r.half_sums[half]);
      half_minus_codes[2 * run + half] = -r.half_sums[half];
    }
  }
  RowCodes from(int64_t run) const {
    return {codes + run * kRun,  steps + run,       sums + run,
            half_sums + 2 * run, minus_codes + run, half_minus_codes + 2 * run};
  }
};

// Codes of one row from natural order into another one.
void reorder(Order order, const int8_t* natural, int8_t* codes, int64_t n);

// 32 values of up to n tokens for gemm. Codes as the instruction set wants them: signed, or moved up by 128.
template <int n>
struct RunActivations {
  int8_t codes[n][kRun];
  float steps[n];
  float sums[n];
  float half_sums[2][n];
};

}  // namespace parlance::matmul
