// Speed of matmul on any device, by weight type and shape, beside the device's copy bandwidth: few tokens in
// time and in bytes of weights, many in operations. Products follow each other through more weights than
// caches hold, in recorded steps as the engine runs them.
//
//   device_matmul_bench --device cuda:0 [--type q4_0] [--shape 4096x12288] [--tokens 16]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>

#include "devices/devices.h"
#include "kernels/ops.h"

namespace parlance {
namespace {

constexpr size_t kPoolBytes = size_t{512} << 20;  // beyond the largest caches
constexpr size_t kStepBytes = size_t{2} << 30;    // of weights that a step for few tokens reads, about
constexpr double kStepOperations = 4e11;          // that a step for many tokens computes, about
constexpr int kSteps = 5;                         // of which the median counts

constexpr DType kTypes[] = {DType::f16,  DType::bf16, DType::f32,  DType::q8_0,   DType::q4_0,
                            DType::q4_1, DType::q5_0, DType::q5_1, DType::q2_k,   DType::q3_k,
                            DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl, DType::iq4_xs};

struct Shape {
  int64_t n_in, n_out;
};
constexpr Shape kShapes[] = {{4096, 12288}, {12288, 4096}, {4096, 4096}, {1024, 3072}, {1024, 1024}};

constexpr int64_t kFew[] = {1, 2, 8, 16, 32, 64}, kMany[] = {128, 512};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Bench {
 public:
  explicit Bench(std::unique_ptr<Device> device)
      : device_(std::move(device)), stream_(device_->make_stream()) {}

  // Weights of all types and x are views of one buffer of bytes that make ordinary numbers as floats of any
  // size.
  Result<void> prepare() {
    PARLANCE_TRY(pool_, device_->allocate(kPoolBytes));
    std::mt19937_64 random(1);
    std::vector<uint64_t> words(kPoolBytes / sizeof(uint64_t));
    for (uint64_t& word : words) word = random() & 0x3f3f3f3f3f3f3f3f;
    stream_->upload(view(DType::i8, kPoolBytes, 1, 0), std::as_bytes(std::span(words)));
    return stream_->synchronize();
  }

  // Bytes read and written each second by copies within the device.
  Result<double> copy_bandwidth() {
    constexpr int kCopies = 8;
    const Tensor first = view(DType::i8, kPoolBytes / 2, 1, 0);
    const Tensor second = view(DType::i8, kPoolBytes / 2, 1, kPoolBytes / 2);
    PARLANCE_TRY(const double seconds, median_time([&] {
                   for (int i = 0; i < kCopies; ++i) stream_->copy(second, first);
                 }));
    return kCopies * static_cast<double>(kPoolBytes) / seconds;
  }

  // Seconds of one product.
  Result<double> time_matmul(DType dtype, const Shape& shape, int64_t n_tokens) {
    const size_t bytes = row_bytes(dtype, shape.n_in) * static_cast<size_t>(shape.n_out);
    const size_t n_copies = std::max<size_t>(kPoolBytes / bytes, 1);
    const double operations = 2.0 * static_cast<double>(shape.n_in * shape.n_out * n_tokens);
    const auto n_products = static_cast<size_t>(std::clamp(
        std::min(static_cast<double>(kStepBytes / bytes), kStepOperations / operations), 4.0, 500.0));
    const Tensor x = view(DType::f32, shape.n_in, n_tokens, 0);
    const auto record = [&] {
      for (size_t i = 0; i < n_products; ++i) {
        const Frame frame(*stream_);
        Linear linear;
        linear.weight = view(dtype, shape.n_in, shape.n_out, i % n_copies * bytes);
        matmul(*stream_, linear, x);
      }
    };
    PARLANCE_CHECK(stream_->reserve(stream_->dry_run(record)));
    const uint64_t key = ++n_keys_;
    PARLANCE_TRY(const double seconds, median_time([&] { stream_->step(key, record); }));
    return seconds / static_cast<double>(n_products);
  }

 private:
  Tensor view(DType dtype, int64_t n0, int64_t n1, size_t offset) const {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.ne = {n0, n1, 1, 1};
    tensor.buffer = pool_.get();
    tensor.data = pool_->base() + offset;
    return tensor;
  }

  template <class Work>
  Result<double> median_time(const Work& work) {
    std::vector<double> times;
    for (int i = 0; i <= kSteps; ++i) {
      const auto start = Clock::now();
      work();
      PARLANCE_CHECK(stream_->synchronize());
      if (i > 0) times.push_back(seconds_since(start));  // the first one records
    }
    std::nth_element(times.begin(), times.begin() + kSteps / 2, times.end());
    return times[kSteps / 2];
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Buffer> pool_;
  std::unique_ptr<Stream> stream_;
  uint64_t n_keys_ = 0;
};

// What is timed; empty: everything.
struct Choice {
  std::string_view type, shape, tokens;

  bool has(DType dtype) const { return type.empty() || type == name_of(dtype); }
  bool has(const Shape& s) const { return shape.empty() || shape == fmt::format("{}x{}", s.n_in, s.n_out); }
  std::vector<int64_t> among(std::span<const int64_t> all) const {
    std::vector<int64_t> kept(all.begin(), all.end());
    std::erase_if(kept, [&](int64_t n) { return !tokens.empty() && tokens != std::to_string(n); });
    return kept;
  }
};

Result<void> run(std::string_view device_name, const Choice& choice) {
  PARLANCE_TRY(auto device, make_device(device_name, 0));
  fmt::print("{}: {}\n", device->name(), device->description());
  Bench bench(std::move(device));
  PARLANCE_CHECK(bench.prepare());
  PARLANCE_TRY(const double copy_bandwidth, bench.copy_bandwidth());
  fmt::print("copies: {:.0f} GB/s read and written\n\n", copy_bandwidth * 1e-9);
  const std::vector<int64_t> few = choice.among(kFew), many = choice.among(kMany);
  std::string title = fmt::format("{:8} {:>6} {:>6}", "weights", "n_in", "n_out");
  for (const int64_t n : few) title += fmt::format(" | {:>3} {:<12}", n, n == 1 ? "token: us" : "tokens");
  for (const int64_t n : many) title += fmt::format(" | {:>4}: TFLOP/s", n);
  fmt::print("{}\n", title);
  for (const DType dtype : kTypes) {
    if (!choice.has(dtype)) continue;
    for (const Shape& shape : kShapes) {
      if (!choice.has(shape)) continue;
      std::string line = fmt::format("{:8} {:6} {:6}", name_of(dtype), shape.n_in, shape.n_out);
      const double bytes =
          static_cast<double>(row_bytes(dtype, shape.n_in)) * static_cast<double>(shape.n_out);
      for (const int64_t n_tokens : few) {
        PARLANCE_TRY(const double seconds, bench.time_matmul(dtype, shape, n_tokens));
        line += fmt::format(" | {:8.2f} {:6.0f}%", seconds * 1e6, 100 * bytes / seconds / copy_bandwidth);
      }
      for (const int64_t n_tokens : many) {
        PARLANCE_TRY(const double seconds, bench.time_matmul(dtype, shape, n_tokens));
        const double operations = 2.0 * static_cast<double>(shape.n_in * shape.n_out * n_tokens);
        line += fmt::format(" | {:13.1f}", operations / seconds * 1e-12);
      }
      fmt::print("{}\n", line);
      std::fflush(stdout);
    }
  }
  return {};
}

}  // namespace
}  // namespace parlance

int main(int argc, char** argv) {
  std::string_view device = "cpu";
  parlance::Choice choice;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--device") device = argv[i + 1];
    if (option == "--type") choice.type = argv[i + 1];
    if (option == "--shape") choice.shape = argv[i + 1];
    if (option == "--tokens") choice.tokens = argv[i + 1];
  }
  if (const auto result = parlance::run(device, choice); !result) {
    fmt::print(stderr, "device_matmul_bench: {}\n", result.error().message);
    return 1;
  }
  return 0;
}
