// What a device reaches at the most: the bounds that speeds are compared with.
#pragma once

#include "base/result.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cpu/roofline.h"
#include "kernels/device.h"

namespace parlance {

// What the CPU's loops reach with an instruction set, or how fast another device copies; its arithmetic is
// not measured. Takes about a second.
Result<Roofline> measure_peaks(Device& device, Isa isa);

}  // namespace parlance
