#include "kernels/copy_bandwidth.h"

#include <algorithm>
#include <chrono>

namespace parlance {

namespace {

constexpr size_t kMostBytes = size_t{256} << 20;  // larger than the caches of today's GPUs
constexpr size_t kMostHostBytes = size_t{64} << 20;
constexpr int kRounds = 5;
constexpr int kCopiesPerRound = 8;  // inside a device, so that the start of a round does not count

template <class Work>
Result<double> best_seconds(const Work& work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point start = Clock::now();
    PARLANCE_CHECK(work());
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

Tensor bytes_of(Buffer& buffer, size_t n) {
  Tensor tensor;
  tensor.dtype = DType::i8;
  tensor.ne = {static_cast<int64_t>(n), 1, 1, 1};
  tensor.data = buffer.base();
  tensor.buffer = &buffer;
  return tensor;
}

}  // namespace

Result<CopyBandwidth> measure_copy_bandwidth(Device& device) {
  const size_t n = std::max<size_t>(std::min(kMostBytes, device.memory().free / 8) & ~size_t{4095}, 4096);
  const size_t n_host = std::min(n, kMostHostBytes);
  PARLANCE_TRY(const auto a, device.allocate(n));
  PARLANCE_TRY(const auto b, device.allocate(n));
  const Tensor from = bytes_of(*a, n), to = bytes_of(*b, n);
  const auto stream = device.make_stream();
  std::vector<std::byte> host(n_host, std::byte{1});

  CopyBandwidth result;
  PARLANCE_TRY(const double up, best_seconds([&]() -> Result<void> {
                 stream->upload(bytes_of(*a, n_host), host);
                 return stream->synchronize();
               }));
  PARLANCE_TRY(const double down, best_seconds([&] { return stream->download(host, bytes_of(*a, n_host)); }));
  PARLANCE_TRY(const double inside, best_seconds([&]() -> Result<void> {
                 for (int i = 0; i < kCopiesPerRound; ++i) stream->copy(to, from);
                 return stream->synchronize();
               }));
  result.to_device = static_cast<double>(n_host) / up;
  result.from_device = static_cast<double>(n_host) / down;
  result.inside = 2.0 * kCopiesPerRound * static_cast<double>(n) / inside;
  return result;
}

}  // namespace parlance
