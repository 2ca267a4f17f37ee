// The gaussian sketch of qjl1_256 (QJL, Zandieh et al., 2024): one fixed projection Pi of 128 channels to
// 256, and the two matrices that read inner products from the signs of a sketch.
#pragma once

#include <array>
#include <cstdint>

namespace parlance {

inline constexpr int64_t kSketchInputs = 128;
inline constexpr int64_t kSketchOutputs = 256;

// [kSketchInputs][kSketchOutputs], row-major.
using SketchMatrix = std::array<float, kSketchInputs * kSketchOutputs>;

// Pi: independent standard normal entries. Made when first asked for.
const SketchMatrix& sketch_projection();

// sqrt(pi / 2) / 256 Pi: times the signs of a unit vector's sketch, its estimate without bias.
const SketchMatrix& sketch_unbiased();

// C S^-1, with S the mean products of the signs of two projections of a random direction, and C those of the
// direction with the signs: the linear estimate with the least mean square error. Of 256 projections in 128
// dimensions most overlap, which the unbiased estimate counts twice: its error is 0.57 times the square of
// the length, this one's 0.31.
const SketchMatrix& sketch_least_squares();

// sketch [256] = Pi^T x [128].
void project(const float* x, float* sketch);

}  // namespace parlance
