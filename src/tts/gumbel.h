// Choosing by chance: noise that is added to log-probabilities, so that the largest sum is a sample.
#pragma once

#include <cstdint>
#include <span>

namespace parlance {

// The value of one element of noise call `call`, divided by the temperature, plus Gumbel noise. The noise
// itself is not scaled.
float gumbel_score(float value, float temperature, uint64_t seed, uint64_t call, uint64_t element);

// The smallest of the ceil(ratio * n) largest values: those that are as large are kept when a row is cut to
// its best. `scratch` has as many places as there are values.
float smallest_kept(std::span<const float> values, float ratio, std::span<float> scratch);

}  // namespace parlance
