#include <cstdlib>
#include <cstring>
#include <limits>

#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

// The variable for the time of one test.
class IsaVariable {
 public:
  explicit IsaVariable(const char* value) { ::setenv("PARLANCE_ISA", value, 1); }
  ~IsaVariable() { ::unsetenv("PARLANCE_ISA"); }
};

TEST(CpuDevice, AllocatesWhatIsAskedFor) {
  const auto device = *make_cpu_device({.n_threads = 1});
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{1} << 20, (size_t{2} << 20) - 1,
                             size_t{2} << 20, (size_t{5} << 20) + 3}) {
    const auto buffer = device->allocate(bytes);
    ASSERT_TRUE(buffer.has_value());
    EXPECT_EQ((*buffer)->size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*buffer)->base()) % 4096, 0u);
    std::memset((*buffer)->base(), 1, bytes);
  }
}

TEST(CpuDevice, RefusesAbsurdSizesWithFigures) {
  const auto device = *make_cpu_device({.n_threads = 1});
  for (const size_t bytes : {size_t{1} << 44, size_t{1} << 50, size_t{1} << 62,
                             std::numeric_limits<size_t>::max() - 5, std::numeric_limits<size_t>::max()}) {
    const auto buffer = device->allocate(bytes);
    ASSERT_FALSE(buffer.has_value());
    EXPECT_EQ(buffer.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(buffer.error().message.find(std::to_string(bytes)), std::string::npos)
        << buffer.error().message;
  }
}

TEST(CpuDevice, PointsAtWeights) {
  const auto device = *make_cpu_device({.n_threads = 1});
  const std::vector<std::byte> weights(100);
  const auto buffer = *device->import_weights(weights);
  EXPECT_EQ(buffer->base(), weights.data());
  EXPECT_EQ(buffer->size(), weights.size());
}

TEST(CpuDevice, WeightsAreCopiedOnce) {
  for (const Isa isa : available_isas()) {
    const auto device = *make_cpu_device({.n_threads = 1, .isa = name_of(isa)});
    const bool has_copies = is_avx512(isa);
    for (const DType dtype : {DType::q4_0, DType::q8_0, DType::q4_k, DType::q6_k, DType::q5_k, DType::f16}) {
      Tensor weight;
      weight.dtype = dtype;
      weight.ne = {256, 40, 1, 1};
      std::vector<std::byte> bytes(weight.size());
      const auto buffer = *device->import_weights(bytes);
      weight.data = bytes.data();
      weight.buffer = buffer.get();
      const auto copy = device->copy_for_products(weight);
      const bool is_copied = has_copies && dtype != DType::q5_k && dtype != DType::f16;
      ASSERT_EQ(copy.has_value(), is_copied) << name_of(isa) << " " << name_of(dtype);
      if (!copy) continue;
      EXPECT_EQ(copy->bytes.data(), bytes.data());
      EXPECT_EQ(copy->bytes.size(), bytes.size());
      EXPECT_EQ(copy->n_bytes, weight.row_size() * 64) << "whole strips";
      EXPECT_FALSE(device->copy_for_products(weight)) << "of a matrix that serves twice";
      const auto few = *device->import_weights(bytes);
      weight.buffer = few.get();
      weight.ne[1] = 31;
      EXPECT_FALSE(device->copy_for_products(weight)) << "no whole strip";
    }
    // What the device allocated is nobody's mapping.
    Tensor own;
    own.dtype = DType::q4_0;
    own.ne = {256, 40, 1, 1};
    const auto buffer = *device->allocate(own.size());
    own.data = buffer->base();
    own.buffer = buffer.get();
    EXPECT_FALSE(device->copy_for_products(own));
  }
}

// A copy that is made when the weight has gone writes nothing.
TEST(CpuDevice, AGoneWeightIsNotCopied) {
  const auto device = *make_cpu_device({.n_threads = 1});
  Tensor weight;
  weight.dtype = DType::q4_0;
  weight.ne = {64, 32, 1, 1};
  std::vector<std::byte> bytes(weight.size(), std::byte{1});
  auto buffer = *device->import_weights(bytes);
  weight.data = bytes.data();
  weight.buffer = buffer.get();
  const auto copy = device->copy_for_products(weight);
  if (!copy) GTEST_SKIP() << "this processor's products read no copies";
  buffer.reset();
  const auto pages = std::make_shared<const OwnPages>(*OwnPages::map(copy->n_bytes, 4096));
  copy->make(pages->bytes(), pages, std::atomic<bool>(false));
  EXPECT_EQ(std::ranges::count(pages->bytes(), std::byte{0}), std::ssize(pages->bytes()));
}

TEST(CpuDevice, NamesItself) {
  const auto device = *make_cpu_device({.n_threads = 2});
  EXPECT_EQ(device->name(), "cpu");
  EXPECT_EQ(device->n_threads(), 2);
  EXPECT_GE((*make_cpu_device())->n_threads(), 1);
}

TEST(CpuDevice, RefusesImpossibleThreadCounts) {
  for (const int n_threads : {-1, 100000}) {
    const auto device = make_cpu_device({.n_threads = n_threads});
    ASSERT_FALSE(device.has_value());
    EXPECT_NE(device.error().message.find(std::to_string(n_threads)), std::string::npos);
  }
}

TEST(CpuDevice, EveryAvailableSetCanBeChosen) {
  ASSERT_EQ(available_isas().front(), Isa::scalar);
  for (const Isa isa : available_isas())
    EXPECT_TRUE(make_cpu_device({.n_threads = 1, .isa = name_of(isa)}).has_value());
}

TEST(CpuDevice, AnUnknownSetIsAnErrorThatNamesTheChoices) {
  const auto by_option = make_cpu_device({.n_threads = 1, .isa = "mmx"});
  ASSERT_FALSE(by_option.has_value());
  EXPECT_NE(by_option.error().message.find("scalar"), std::string::npos) << by_option.error().message;
  EXPECT_NE(by_option.error().message.find("mmx"), std::string::npos);

  const IsaVariable variable("sse9");
  const auto by_variable = make_cpu_device({.n_threads = 1});
  ASSERT_FALSE(by_variable.has_value());
  EXPECT_NE(by_variable.error().message.find("PARLANCE_ISA"), std::string::npos)
      << by_variable.error().message;
  EXPECT_NE(by_variable.error().message.find("scalar"), std::string::npos);
}

TEST(CpuDevice, TheVariableCapsTheSet) {
  const IsaVariable variable("scalar");
  const auto capped = *make_cpu_device({.n_threads = 1});
  const auto scalar = *make_cpu_device({.n_threads = 1, .isa = "scalar"});
  EXPECT_EQ(&capped->ops(), &scalar->ops());
}

}  // namespace
}  // namespace parlance::test
