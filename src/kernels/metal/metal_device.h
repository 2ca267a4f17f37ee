// Apple's GPUs as devices: the shaders of kernels/vulkan, translated (the *.metal of this folder), launched
// through Metal. Written against Apple's documentation and tested with an imitation of Metal on the CPU
// (tests/shaders/support); never run on Apple hardware. A build for another system has
// kernels/absent/metal.cpp instead.
#pragma once

#include <memory>

#include "base/result.h"
#include "kernels/device.h"

namespace parlance {

// GPU number `index` of this machine. Errors: there is no such device, or it lacks what the kernels need.
Result<std::unique_ptr<Device>> make_metal_device(int index, const DeviceOptions& options = {});

}  // namespace parlance
