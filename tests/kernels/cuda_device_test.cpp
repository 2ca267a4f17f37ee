// The CUDA device itself: memory, transfers, recorded steps. Skipped, with the reason, where there is no GPU.
#include "kernels/cuda/cuda_device.h"

#include <cstring>
#include <limits>
#include <numeric>

#include "base/parameter.h"
#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class CudaDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = make_cuda_device(0);
    if (!device) GTEST_SKIP() << device.error().message;
    device_ = std::move(*device);
  }

  static std::vector<std::byte> counting_bytes(size_t n) {
    std::vector<std::byte> bytes(n);
    for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
    return bytes;
  }

  static Tensor whole(Buffer& buffer) {
    Tensor tensor;
    tensor.dtype = DType::i8;
    tensor.ne = {static_cast<int64_t>(buffer.size()), 1, 1, 1};
    tensor.data = buffer.base();
    tensor.buffer = &buffer;
    return tensor;
  }

  std::unique_ptr<Device> device_;
};

TEST(CudaDevices, AreListedOrMissedWithAReason) {
  const auto list = list_cuda_devices();
  if (!list) {
    EXPECT_NE(list.error().message.find("CUDA"), std::string::npos) << list.error().message;
    EXPECT_EQ(first_parameter(list.error().message), Parameter::device) << "a remedy";
    const auto device = make_cuda_device(0);
    ASSERT_FALSE(device.has_value());
    EXPECT_EQ(device.error().message, list.error().message);
    GTEST_SKIP() << list.error().message;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    const DeviceInfo& info = (*list)[i];
    EXPECT_EQ(info.name, "cuda:" + std::to_string(i));
    EXPECT_FALSE(info.description.empty());
    EXPECT_GT(info.memory.total, 0u);
    EXPECT_LE(info.memory.free, info.memory.total);
  }
}

TEST_F(CudaDevice, RefusesNumbersThatDoNotExist) {
  for (const int index : {-1, 1000}) {
    const auto device = make_cuda_device(index);
    ASSERT_FALSE(device.has_value());
    EXPECT_EQ(device.error().code, ErrorCode::not_found);
    EXPECT_NE(device.error().message.find(std::to_string(index)), std::string::npos);
  }
}

TEST_F(CudaDevice, AllocatesAlignedMemoryAndGivesItBack) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100}, (size_t{5} << 20) + 3}) {
    const auto buffer = device_->allocate(bytes);
    ASSERT_TRUE(buffer.has_value());
    EXPECT_EQ((*buffer)->size(), bytes);
    EXPECT_NE((*buffer)->base(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*buffer)->base()) % Arena::kAlignment, 0u);
  }
}

TEST_F(CudaDevice, RefusesAbsurdSizesWithFigures) {
  for (const size_t bytes : {size_t{1} << 44, size_t{1} << 62, std::numeric_limits<size_t>::max()}) {
    const auto buffer = device_->allocate(bytes);
    ASSERT_FALSE(buffer.has_value());
    EXPECT_EQ(buffer.error().code, ErrorCode::out_of_memory);
    EXPECT_NE(buffer.error().message.find(std::to_string(bytes)), std::string::npos)
        << buffer.error().message;
  }
  EXPECT_TRUE(device_->allocate(1 << 20).has_value()) << "a refusal spoils nothing";
}

// Longer than the ring of upload slots and the staging of weights, and not a multiple of either.
TEST_F(CudaDevice, TransfersArriveWhole) {
  const auto stream = device_->make_stream();
  for (const size_t bytes : {size_t{1}, size_t{255 << 10}, size_t{256 << 10}, (size_t{40} << 20) + 5}) {
    const auto sent = counting_bytes(bytes);
    const auto buffer = *device_->allocate(bytes);
    const auto twin = *device_->allocate(bytes);
    auto source = sent;
    stream->upload(whole(*buffer), source);
    std::fill(source.begin(), source.end(), std::byte{0});  // may go away after the call
    stream->copy(whole(*twin), whole(*buffer));
    std::vector<std::byte> received(bytes);
    ASSERT_TRUE(stream->download(received, whole(*twin)).has_value());
    EXPECT_TRUE(received == sent) << bytes;

    const auto weights = *device_->import_weights(sent);
    std::fill(received.begin(), received.end(), std::byte{0});
    ASSERT_TRUE(stream->download(received, whole(*weights)).has_value());
    EXPECT_TRUE(received == sent) << bytes << " of weights";
  }
}

// The second step with a key replays the first with what lies in the tensors now; more keys than are kept do
// no harm, and a new reservation forgets them.
TEST_F(CudaDevice, ReplaysSteps) {
  const auto stream = device_->make_stream();
  const auto x_memory = *device_->allocate(4);
  const auto y_memory = *device_->allocate(4);
  Tensor x, y;
  x.data = x_memory->base(), x.buffer = x_memory.get();
  y.data = y_memory->base(), y.buffer = y_memory.get();
  const auto set = [&](const Tensor& tensor, float value) {
    stream->upload(tensor, std::as_bytes(std::span(&value, 1)));
  };
  int n_recorded = 0;
  const auto step = [&](uint64_t key) {
    stream->step(key, [&] {
      ++n_recorded;
      add(*stream, x, y);
      add(*stream, x, y);
    });
  };
  set(x, 1);
  set(y, 10);
  step(7);
  step(7);
  set(y, 100);
  step(7);
  EXPECT_EQ(n_recorded, 1);
  for (uint64_t key = 100; key < 200; ++key) step(key);
  step(Stream::kOnce);
  step(7);
  EXPECT_EQ(n_recorded, 103);
  Plan plan;
  plan.workspace_bytes = 1 << 20;
  ASSERT_TRUE(stream->reserve(plan).has_value());
  step(7);
  EXPECT_EQ(n_recorded, 104);
  float result = 0;
  ASSERT_TRUE(stream->download(std::as_writable_bytes(std::span(&result, 1)), x).has_value());
  EXPECT_EQ(result, 1 + 2 * (10 + 10) + 2 * 100 * (1 + 100 + 1 + 1 + 1));
}

// A step that was cancelled while it was recorded lacks kernels: it is not kept.
TEST_F(CudaDevice, ForgetsCancelledRecordings) {
  const auto stream = device_->make_stream();
  int n_recorded = 0;
  {
    const CancellationSource source;
    const Cancellation ticket = source.ticket();
    const CancellableWork work(*stream, ticket);
    stream->step(5, [&] {
      ++n_recorded;
      source.cancel();
    });
  }
  stream->step(5, [&] { ++n_recorded; });
  EXPECT_EQ(n_recorded, 2);
  EXPECT_TRUE(stream->synchronize().has_value());
}

}  // namespace
}  // namespace parlance::test
