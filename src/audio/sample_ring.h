// Samples between two threads without a lock: one writes, one reads, and neither ever waits for the other, as
// the call-back of a sound card must not.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parlance {

class SampleRing {
 public:
  // Room for at least n samples.
  explicit SampleRing(size_t n) : samples_(std::bit_ceil(std::max<size_t>(n, 1))) {}

  // By the writer: as many of the samples as there is room for; yields how many.
  size_t write(std::span<const float> samples) {
    const uint64_t end = end_.load(std::memory_order_relaxed);
    const size_t room = samples_.size() - static_cast<size_t>(end - begin_.load(std::memory_order_acquire));
    const size_t n = std::min(samples.size(), room);
    for (size_t i = 0; i < n; ++i) samples_[index(end + i)] = samples[i];
    end_.store(end + n, std::memory_order_release);
    return n;
  }

  // By the reader: as many samples as there are and as `out` holds; yields how many.
  size_t read(std::span<float> out) {
    const uint64_t begin = begin_.load(std::memory_order_relaxed);
    const size_t n = std::min(out.size(), static_cast<size_t>(end_.load(std::memory_order_acquire) - begin));
    for (size_t i = 0; i < n; ++i) out[i] = samples_[index(begin + i)];
    begin_.store(begin + n, std::memory_order_release);
    return n;
  }

  // By the reader: drops what was written before `position`, as far as it was not read.
  void skip_to(uint64_t position) {
    const uint64_t begin = begin_.load(std::memory_order_relaxed);
    const uint64_t end = end_.load(std::memory_order_acquire);
    if (position > begin) begin_.store(std::min(position, end), std::memory_order_release);
  }

  // By either: how many samples were ever written, and how many read or skipped.
  uint64_t written() const { return end_.load(std::memory_order_acquire); }
  uint64_t taken() const { return begin_.load(std::memory_order_acquire); }

 private:
  size_t index(uint64_t position) const { return static_cast<size_t>(position) & (samples_.size() - 1); }

  std::vector<float> samples_;
  // Positions since the beginning, each in a cache line of its own, as each is written by another thread.
  alignas(64) std::atomic<uint64_t> begin_{0};
  alignas(64) std::atomic<uint64_t> end_{0};
};

}  // namespace parlance
