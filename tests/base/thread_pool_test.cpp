#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/os/thread.h"

namespace parlance {
namespace {

// Plain counters, not atomic ones: the pool itself must order the tasks' writes before run() returns.
void expect_each_task_once(ThreadPool& pool, int64_t n_tasks) {
  std::vector<int> runs(static_cast<size_t>(n_tasks), 0);
  std::atomic<bool> is_thread_in_range{true};
  pool.run(n_tasks, [&](int64_t task, int thread) {
    ++runs[static_cast<size_t>(task)];
    if (thread < 0 || thread >= pool.n_threads()) is_thread_in_range = false;
  });
  EXPECT_EQ(std::count(runs.begin(), runs.end(), 1), n_tasks);
  EXPECT_TRUE(is_thread_in_range);
}

TEST(ThreadPool, RunsEachTaskOnce) {
  for (const int n_threads : {1, 2, 3, 8}) {
    ThreadPool pool(n_threads, false);
    EXPECT_EQ(pool.n_threads(), n_threads);
    for (const int64_t n_tasks : {0, 1, 2, 3, 7, 64, 1000}) expect_each_task_once(pool, n_tasks);
  }
}

TEST(ThreadPool, OneTaskStaysWithTheCaller) {
  ThreadPool pool(4, false);
  std::thread::id runner;
  pool.run(1, [&](int64_t, int thread) {
    runner = std::this_thread::get_id();
    EXPECT_EQ(thread, 0);
  });
  EXPECT_EQ(runner, std::this_thread::get_id());
}

TEST(ThreadPool, BackToBackRunsSeeEachOthersResults) {
  for (const int n_threads : {2, 3, 5}) {
    ThreadPool pool(n_threads, false);
    std::vector<int64_t> values(37, 0);
    for (int64_t round = 0; round < 5000; ++round) {
      const auto n_tasks = static_cast<int64_t>(values.size()) - round % 30;
      pool.run(n_tasks, [&](int64_t task, int) { ++values[static_cast<size_t>(task)]; });
    }
    EXPECT_EQ(values[0], 5000);
    EXPECT_EQ(values[36], 5000 / 30 + 1);
  }
}

TEST(ThreadPool, WorkersThatSleepAreWoken) {
  ThreadPool pool(3, true);
  for (int round = 0; round < 50; ++round) {
    expect_each_task_once(pool, 20);
    std::this_thread::sleep_for(std::chrono::microseconds(round % 5 * 100));
  }
}

// The caller must sleep while the worker is still busy, and be woken by it.
TEST(ThreadPool, WaitsForALongTask) {
  ThreadPool pool(2, false);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> n_done{0};
    pool.run(2, [&](int64_t, int thread) {
      if (thread != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++n_done;
    });
    EXPECT_EQ(n_done, 2);
  }
}

// A thread that is held up keeps one task; the others take the rest.
TEST(ThreadPool, OthersTakeOverFromAThreadThatIsHeldUp) {
  ThreadPool pool(2, false);
  std::atomic<int> n_done{0};
  std::atomic<bool> is_held_up{false};
  pool.run(100, [&](int64_t, int) {
    if (!is_held_up.exchange(true)) {
      while (n_done < 99) std::this_thread::yield();
    }
    ++n_done;
  });
  EXPECT_EQ(n_done, 100);
}

TEST(ThreadPool, IsDestroyedIdleOrAsleep) {
  for (int round = 0; round < 50; ++round) {
    ThreadPool pool(3, false);
    if (round % 2) expect_each_task_once(pool, 5);
    if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

TEST(ThreadPool, SomeProcessorIsUsable) {
  const std::vector<int> processors = usable_processors();
  ASSERT_FALSE(processors.empty());
  EXPECT_TRUE(std::is_sorted(processors.begin(), processors.end()));
}

}  // namespace
}  // namespace parlance
