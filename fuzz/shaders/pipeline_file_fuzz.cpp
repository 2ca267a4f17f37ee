// Any bytes as a file of compiled shaders: what is found in them lies in them.
#include "kernels/vulkan/runtime/pipeline_file.h"

#include <cstddef>
#include <cstdint>

#include "allocations.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using parlance::fuzz::require;
  const parlance::fuzz::AllocationLimit limit(size + 65536);
  const std::span file(reinterpret_cast<const std::byte*>(data), size);
  const auto bytes = parlance::vulkan::driver_bytes_in(file);
  if (!bytes) return 0;
  require(bytes->size() < size, "there is something in front of the driver's bytes");
  require(bytes->data() + bytes->size() == file.data() + file.size(), "they are the rest of the file");
  return 0;
}
