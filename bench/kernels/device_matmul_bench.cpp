// Speed of matmul on any device, by weight type and shape, beside the device's copy bandwidth: few tokens in
// time and in bytes of weights, many in operations. Products follow each other through more weights than
// caches hold, in recorded steps as the engine runs them.
//
//   device_matmul_bench --device cuda:0 [--type q4_0] [--shape 4096x12288] [--tokens 16]
#include <string>

#include "kernels/device_bench.h"

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

constexpr int64_t kFew[] = {1, 2, 8, 16, 32, 64}, kMany[] = {128, 512, 2048};

class Bench : public DeviceBench {
 public:
  explicit Bench(std::unique_ptr<Device> device) : DeviceBench(std::move(device), kPoolBytes, kSteps) {}

  // Bytes read and written each second by copies within the device.
  Result<double> copy_bandwidth() {
    constexpr int kCopies = 8;
    const Tensor first = view(DType::i8, kPoolBytes / 2, 1, 0);
    const Tensor second = view(DType::i8, kPoolBytes / 2, 1, kPoolBytes / 2);
    PARLANCE_TRY(const auto times, sorted_times([&] {
                   for (int i = 0; i < kCopies; ++i) stream_->copy(second, first);
                 }));
    return kCopies * static_cast<double>(kPoolBytes) / median(times);
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
    PARLANCE_TRY(const auto times, sorted_step_times(record));
    return median(times) / static_cast<double>(n_products);
  }
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
  parlance::Choice choice;
  return parlance::run_device_bench(
      "device_matmul_bench", argc, argv,
      {{"--type", &choice.type}, {"--shape", &choice.shape}, {"--tokens", &choice.tokens}},
      [&](std::string_view device) { return parlance::run(device, choice); });
}
