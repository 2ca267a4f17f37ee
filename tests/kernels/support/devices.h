// The devices that kernel tests run on, and a small bench around one: tensors in, operations, numbers out.
// All data goes through Stream::upload and download, so a device without plain addresses fits in the list.
#pragma once

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/device.h"
#include "kernels/ops.h"
#include "kernels/vulkan/vulkan_device.h"

namespace parlance::test {

using DeviceMaker = std::function<Result<std::unique_ptr<Device>>()>;

struct DeviceCase {
  std::string name;  // letters, digits and underscores
  DeviceMaker make;
  bool is_shared = false;  // one for all tests of the program, since its kernels are compiled when first used
};

// Every device and instruction set of this machine that is tested against the definition. Three threads, so
// that work is shared unevenly.
inline const std::vector<DeviceCase>& device_cases() {
  static const std::vector<DeviceCase> cases = [] {
    std::vector<DeviceCase> list;
    for (const Isa isa : available_isas()) {
      list.push_back({"cpu_" + std::string(name_of(isa)),
                      [isa] { return make_cpu_device({.n_threads = 3, .isa = name_of(isa)}); }});
    }
    ::setenv("PARLANCE_VULKAN_VALIDATION", "1", 0);
    const auto vulkan = list_vulkan_devices();
    for (int i = 0; vulkan && i < static_cast<int>(vulkan->size()); ++i) {
      list.push_back({"vulkan_" + std::to_string(i), [i] { return make_vulkan_device(i); }, true});
    }
    const auto gpus = list_cuda_devices();
    for (int index = 0; gpus && index < static_cast<int>(gpus->size()); ++index) {
      list.push_back({"cuda_" + std::to_string(index), [index] { return make_cuda_device(index); }});
    }
    return list;
  }();
  return cases;
}

// The device of a case: made now, or at its first use in the program. Shared ones go away after the last
// test.
inline std::shared_ptr<Device> device_of(const DeviceCase& device_case) {
  if (!device_case.is_shared) return std::move(*device_case.make());
  class SharedDevices : public ::testing::Environment {
   public:
    void TearDown() override { devices.clear(); }
    std::map<std::string, std::shared_ptr<Device>> devices;
  };
  static SharedDevices* const shared = [] {
    auto* const environment = new SharedDevices;
    ::testing::AddGlobalTestEnvironment(environment);
    return environment;
  }();
  std::shared_ptr<Device>& device = shared->devices[device_case.name];
  if (!device) device = std::move(*device_case.make());
  return device;
}

// The definition: scalar kernels on one thread.
inline std::unique_ptr<Device> reference_device() {
  return std::move(*make_cpu_device({.n_threads = 1, .isa = name_of(Isa::scalar)}));
}

// Owns a device, a stream of it, and tensors.
class OpBench {
 public:
  explicit OpBench(std::shared_ptr<Device> device)
      : device_(std::move(device)), stream_(device_->make_stream()) {}

  Device& device() { return *device_; }
  Stream& stream() { return *stream_; }

  Tensor upload(DType dtype, std::array<int64_t, 4> ne, std::span<const std::byte> bytes) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.ne = ne;
    buffers_.push_back(std::move(*device_->allocate(bytes.size())));
    tensor.buffer = buffers_.back().get();
    tensor.data = buffers_.back()->base();
    stream_->upload(tensor, bytes);
    return tensor;
  }
  Tensor upload(std::array<int64_t, 4> ne, const std::vector<float>& values) {
    return upload(DType::f32, ne, std::as_bytes(std::span(values)));
  }
  Tensor upload(const std::vector<int32_t>& values) {
    return upload(DType::i32, {static_cast<int64_t>(values.size()), 1, 1, 1},
                  std::as_bytes(std::span(values)));
  }

  // Reserves memory with a dry run, runs the operations in a step, and returns the elements of their result.
  std::vector<float> run(FunctionRef<Tensor(Stream&)> operations) {
    const Plan plan = stream_->dry_run([&] { operations(*stream_); });
    EXPECT_TRUE(plan.missing.empty()) << plan.missing.front();
    EXPECT_TRUE(stream_->reserve(plan).has_value());
    Tensor result;
    stream_->step(++n_steps_, [&] { result = operations(*stream_); });
    return download(result);
  }

  std::vector<float> download(const Tensor& tensor) {
    std::vector<float> values(static_cast<size_t>(tensor.n_elements()));
    expect_ok(stream_->download(std::as_writable_bytes(std::span(values)), tensor));
    return values;
  }
  std::vector<std::byte> download_bytes(const Tensor& tensor) {
    std::vector<std::byte> bytes(tensor.size());
    expect_ok(stream_->download(bytes, tensor));
    return bytes;
  }

 private:
  static void expect_ok(const Result<void>& result) {
    EXPECT_TRUE(result.has_value()) << result.error().message;
  }

  std::shared_ptr<Device> device_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::unique_ptr<Stream> stream_;  // ends before the memory that its last operations may use
  uint64_t n_steps_ = 0;
};

// Tests of one operation on every device.
class KernelTest : public ::testing::TestWithParam<size_t> {
 protected:
  OpBench tested() { return OpBench(device_of(device_cases()[GetParam()])); }
  OpBench reference() { return OpBench(reference_device()); }

  // Whether the tested device lacks the kernel and may: the CPU has every operation.
  template <class Args>
  bool may_skip(const Cell<Args>& cell) const {
    return !cell.run && !device_cases()[GetParam()].name.starts_with("cpu");
  }

  // Uniform in [-limit, limit).
  std::vector<float> random_floats(int64_t n, float limit = 1) {
    std::vector<float> values(static_cast<size_t>(n));
    std::uniform_real_distribution<float> distribution(-limit, limit);
    for (float& value : values) value = distribution(random_);
    return values;
  }

  std::mt19937 random_{12345};
};

// |got - want| <= absolute + relative |want| for every element.
inline void expect_close(const std::vector<float>& got, const std::vector<float>& want, float absolute,
                         float relative) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const bool is_close = std::fabs(got[i] - want[i]) <= absolute + relative * std::fabs(want[i]);
    ASSERT_TRUE(is_close || got[i] == want[i])
        << "element " << i << ": " << got[i] << ", expected " << want[i];
  }
}

}  // namespace parlance::test

#define PARLANCE_FOR_EACH_DEVICE(suite)                                                     \
  INSTANTIATE_TEST_SUITE_P(                                                                 \
      Devices, suite, ::testing::Range(size_t{0}, ::parlance::test::device_cases().size()), \
      [](const auto& param) { return ::parlance::test::device_cases()[param.param].name; })
