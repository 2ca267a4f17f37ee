// What is particular to Vulkan devices: memory cut from blocks, steps that are recorded and replayed,
// submissions. The operations are tested on them by the tests of each.
#include "kernels/vulkan/vulkan_device.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "base/parameter.h"
#include "kernels/support/devices.h"
#include "kernels/vulkan/runtime/suballocator.h"

namespace parlance::test {
namespace {

// Every test of this program runs under the validation layer, where it is installed.
class ValidationSilence : public ::testing::Environment {
 public:
  void TearDown() override { EXPECT_EQ(vulkan_counters().validation_messages, 0u) << "see the log above"; }
};
[[maybe_unused]] const ::testing::Environment* const silence =
    ::testing::AddGlobalTestEnvironment(new ValidationSilence);

TEST(VulkanSuballocator, GivesOutEverythingOnce) {
  vulkan::Suballocator parts(1024);
  EXPECT_EQ(parts.allocate(256), 0u);
  EXPECT_EQ(parts.allocate(512), 256u);
  EXPECT_EQ(parts.allocate(512), std::nullopt);
  EXPECT_EQ(parts.allocate(256), 768u);
  EXPECT_EQ(parts.allocate(1), std::nullopt);
}

TEST(VulkanSuballocator, JoinsFreeNeighbours) {
  for (const std::vector<size_t>& order :
       {std::vector<size_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 2, 0}, {0, 2, 1, 3}}) {
    vulkan::Suballocator parts(1024);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(parts.allocate(256), 256 * i);
    EXPECT_FALSE(parts.is_unused());
    for (const size_t i : order) parts.release(256 * i, 256);
    EXPECT_EQ(parts.n_free_ranges(), 1u);
    EXPECT_TRUE(parts.is_unused());
    EXPECT_EQ(parts.allocate(1024), 0u);
  }
}

TEST(VulkanSuballocator, NeverGivesTheSameBytesTwice) {
  constexpr size_t kBytes = 4096;
  vulkan::Suballocator parts(kBytes);
  std::vector<bool> is_used(kBytes);
  std::vector<std::pair<size_t, size_t>> held;
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    if (random() % 2 == 0) {
      const size_t bytes = 1 + random() % 300;
      const auto offset = parts.allocate(bytes);
      if (!offset) continue;
      ASSERT_LE(*offset + bytes, kBytes);
      for (size_t i = *offset; i < *offset + bytes; ++i) {
        ASSERT_FALSE(is_used[i]);
        is_used[i] = true;
      }
      held.emplace_back(*offset, bytes);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const auto [offset, bytes] = held.back();
      held.pop_back();
      parts.release(offset, bytes);
      std::fill_n(is_used.begin() + static_cast<std::ptrdiff_t>(offset), bytes, false);
    }
  }
  for (const auto& [offset, bytes] : held) parts.release(offset, bytes);
  EXPECT_TRUE(parts.is_unused());
}

// On vulkan:0, with two rows of floats x and y.
class VulkanDevice : public ::testing::Test {
 protected:
  static constexpr int64_t kN = 1000;

  void SetUp() override {
    device_cases();  // the validation layer is asked for before the first use of Vulkan
    auto device = make_vulkan_device(0);
    if (!device) GTEST_SKIP() << device.error().message;
    device_ = std::move(*device);
    stream_ = device_->make_stream();
    memory_ = *device_->allocate(2 * kN * sizeof(float));
    x_ = row(0);
    y_ = row(kN);
    set(x_, 1);
    set(y_, 2);
  }

