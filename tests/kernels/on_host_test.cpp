// What the host does with results of steps, on the threads of each device's streams.
#include <atomic>
#include <thread>

#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

void expect_each_once(Stream& stream, int64_t n) {
  std::vector<std::atomic<int>> calls(static_cast<size_t>(n));
  stream.on_host(n, [&](int64_t i) { calls[static_cast<size_t>(i)] += 1; });
  for (int64_t i = 0; i < n; ++i) EXPECT_EQ(calls[static_cast<size_t>(i)], 1) << i << " of " << n;
}

TEST(OnHost, EveryTaskIsDoneOnce) {
  device_cases();  // the validation layer is asked for before the first use of Vulkan
  for (const int n_threads : {1, 2, 5}) {
    std::vector<std::unique_ptr<Device>> devices;
    devices.push_back(*make_cpu_device({.n_threads = n_threads}));
    if (auto vulkan = make_vulkan_device(0)) devices.push_back(std::move(*vulkan));
    for (const auto& device : devices) {
      SCOPED_TRACE(testing::Message() << device->name() << ", " << n_threads);
      const auto stream = device->make_stream(), other = device->make_stream();
      for (const int64_t n : {0, 1, 2, 3, 100}) {
        expect_each_once(*stream, n);
        expect_each_once(*other, n);
      }
    }
  }
}

// Of streams that share the CPU's threads: beside each other, and beside steps.
TEST(OnHost, SeveralAtOnce) {
  const auto device = *make_cpu_device({.n_threads = 3});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto stream = device->make_stream();
      for (int64_t n = 0; n < 200; ++n) {
        if (thread % 2 == 0 || n % 2 == 0) {
          expect_each_once(*stream, n % 40);
        } else {
          stream->step(Stream::kOnce, [] { std::this_thread::yield(); });
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Nobody has to have wanted the step before.
TEST(OnHost, TasksAreDoneWhereWorkWasCancelled) {
  const auto device = *make_cpu_device({.n_threads = 2});
  const auto stream = device->make_stream();
  CancellationSource source;
  const Cancellation ticket = source.ticket();
  source.cancel();
  const CancellableWork work(*stream, ticket);
  EXPECT_TRUE(stream->cancelled());
  expect_each_once(*stream, 9);
}

}  // namespace
}  // namespace parlance::test
