// The host code for Metal over an imitation of it: what a device and its streams promise beside what the
// kernels compute, which metal_text_test.cpp compares.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>

#include "kernels/metal/host/kernel_text.h"
#include "kernels/support/op_bench.h"
#include "kernels/vulkan/runtime/dispatch.h"
#include "shaders/support/imitated_metal.h"

namespace parlance::test {
namespace {

std::vector<float> counted(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

// y added to x so many times, as launches of one step.
std::vector<float> added(OpBench& bench, const Tensor& x, const Tensor& y, int n_times) {
  bench.stream().step(Stream::kOnce, [&] {
    for (int i = 0; i < n_times; ++i) add(bench.stream(), x, y);
  });
  return bench.download(x);
}

TEST(MetalKernelText, IsThatOfTheFolder) {
  int n_kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(metal_folder())) {
    if (entry.path().extension() != ".metal") continue;
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(metal::find_source(name), text);
    const auto read = metal::read_kernel_text(text);
    ASSERT_TRUE(read);
    const std::vector<uint32_t> constants(32, 64);
    EXPECT_TRUE(read->threads_constant ? read->threads_with(constants) == 64 : read->n_threads >= 32);
    if (read->threads_constant) {
      EXPECT_EQ(read->threads_with({}), 0u);
    }
    ++n_kernels;
  }
  EXPECT_GT(n_kernels, 40);
  EXPECT_EQ(metal::find_source("nobody"), "");
}

TEST(MetalKernelText, SaysHowConstantsCameThrough) {
  const auto text = metal::read_kernel_text(metal::find_source("matmul_row"));
  ASSERT_TRUE(text);
  std::vector<uint32_t> macros = text->macros;
  std::ranges::sort(macros);
  EXPECT_EQ(macros, (std::vector<uint32_t>{8, 10, 12, 13, 14}));
  const auto is_bool = [&](uint32_t index) {
    const auto found = std::ranges::find(text->constants, index, &metal::FunctionConstant::index);
    return found != text->constants.end() && found->is_bool;
  };
  EXPECT_TRUE(is_bool(3));
  EXPECT_TRUE(is_bool(11));
  EXPECT_FALSE(is_bool(0));
  EXPECT_EQ(text->threads_constant, 8u);
}

TEST(MetalKernelText, TakesAnyText) {
  const std::string text(metal::find_source("rms_norm"));
  for (size_t n = 0; n <= text.size(); ++n) metal::read_kernel_text(std::string_view(text).substr(0, n));
  for (const char* bad :
       {"", "constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(", "constant uint3 gl_WorkGroupSize ",
        "constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(0u, 1u, 1u);",
        "constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(99999999999u, 1u, 1u);",
        "constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(_7, 1u, 1u);\n"
        "constant uint _7_tmp [[function_constant(0)]];"})
    EXPECT_FALSE(metal::read_kernel_text(bad)) << bad;
}

TEST(MetalHost, OpensWhatThereIs) {
  imitate_gpus({});
  const auto none = open_metal_device(0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_NE(none.error().message.find("metal:0: there is no such device; this machine has 0"),
            std::string::npos)
      << none.error().message;
  imitate_gpus({{}, {.is_recent = false}});
  const auto first = open_metal_device(0);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)->name(), "metal:0");
  EXPECT_EQ((*first)->description(), "Metal, imitated on the CPU");
  EXPECT_GT((*first)->memory().free, 0u);
  EXPECT_LT((*first)->memory().free, (*first)->memory().total);
  const auto old = open_metal_device(1);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, ErrorCode::unsupported);
  EXPECT_NE(old.error().message.find("Apple7"), std::string::npos) << old.error().message;
  for (const int index : {-1, 2}) EXPECT_FALSE(open_metal_device(index));
}

TEST(MetalHost, MemoryThatCannotBeHadIsAnError) {
  const auto device = metal_device_on({});
  const auto large = device->allocate(device->max_buffer_bytes() + 1);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::out_of_memory);
  imitate_gpus({{.has_room = false}});
  const auto full = open_metal_device(0);
  ASSERT_TRUE(full);
  const auto buffer = (*full)->allocate(100);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, ErrorCode::out_of_memory);
  const auto stream = (*full)->make_stream();
  EXPECT_FALSE(stream->synchronize());
}

// Kernels see weights where they are mapped, at any place that kernels can read at once, and copies of
// others.
TEST(MetalHost, WeightsStayWhereTheyAre) {
  const auto page = static_cast<size_t>(getpagesize());
  const auto x = counted(300);
  for (const size_t at : {size_t{0}, size_t{16}, size_t{64}, page - 16, page + 48, size_t{4}, size_t{34}}) {
    SCOPED_TRACE(at);
    std::vector<std::byte> file(8 * page);
    std::byte* const place = file.data() + (page - reinterpret_cast<size_t>(file.data()) % page) % page + at;
    std::memcpy(place, x.data(), x.size() * sizeof(float));
    OpBench bench(metal_device_on({}));
    auto buffer = bench.device().import_weights(std::span(place, x.size() * sizeof(float)));
    ASSERT_TRUE(buffer);
    EXPECT_EQ((*buffer)->base() == place, at % 16 == 0);
    Tensor weight;
    weight.dtype = DType::f32;
    weight.ne = {300, 1, 1, 1};
    weight.buffer = buffer->get();
    weight.data = (*buffer)->base();
    const auto sums = added(bench, bench.upload({300, 1, 1, 1}, x), weight, 1);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(sums[i], 2 * x[i]);
  }
}

