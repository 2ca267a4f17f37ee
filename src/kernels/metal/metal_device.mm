#include "kernels/metal/metal_device.h"

#include "kernels/metal/host/device.h"

namespace parlance {

Result<std::unique_ptr<Device>> make_metal_device(int index, const DeviceOptions& options) {
  return metal::open_device(index, options);
}

}  // namespace parlance
