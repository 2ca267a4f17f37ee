// A device of which only the memory matters: it computes nothing.
#pragma once

#include "kernels/device.h"

namespace parlance::test {

class MemoryOnlyDevice : public Device {
 public:
  explicit MemoryOnlyDevice(size_t free) : free_(free) {}
  std::string_view name() const override { return "gpu:0"; }
  std::string_view description() const override { return "memory only"; }
  DeviceMemory memory() const override { return {free_, free_}; }
  const OpTable& ops() const override { return ops_; }
  Result<std::unique_ptr<Buffer>> allocate(size_t) override { return fail(ErrorCode::out_of_memory, "none"); }
  Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte>) override { return allocate(0); }
  std::unique_ptr<Stream> make_stream() override { return nullptr; }

 private:
  size_t free_;
  OpTable ops_;
};

}  // namespace parlance::test
