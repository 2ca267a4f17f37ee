// What benchmarks of a device's kernels share: a pool of ordinary numbers beyond the largest caches, steps
// that are recorded and replayed as the engine does it, and options of a command line.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include "devices/devices.h"
#include "kernels/ops.h"

namespace parlance {

class DeviceBench {
 public:
  // The median of so many steps counts.
  DeviceBench(std::unique_ptr<Device> device, size_t pool_bytes, int n_steps)
      : device_(std::move(device)),
        stream_(device_->make_stream()),
        pool_bytes_(pool_bytes),
        n_steps_(n_steps) {}

  // Fills the pool with bytes that make ordinary numbers as floats of any size and in any block format.
  Result<void> prepare() {
    PARLANCE_TRY(pool_, device_->allocate(pool_bytes_));
    std::mt19937_64 random(1);
    std::vector<uint64_t> words(pool_bytes_ / sizeof(uint64_t));
    for (uint64_t& word : words) word = random() & 0x3f3f3f3f3f3f3f3f;
    stream_->upload(view(DType::i8, static_cast<int64_t>(pool_bytes_), 1, 0),
                    std::as_bytes(std::span(words)));
    return stream_->synchronize();
  }

 protected:
  // Of bytes of the pool.
  Tensor view(DType dtype, int64_t n0, int64_t n1, size_t offset) const {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.ne = {n0, n1, 1, 1};
    tensor.buffer = pool_.get();
    tensor.data = pool_->base() + offset;
    return tensor;
  }

  // Seconds of each run of `work` and what it sets going, the shortest first; one more before them, which
  // records.
  template <class Work>
  Result<std::vector<double>> sorted_times(const Work& work) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    for (int i = 0; i <= n_steps_; ++i) {
      const auto start = Clock::now();
      work();
      PARLANCE_CHECK(stream_->synchronize());
      if (i > 0) times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    return times;
  }

  // The same of a step of the device.
  template <class Record>
  Result<std::vector<double>> sorted_step_times(const Record& record) {
    const Plan plan = stream_->dry_run(record);
    if (!plan.missing.empty())
      return fail(ErrorCode::unsupported, "{} has no kernel for {}", device_->name(), plan.missing.front());
    PARLANCE_CHECK(stream_->reserve(plan));
    const uint64_t key = ++n_keys_;
    return sorted_times([&] { stream_->step(key, record); });
  }

  static double median(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Buffer> pool_;
  std::unique_ptr<Stream> stream_;

 private:
  const size_t pool_bytes_;
  const int n_steps_;
  uint64_t n_keys_ = 0;
};

struct BenchOption {
  std::string_view name;
  std::string_view* value;
};

// Reads "--device NAME" and the options, and runs: what main() returns.
inline int run_device_bench(std::string_view program, int argc, char** argv,
                            std::initializer_list<BenchOption> options,
                            const std::function<Result<void>(std::string_view device)>& run) {
  std::string_view device = "cpu";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view word = argv[i];
    if (word == "--device") device = argv[i + 1];
    for (const BenchOption& option : options) {
      if (word == option.name) *option.value = argv[i + 1];
    }
  }
  const auto result = run(device);
  if (!result) fmt::print(stderr, "{}: {}\n", program, result.error().message);
  return result ? 0 : 1;
}

}  // namespace parlance