  Tensor row(int64_t first) const {
    Tensor tensor;
    tensor.ne = {kN, 1, 1, 1};
    tensor.buffer = memory_.get();
    tensor.data = memory_->base() + static_cast<size_t>(first) * sizeof(float);
    return tensor;
  }
  void set(const Tensor& tensor, float value) {
    const std::vector<float> values(static_cast<size_t>(tensor.n_elements()), value);
    stream_->upload(tensor, std::as_bytes(std::span(values)));
  }
  std::vector<float> get(const Tensor& tensor) {
    std::vector<float> values(static_cast<size_t>(tensor.n_elements()));
    const auto result = stream_->download(std::as_writable_bytes(std::span(values)), tensor);
    EXPECT_TRUE(result.has_value()) << result.error().message;
    return values;
  }
  void expect_x(float value) { EXPECT_EQ(get(x_), std::vector<float>(kN, value)); }
  // x += y, recorded under `key`.
  void step(uint64_t key) {
    stream_->step(key, [&] {
      ++n_recorded_;
      add(*stream_, x_, y_);
    });
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Buffer> memory_;
  Tensor x_, y_;
  std::unique_ptr<Stream> stream_;  // ends before the memory that it uses
  int n_recorded_ = 0;
};

TEST_F(VulkanDevice, TellsItsNameAndMemory) {
  const auto list = list_vulkan_devices();
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->front().name, "vulkan:0");
  EXPECT_EQ(device_->name(), "vulkan:0");
  EXPECT_EQ(device_->description(), list->front().description);
  EXPECT_GT(device_->memory().total, 0u);
  EXPECT_LE(device_->memory().free, device_->memory().total);
}

TEST_F(VulkanDevice, AnUnknownNumberIsAnErrorThatNamesTheDevices) {
  for (const int index : {-1, 1000}) {
    const auto device = make_vulkan_device(index);
    ASSERT_FALSE(device.has_value());
    EXPECT_EQ(device.error().code, ErrorCode::not_found);
    EXPECT_NE(device.error().message.find(fmt::format("vulkan:{}", index)), std::string::npos);
    EXPECT_NE(device.error().message.find("vulkan:0 ("), std::string::npos) << device.error().message;
  }
}

TEST_F(VulkanDevice, AllocationsLieApart) {
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{255}, size_t{256}, size_t{257}, size_t{1} << 20}) {
    for (int i = 0; i < 3; ++i) {
      buffers.push_back(*device_->allocate(bytes));
      EXPECT_EQ(buffers.back()->size(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffers.back()->base()) % 256, 0u);
    }
    buffers.erase(buffers.begin());  // so that gaps are filled
  }
  float value = 0;
  for (const auto& buffer : buffers) {
    Tensor tensor;
    tensor.ne[0] = static_cast<int64_t>(buffer->size() / sizeof(float));
    tensor.buffer = buffer.get();
    tensor.data = buffer->base();
    set(tensor, ++value);
  }
  value = 0;
  for (const auto& buffer : buffers) {
    Tensor tensor;
    tensor.ne[0] = static_cast<int64_t>(buffer->size() / sizeof(float));
    tensor.buffer = buffer.get();
    tensor.data = buffer->base();
    ++value;
    EXPECT_EQ(get(tensor), std::vector<float>(buffer->size() / sizeof(float), value));
  }
  expect_x(1);
}

TEST_F(VulkanDevice, RefusesAbsurdSizesWithFigures) {
  for (const size_t bytes : {size_t{1} << 44, size_t{1} << 62, std::numeric_limits<size_t>::max() - 5,
                             std::numeric_limits<size_t>::max()}) {
    const auto buffer = device_->allocate(bytes);
    ASSERT_FALSE(buffer.has_value());
    EXPECT_EQ(buffer.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(buffer.error().message.find(std::to_string(bytes)), std::string::npos)
        << buffer.error().message;
    EXPECT_NE(buffer.error().message.find(mark_of(Parameter::gpu_layers)), std::string::npos);
  }
}

TEST_F(VulkanDevice, WeightsArriveAsTheyAre) {
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{1003}, (size_t{16} << 20) + 1, (size_t{40} << 20) + 17}) {
    std::vector<std::byte> weights(bytes);
    for (size_t i = 0; i < bytes; ++i) weights[i] = static_cast<std::byte>(i * 2654435761u >> 13);
    const auto buffer = device_->import_weights(weights);
    ASSERT_TRUE(buffer.has_value()) << buffer.error().message;
    Tensor tensor;
    tensor.dtype = DType::i8;
    tensor.ne[0] = static_cast<int64_t>(bytes);
    tensor.buffer = buffer->get();
    tensor.data = (*buffer)->base();
    std::vector<std::byte> got(bytes);
    ASSERT_TRUE(stream_->download(got, tensor).has_value());
    EXPECT_TRUE(got == weights) << bytes;
  }
}

