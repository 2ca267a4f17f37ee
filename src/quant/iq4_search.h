// The search that the encoders of IQ4_NL and IQ4_XS share.
#pragma once

#include <cstdint>

namespace parlance {

// Code of the value of kIq4Values that is nearest to x; the higher one when two are equally near.
int nearest_iq4_code(float x);

// Step for 32 values that makes the error of step * kIq4Values[nearest code], weighted by x², small.
float search_iq4_step(const float* x);

}  // namespace parlance
