// The exponential function from additions and multiplications alone, so that it gives the same bits on every
// machine with IEEE arithmetic; those of C libraries differ in the last place.
#pragma once

namespace parlance {

// e^x for x <= 0, to about 1e-15 of its value; 0 below -700.
double portable_exp(double x);

}  // namespace parlance
