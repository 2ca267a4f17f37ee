// Looks at every logit of a vocabulary, or at other numbers that a model has computed, in loops of a fixed
// number of lanes, which compilers make vector code of.
#pragma once

#include <span>

namespace parlance {

// No NaN, and no infinity.
bool all_finite(std::span<const float> logits);

// NaN is above nothing.
bool any_above(std::span<const float> logits, float threshold);

}  // namespace parlance
