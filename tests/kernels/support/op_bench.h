// A small bench around a device: tensors in, operations, numbers out. All data goes through Stream::upload
// and download, so a device without plain addresses fits.
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "gtest/gtest.h"
#include "kernels/device.h"
#include "kernels/ops.h"

namespace parlance::test {

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

// In units of the squares of what is wanted.
inline double mean_square_error(const std::vector<float>& got, const std::vector<float>& want) {
  double errors = 0, squares = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    errors += std::pow(static_cast<double>(got[i]) - static_cast<double>(want[i]), 2);
    squares += std::pow(static_cast<double>(want[i]), 2);
  }
  return errors / squares;
}

}  // namespace parlance::test