// Words are copied by Metal, other bytes by the processor, much at once by a kernel; what was launched before
// is in them, and what is launched behind sees them.
TEST(MetalHost, CopiesOfAnySizeAndPlace) {
  for (const int64_t n : {1, 3, 4, 7, 1000, 65536}) {
    for (const int64_t from : {0, 1, 2, 4, 16}) {
      for (const int64_t to : {0, 1, 2, 4, 16}) {
        if (n > 1000 && from % 4 != to % 4) continue;
        SCOPED_TRACE(testing::Message() << n << " bytes from " << from << " to " << to);
        OpBench bench(metal_device_on({}));
        const int64_t n_floats = (n + from + 7) / 4;
        const Tensor x = bench.upload({n_floats, 1, 1, 1}, counted(static_cast<size_t>(n_floats)));
        const Tensor y =
            bench.upload({n_floats, 1, 1, 1}, std::vector<float>(static_cast<size_t>(n_floats), 1));
        std::vector<std::byte> want(static_cast<size_t>(n + to), std::byte{7});
        const Tensor out = bench.upload(DType::i8, {n + to, 1, 1, 1}, want);
        const auto piece = [n](Tensor tensor, int64_t first) {
          tensor.dtype = DType::i8;
          tensor.ne = {n, 1, 1, 1};
          tensor.data += first;
          return tensor;
        };
        bench.stream().step(Stream::kOnce, [&] {
          add(bench.stream(), x, y);
          copy(bench.stream(), piece(out, to), piece(x, from));
          add(bench.stream(), x, y);
        });
        std::vector<float> once = counted(static_cast<size_t>(n_floats));
        for (float& value : once) ++value;
        std::memcpy(want.data() + to, reinterpret_cast<const std::byte*>(once.data()) + from,
                    static_cast<size_t>(n));
        EXPECT_EQ(bench.download_bytes(out), want);
      }
    }
  }
}

TEST(MetalHost, LongStepsAreGivenInParts) {
  for (const int n_times : {1, 256, 257, 513}) {
    OpBench bench(metal_device_on({}));
    const Tensor x = bench.upload({3, 1, 1, 1}, {1, 2, 3}), y = bench.upload({3, 1, 1, 1}, {1, 10, 100});
    const auto n = static_cast<float>(n_times);
    EXPECT_EQ(added(bench, x, y, n_times), (std::vector<float>{1 + n, 2 + 10 * n, 3 + 100 * n}));
  }
}

TEST(MetalHost, UploadsAreInOrderWithLaunches) {
  OpBench bench(metal_device_on({}));
  const Tensor x = bench.upload({1, 1, 1, 1}, {1}), y = bench.upload({1, 1, 1, 1}, {10});
  float want = 1;
  for (float value = 20; value < 24; ++value) {
    bench.stream().step(Stream::kOnce, [&] { add(bench.stream(), x, y); });
    want += value == 20 ? 10 : value - 1;
    bench.stream().upload(y, std::as_bytes(std::span(&value, 1)));
  }
  EXPECT_EQ(bench.download(x), std::vector<float>{want});
}

// A stream does nothing more behind an error, and tells the first; others go on.
TEST(MetalHost, ErrorsAreToldAndEndTheStream) {
  using Wrong = std::function<void(Stream & s, const Tensor& x)>;
  const std::vector<std::pair<Wrong, std::string>> cases = {
      {[](Stream& s, const Tensor&) { vulkan::dispatch(s, "nobody", {}, {}, uint32_t{1}, {}); },
       "no kernel nobody"},
      {[](Stream& s, const Tensor& x) {
         vulkan::dispatch(s, "add", {}, {vulkan::operand_of(x)}, uint32_t{1}, {});
       },
       "beyond the end"},
      {[](Stream& s, const Tensor& x) {
         vulkan::dispatch(s, "rms_norm", {2048}, {vulkan::operand_of(x)}, uint32_t{1}, {});
       },
       "1 to 1024"},
      {[](Stream& s, const Tensor& x) {
         vulkan::dispatch(s, "rms_norm", {}, {vulkan::operand_of(x)}, uint32_t{1}, {});
       },
       "0 threads"},
  };
  for (const auto& [wrong, words] : cases) {
    const std::shared_ptr<Device> device = metal_device_on({});
    OpBench bench(device), other(device);
    const Tensor x = bench.upload({1, 1, 1, 1}, {1}), y = bench.upload({1, 1, 1, 1}, {10});
    bench.stream().step(Stream::kOnce, [&] { wrong(bench.stream(), x); });
    const auto first = bench.stream().synchronize();
    ASSERT_FALSE(first) << words;
    EXPECT_EQ(first.error().code, ErrorCode::device_failed);
    EXPECT_NE(first.error().message.find(words), std::string::npos) << first.error().message;
    bench.stream().step(Stream::kOnce, [&] { add(bench.stream(), x, y); });
    float value = 0;
    const auto later = bench.stream().download(std::as_writable_bytes(std::span(&value, 1)), x);
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().message, first.error().message);
    EXPECT_EQ(added(other, other.upload({1, 1, 1, 1}, {1}), other.upload({1, 1, 1, 1}, {2}), 1),
              std::vector<float>{3});
  }
}

}  // namespace
}  // namespace parlance::test
