// How convolutions become products: the columns of so many places are made and multiplied at a time.
#pragma once

#include <cstdint>

#include "kernels/device.h"

namespace parlance {

// For columns of n_in values; the last piece may have fewer.
int64_t conv_places_together(const Stream& s, int64_t n_in);

// Whether a convolution at so many places with these weights rounds each of them as one at as many other
// places does: products with few rows and with many may differ, see Device::most_alike_rows().
bool conv_places_are_alike(const Stream& s, const Tensor& weight, int64_t n_places, int64_t n_other_places);

}  // namespace parlance