TEST_F(VulkanDevice, UploadsLargerThanTheirStagingMemoryKeepTheirOrder) {
  const auto buffer = *device_->allocate(size_t{40} << 20);
  Tensor tensor;
  tensor.ne[0] = static_cast<int64_t>(buffer->size() / sizeof(float));
  tensor.buffer = buffer.get();
  tensor.data = buffer->base();
  std::vector<float> values(buffer->size() / sizeof(float));
  for (const float first : {1.0f, 2.0f}) {
    std::iota(values.begin(), values.end(), first);
    stream_->upload(tensor, std::as_bytes(std::span(values)));
  }
  EXPECT_EQ(get(tensor), values);
}

TEST_F(VulkanDevice, AStepFromUploadToDownloadIsOneSubmission) {
  ASSERT_TRUE(stream_->synchronize().has_value());
  for (int i = 1; i <= 3; ++i) {
    const uint64_t before = vulkan_counters().submissions;
    set(y_, static_cast<float>(i));
    step(7);
    get(x_);
    EXPECT_EQ(vulkan_counters().submissions, before + 1);
  }
  EXPECT_EQ(n_recorded_, 1);
  expect_x(1 + 1 + 2 + 3);
}

TEST_F(VulkanDevice, ReplaysWithoutReadingAreOrdered) {
  for (int i = 0; i < 10; ++i) step(7);
  EXPECT_EQ(n_recorded_, 1);
  expect_x(1 + 2 * 10);
}

TEST_F(VulkanDevice, StepsWithoutKeyAreRecordedEveryTime) {
  for (int i = 0; i < 3; ++i) step(Stream::kOnce);
  EXPECT_EQ(n_recorded_, 3);
  expect_x(1 + 2 * 3);
}

TEST_F(VulkanDevice, OperationsOutsideOfStepsKeepTheirPlace) {
  add(*stream_, x_, y_);
  step(7);
  stream_->copy(y_, x_);  // 5
  step(7);                // 10
  add(*stream_, x_, y_);  // 15
  expect_x(15);
}

TEST_F(VulkanDevice, ManyKeysAreRecordedAnewWhenTheirTurnIsLong) {
  for (uint64_t key = 1; key <= 100; ++key) step(key);
  EXPECT_EQ(n_recorded_, 100);
  step(100);
  EXPECT_EQ(n_recorded_, 100);
  step(1);
  EXPECT_EQ(n_recorded_, 101);
  expect_x(1 + 2 * 102);
}

TEST_F(VulkanDevice, LongWorkIsSubmittedInParts) {
  const uint64_t before = vulkan_counters().submissions;
  for (int i = 0; i < 10000; ++i) add(*stream_, x_, y_);
  EXPECT_GT(vulkan_counters().submissions, before + 1);
  expect_x(1 + 2 * 10000);
}

TEST_F(VulkanDevice, ReservingForgetsRecordings) {
  step(7);
  ASSERT_TRUE(stream_->reserve({.workspace_bytes = 1 << 20, .scratch_bytes = 0, .missing = {}}).has_value());
  step(7);
  EXPECT_EQ(n_recorded_, 2);
  expect_x(1 + 2 * 2);
}

TEST_F(VulkanDevice, ACancelledRecordingIsNotKept) {
  {
    const CancellationSource source;
    const Cancellation ticket = source.ticket();
    const CancellableWork work(*stream_, ticket);
    stream_->step(7, [&] {
      add(*stream_, x_, y_);
      source.cancel();
      add(*stream_, x_, y_);
    });
  }
  expect_x(1 + 2);
  step(7);
  EXPECT_EQ(n_recorded_, 1);
  expect_x(1 + 2 * 2);
}

// The range that a driver shows to a shader can be as small as 128 MiB.
TEST_F(VulkanDevice, AnErrorStaysAndNothingIsDoneAfterIt) {
  const auto buffer = device_->allocate(size_t{1} << 30);
  if (!buffer) GTEST_SKIP() << buffer.error().message;
  Tensor tensor;
  tensor.ne[0] = 1 << 28;
  tensor.buffer = buffer->get();
  tensor.data = (*buffer)->base();
  add(*stream_, tensor, tensor);
  if (stream_->synchronize()) GTEST_SKIP() << "this driver shows 1 GiB to a shader";
  step(7);
  step(7);
  set(x_, 3);
  for (int i = 0; i < 2; ++i) {
    std::vector<float> values(kN);
    const auto result = stream_->download(std::as_writable_bytes(std::span(values)), x_);
    ASSERT_FALSE(result.has_value());
    EXPECT_NE(result.error().message.find("vulkan:0"), std::string::npos) << result.error().message;
  }
  EXPECT_EQ(n_recorded_, 2);  // so that the caller has its results' places; nothing is kept
  stream_ = device_->make_stream();
  set(x_, 4);
  expect_x(4);
}

