// In place of kernels/cuda/ where no CUDA compiler was found.
#include "base/parameter.h"
#include "kernels/cuda/cuda_device.h"

namespace parlance {

namespace {

tl::unexpected<Error> absent() {
  return fail(
      ErrorCode::unsupported,
      "cuda: this program was built without CUDA; install the CUDA toolkit (nvcc 13.0 or newer) and build it "
      "again, or use {}",
      set_to(Parameter::device, "vulkan"));
}

}  // namespace

Result<std::vector<DeviceInfo>> list_cuda_devices() {
  return absent();
}

Result<std::unique_ptr<Device>> make_cuda_device(int, const DeviceOptions&) {
  return absent();
}

}  // namespace parlance
