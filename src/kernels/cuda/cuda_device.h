// NVIDIA GPUs as devices. The driver is looked for when these are called, so that a program with this code
// also starts on machines without one. A build without a CUDA compiler has kernels/absent/cuda.cpp instead.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "kernels/device.h"

namespace parlance {

// The GPUs of this machine in the driver's order, named "cuda:0", "cuda:1", …; an error that says why there
// are none and what to do.
Result<std::vector<DeviceInfo>> list_cuda_devices();

// GPU number `index`. Errors: there is no such GPU, or it is too old for the kernels in this build.
Result<std::unique_ptr<Device>> make_cuda_device(int index, const DeviceOptions& options = {});

}  // namespace parlance
