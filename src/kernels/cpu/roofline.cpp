#include "kernels/cpu/roofline.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/os/memory.h"
#include "base/thread_pool.h"
#include "kernels/cpu/roofline_loops.h"

namespace parlance {

namespace {

constexpr size_t kTileBytes = size_t{2} << 20;  // what a thread reads in one go
constexpr size_t kMinBytes = size_t{256} << 20;
constexpr size_t kMaxBytes = size_t{512} << 20;
constexpr size_t kMinReadPasses = 3;
constexpr double kReadSeconds = 0.3;
constexpr int kProductPasses = 4;
constexpr int64_t kTasksPerThread = 4;
constexpr double kTaskSeconds = 2e-3;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Results go here, so that no compiler may leave the work out.
std::atomic<double> sink{0};

// Twice the last cache, so that hardly anything of one pass is left for the next; within a quarter of what
// the machine has free.
size_t buffer_bytes() {
  size_t bytes = std::clamp(2 * last_cache_bytes(), kMinBytes, kMaxBytes);
  if (const size_t unused = machine_memory().unused; unused > 0) bytes = std::min(bytes, unused / 4);
  return std::max(align_up(bytes, kTileBytes), kTileBytes);
}

double measure_read(ThreadPool& pool, const RooflineLoops& loops) {
  const size_t bytes = buffer_bytes();
  const std::optional<OwnPages> memory = OwnPages::map(bytes, kTileBytes);
  if (!memory) return 0;
  std::byte* const data = memory->bytes().data();
  const auto n_tiles = static_cast<int64_t>(bytes / kTileBytes);
  const auto tile = [&](int64_t i) { return data + static_cast<size_t>(i) * kTileBytes; };
  pool.run(n_tiles, [&](int64_t i, int) { std::memset(tile(i), 1, kTileBytes); });

  std::vector<double> pass_s;
  const Clock::time_point first_start = Clock::now();
  while (pass_s.size() < kMinReadPasses || seconds_since(first_start) < kReadSeconds) {
    const Clock::time_point start = Clock::now();
    pool.run(n_tiles, [&](int64_t i, int) {
      sink.store(static_cast<double>(loops.read(tile(i), kTileBytes)), std::memory_order_relaxed);
    });
    pass_s.push_back(seconds_since(start));
  }
  // The median: what others leave of the memory comes and goes, and a program lives with it longer than a
  // pass.
  const auto middle = pass_s.begin() + static_cast<std::ptrdiff_t>(pass_s.size() / 2);
  std::nth_element(pass_s.begin(), middle, pass_s.end());
  return static_cast<double>(bytes) / *middle;
}

double measure_products(ThreadPool& pool, const RooflineLoops::Products& products) {
  if (!products.run) return 0;
  // Rounds of one task, from a first guess on one thread.
  constexpr int64_t kGuess = 10000;
  const Clock::time_point guess_start = Clock::now();
  sink.store(static_cast<double>(products.run(kGuess)), std::memory_order_relaxed);
  const double guess_s = std::max(seconds_since(guess_start), 1e-9);
  const int64_t n_rounds = std::max<int64_t>(1, static_cast<int64_t>(kGuess * kTaskSeconds / guess_s));

  const int64_t n_tasks = kTasksPerThread * pool.n_threads();
  double best_s = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < kProductPasses; ++pass) {
    const Clock::time_point start = Clock::now();
    pool.run(n_tasks, [&](int64_t, int) {
      sink.store(static_cast<double>(products.run(n_rounds)), std::memory_order_relaxed);
    });
    best_s = std::min(best_s, seconds_since(start));
  }
  return static_cast<double>(n_tasks * n_rounds * products.ops_per_round) / best_s;
}

Roofline measure_now(Isa isa, int n_threads) {
  ThreadPool pool(n_threads, /*pin=*/true);
  const RooflineLoops& loops = roofline_loops(isa);
  Roofline roofline;
  roofline.read_bytes_per_second = measure_read(pool, loops);
  roofline.f32_ops_per_second = measure_products(pool, loops.f32);
  roofline.int8_ops_per_second = measure_products(pool, loops.int8);
  roofline.int16_ops_per_second = measure_products(pool, loops.int16);
  roofline.bf16_ops_per_second = measure_products(pool, loops.bf16);
  return roofline;
}

}  // namespace

Roofline measure_roofline(Isa isa, int n_threads) {
  static std::mutex mutex;
  static std::map<std::pair<Isa, int>, Roofline> measured;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = measured.try_emplace({isa, n_threads});
  if (is_new) found->second = measure_now(isa, n_threads);
  return found->second;
}

}  // namespace parlance
