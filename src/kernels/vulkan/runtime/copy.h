// Copies inside a device that are worth a launch.
#pragma once

#include "kernels/device.h"

namespace parlance::vulkan {

// Records a copy of src to dst, which are of the same size; false when it is too small, lies at an odd place
// or is larger than what a shader sees, so that a transfer command must do it.
bool copy_by_shader(Stream& s, const Tensor& dst, const Tensor& src);

}  // namespace parlance::vulkan
