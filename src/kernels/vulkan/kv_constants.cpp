#include "kernels/vulkan/kv_constants.h"

#include <algorithm>
#include <cmath>

#include "quant/codebook.h"
#include "quant/signs.h"
#include "quant/sketch.h"
#include "quant/tbq3_tcq.h"

namespace parlance::vulkan {

namespace {

// The layout of kv_formats.glsl.
std::vector<float> tables() {
  std::vector<float> all(512 + kTrellisValues.size());
  const auto put = [&](size_t at, const auto& values) {
    std::copy(values.begin(), values.end(), all.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(0, kCentroids3);
  put(8, kCentroids4);
  put(24, kPolarCentroids);
  put(40, kPolarBoundaries);
  put(64, kSigns32);
  put(96, kSigns128Before);
  put(224, kSigns128After);
  put(352, kPolarResidual);
  put(512, kTrellisValues);
  return all;
}

std::vector<float> floats_of(const SketchMatrix& matrix) {
  return {matrix.begin(), matrix.end()};
}

}  // namespace

Operand kv_constants(Stream& s) {
  return constants(s, "kv", [] { return tables(); });
}

Operand projection_of(Stream& s, KvFormat format) {
  if (format != KvFormat::qjl1_256) return {};
  return constants(s, "sketch projection", [] { return floats_of(sketch_projection()); });
}

Operand sketch_of(Stream& s, KvTransform transform) {
  if (transform == KvTransform::sketch)
    return constants(s, "sketch", [] { return floats_of(sketch_unbiased()); });
  if (transform == KvTransform::sketch_least_squares)
    return constants(s, "sketch by least squares", [] { return floats_of(sketch_least_squares()); });
  return {};
}

Rotation::Rotation(int64_t n)
    : block(static_cast<uint32_t>(hadamard_block(n))),
      root(static_cast<float>(1 / std::sqrt(static_cast<double>(block)))) {}

}  // namespace parlance::vulkan
