// How fast bytes move to, from and inside a device: the bound of everything that is not arithmetic.
#pragma once

#include "base/result.h"
#include "kernels/device.h"

namespace parlance {

// Bytes a second, each the best of several copies. A copy inside the device counts twice: read and written.
struct CopyBandwidth {
  double to_device = 0;
  double from_device = 0;
  double inside = 0;
};

// Takes up to half a GiB of the device's memory while it runs, less where there is less.
Result<CopyBandwidth> measure_copy_bandwidth(Device& device);

}  // namespace parlance