// Drivers may flush small numbers and divide inexactly; what a cache holds is the same everywhere.
TEST_F(VulkanDevice, CachesHoldTheDefinedBytesAtEveryMagnitude) {
  constexpr int64_t kHeadDim = 1 << 16;
  std::mt19937 random(1);
  std::vector<float> values(kHeadDim);
  for (size_t i = 0; i < values.size(); ++i) {
    // Magnitudes from 2^-96 to 2^100, each block of 32 within 2^7.
    const uint32_t exponent = 127 - 96 + static_cast<uint32_t>(i / 32 % 190) + random() % 7;
    values[i] = std::bit_cast<float>(static_cast<uint32_t>(random() & 0x807fffffu) | exponent << 23);
    if (i % 37 == 0) values[i] = i % 2 ? 0.0f : -0.0f;
  }
  for (const KvFormat format : {KvFormat::f32, KvFormat::f16, KvFormat::bf16, KvFormat::q8_0}) {
    const size_t row_bytes = kv_row_bytes(format, kHeadDim);
    const auto pages = *device_->allocate(4 * row_bytes);
    const auto input = *device_->allocate(values.size() * sizeof(float));
    const auto places = *device_->allocate(sizeof(int32_t));
    Tensor k, place;
    k.ne = {kHeadDim, 1, 1, 1};
    k.buffer = input.get();
    k.data = input->base();
    place.dtype = DType::i32;
    place.buffer = places.get();
    place.data = places->base();
    const int32_t zero = 0;
    stream_->upload(k, std::as_bytes(std::span(values)));
    stream_->upload(place, std::as_bytes(std::span(&zero, 1)));
    KvView kv;
    kv.pages = pages->base();
    kv.buffer = pages.get();
    kv.page_bytes = kv.layer_bytes = 4 * row_bytes;
    kv.page_tokens = 2;
    kv.page_table = place;
    kv.k.format = kv.v.format = format;
    kv.n_head_kv = 1;
    kv.head_dim_k = kv.head_dim_v = kHeadDim;
    kv.k_row_bytes = kv.v_row_bytes = row_bytes;
    kv_write(*stream_, kv, k, k, {.seq = place, .pos = place, .n_kv_bound = 1});
    std::vector<std::byte> want(row_bytes), got(row_bytes);
    traits(format).encode_row(values.data(), want.data(), kHeadDim);
    for (const size_t side : {size_t{0}, 2 * row_bytes}) {
      Tensor row;
      row.dtype = DType::i8;
      row.ne[0] = static_cast<int64_t>(row_bytes);
      row.buffer = pages.get();
      row.data = pages->base() + side;
      ASSERT_TRUE(stream_->download(got, row).has_value());
      EXPECT_TRUE(got == want) << name_of(format);
    }
  }
}

TEST_F(VulkanDevice, StreamsOfSeveralThreadsShareTheDevice) {
  std::vector<std::thread> threads;
  std::array<float, 4> sums{};
  for (size_t t = 0; t < sums.size(); ++t) {
    threads.emplace_back([&, t] {
      const auto stream = device_->make_stream();
      const auto buffer = *device_->allocate(2 * kN * sizeof(float));
      Tensor x = x_, y = y_;
      x.buffer = y.buffer = buffer.get();
      x.data = buffer->base();
      y.data = buffer->base() + kN * sizeof(float);
      const std::vector<float> ones(kN, 1);
      stream->upload(x, std::as_bytes(std::span(ones)));
      stream->upload(y, std::as_bytes(std::span(ones)));
      std::vector<float> values(kN);
      for (int i = 0; i < 50; ++i) {
        stream->step(1, [&] { add(*stream, x, y); });
        if (!stream->download(std::as_writable_bytes(std::span(values)), x)) return;
      }
      sums[t] = values[kN - 1];
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, (std::array<float, 4>{51, 51, 51, 51}));
}

}  // namespace
}  // namespace parlance::test
