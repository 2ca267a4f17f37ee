// The devices that kernel tests run on.
#pragma once

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/support/op_bench.h"
#include "kernels/support/own_kernels.h"
#include "kernels/vulkan/vulkan_device.h"
#include "support/random_numbers.h"

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

// The numbers of the cases that a suite runs on, for INSTANTIATE_TEST_SUITE_P: all, or, where it tests the
// given operations and no others, all but sets of the CPU that do these by another's functions.
template <class... Cells>
std::vector<size_t> cases_with_own(Cells OpTable::*... operations) {
  const std::vector<Isa> own = isas_with_own(operations...);
  std::vector<size_t> numbers;
  for (size_t i = 0; i < device_cases().size(); ++i) {
    const std::string& name = device_cases()[i].name;
    const bool is_of_own = std::any_of(own.begin(), own.end(),
                                       [&](Isa isa) { return name == "cpu_" + std::string(name_of(isa)); });
    if (is_of_own || !name.starts_with("cpu_")) numbers.push_back(i);
  }
  return numbers;
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

// Whether a device is tested with long rows of this type. In shaders what unpacks a type knows no length, and
// the loop over a row knows no type but for how many steps a run has: a driver that compiles each variant for
// long meets long rows of blocks of either size, with one step and with two, and of floats.
inline bool meets_in_long_rows(const Device& device, DType dtype) {
  return !is_software_vulkan(device.name()) || dtype == DType::q4_0 || dtype == DType::q4_k ||
         dtype == DType::q6_k || traits(dtype).block_elements == 1;
}

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

  // Whether the device is a Vulkan driver on the CPU, which compiles every variant of a shader for long.
  bool is_software_vulkan() { return parlance::is_software_vulkan(tested().device().name()); }

  // Uniform in [-limit, limit).
  std::vector<float> random_floats(int64_t n, float limit = 1) {
    return test::random_floats(random_, n, limit);
  }

  std::mt19937 random_{12345};
};

}  // namespace parlance::test

// PARLANCE_FOR_EACH_DEVICE(Gelu, &OpTable::gelu): the tests of a suite on every device. Behind its name may
// stand all operations that it has the tested device do: it then runs once for sets of the CPU that share
// these.
#define PARLANCE_FOR_EACH_DEVICE(suite, ...)                                              \
  INSTANTIATE_TEST_SUITE_P(                                                               \
      Devices, suite, ::testing::ValuesIn(::parlance::test::cases_with_own(__VA_ARGS__)), \
      [](const auto& param) { return ::parlance::test::device_cases()[param.param].name; })
