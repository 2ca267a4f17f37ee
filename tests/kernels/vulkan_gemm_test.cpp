// matmul for many tokens on Vulkan: every remainder of its tiles, and tiles of every size, which tests of all
// devices have no shapes for. A driver on the CPU is taken for a GPU, too, which has larger tiles and
// multiplies bytes.
#include <algorithm>
#include <cmath>

#include "base/os/environment_variable.h"
#include "kernels/support/devices.h"
#include "kernels/support/weights.h"

namespace parlance::test {
namespace {

class VulkanGemm : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto as_it_is = std::ranges::find(device_cases(), std::string("vulkan_0"), &DeviceCase::name);
    if (as_it_is == device_cases().end()) GTEST_SKIP() << "there is no Vulkan device";
    if (GetParam() == std::string_view("1")) {
      tested_ = device_of(*as_it_is);  // which other tests compile for, too
      return;
    }
    if (!gpu_) {
      const EnvironmentVariable software("PARLANCE_VULKAN_SOFTWARE", GetParam());
      auto made = make_vulkan_device(0);
      if (!made) GTEST_SKIP() << made.error().message;
      gpu_ = std::move(*made);
    }
    tested_ = gpu_;
  }
  static void TearDownTestSuite() { gpu_ = nullptr; }

  static std::vector<float> multiply(OpBench& bench, const Tensor& weight, const Tensor& x) {
    const auto put = [&](const Tensor& host) {
      return bench.upload(host.dtype, host.ne, std::span(host.data, host.size()));
    };
    const Linear linear{put(weight), {}};
    const Tensor tx = put(x);
    return bench.run([&](Stream& s) { return matmul(s, linear, tx); });
  }

  void expect_same(const WeightType& type, int64_t n_in, int64_t n_out, int64_t n_tokens) {
    OwnedTensor weight(type.dtype, n_in, n_out), x(DType::f32, n_in, n_tokens);
    fill_weight(random_, type, weight.tensor);
    fill_normal(random_, x.tensor);
    OpBench tested(tested_), reference{std::shared_ptr<Device>(reference_device())};
    const auto got = multiply(tested, weight.tensor, x.tensor);
    const auto expected = multiply(reference, weight.tensor, x.tensor);
    float largest = 0;
    for (const float value : expected) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i], 1e-5f * largest)
          << name_of(type.dtype) << " [" << n_in << ", " << n_out << "] times " << n_tokens << " tokens, row "
          << i % static_cast<size_t>(n_out) << " token " << i / static_cast<size_t>(n_out);
    }
  }

  inline static std::shared_ptr<Device> gpu_;
  std::shared_ptr<Device> tested_;
  Random random_{3};
};

std::vector<WeightType> some_types(std::initializer_list<DType> wanted) {
  std::vector<WeightType> types;
  for (const auto* all : {&quantised_types(), &float_types()}) {
    for (const WeightType& type : *all)
      if (std::ranges::find(wanted, type.dtype) != wanted.end()) types.push_back(type);
  }
  return types;
}

TEST_P(VulkanGemm, EveryRemainderOfATile) {
  for (const WeightType& type : some_types({DType::q8_0, DType::q4_k, DType::f16})) {
    const int64_t n_in = is_float(type.dtype) ? 40 : traits(type.dtype).block_elements;
    for (int64_t i = 0; i <= 64; ++i) {
      expect_same(type, n_in, 1 + i, 65 + i);
      if (HasFatalFailure()) return;
    }
  }
}

// With an odd number of runs, and rows of floats that end anywhere.
TEST_P(VulkanGemm, EveryType) {
  for (const WeightType& type : quantised_types()) {
    expect_same(type, 3 * traits(type.dtype).block_elements, 67, 75);
    if (HasFatalFailure()) return;
  }
  for (const WeightType& type : float_types()) {
    for (const int64_t n_in : {33, 64, 104}) {
      expect_same(type, n_in, 67, 75);
      if (HasFatalFailure()) return;
    }
  }
}

// As many tiles as make a GPU choose large ones.
TEST_P(VulkanGemm, TilesOfEverySize) {
  for (const WeightType& type : some_types({DType::q8_0, DType::q2_k, DType::f16})) {
    if (type.dtype == DType::q2_k && is_software_vulkan(tested_->name())) continue;  // compiled for each size
    const int64_t n_in = is_float(type.dtype) ? 40 : traits(type.dtype).block_elements;
    for (const auto& [n_out, n_tokens] : {std::pair<int64_t, int64_t>{5500, 130}, {8200, 129}, {8129, 255}}) {
      expect_same(type, n_in, n_out, n_tokens);
      if (HasFatalFailure()) return;
    }
  }
}

// In the results of its token, and in no other's of the tile.
TEST_P(VulkanGemm, WhatIsNotFiniteShowsInItsToken) {
  const int64_t n_in = 256, n_out = 9, n_tokens = 70, token = 66;
  for (const WeightType& type : some_types({DType::q8_0, DType::q6_k, DType::q2_k, DType::f16})) {
    for (const float value : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
      OwnedTensor weight(type.dtype, n_in, n_out), x(DType::f32, n_in, n_tokens);
      fill_weight(random_, type, weight.tensor);
      fill_normal(random_, x.tensor);
      x.tensor.as<float>()[token * n_in + 100] = value;
      OpBench tested(tested_);
      const auto got = multiply(tested, weight.tensor, x.tensor);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(std::isfinite(got[i]), i / static_cast<size_t>(n_out) != static_cast<size_t>(token))
            << name_of(type.dtype) << " " << value;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Software, VulkanGemm, ::testing::Values("1"),
                         [](const auto&) { return "vulkan_as_it_is"; });
INSTANTIATE_TEST_SUITE_P(Gpu, VulkanGemm, ::testing::Values("0"),
                         [](const auto&) { return "vulkan_as_gpu"; });

}  // namespace
}  // namespace parlance::test
