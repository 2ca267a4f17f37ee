// In place of kernels/metal/host where the system is not Apple's.
#include "base/parameter.h"
#include "kernels/metal/metal_device.h"

namespace parlance {

Result<std::unique_ptr<Device>> make_metal_device(int, const DeviceOptions&) {
  return fail(ErrorCode::unsupported,
              "metal: this program was built without Metal, which only Apple's systems have; use {}",
              set_to(Parameter::device, "cpu"));
}

}  // namespace parlance
