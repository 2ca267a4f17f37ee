#include "base/os/thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>

namespace parlance {
namespace {

TEST(Threads, ProcessorsAreKnown) {
  const std::vector<int> processors = usable_processors();
  ASSERT_FALSE(processors.empty());
  EXPECT_TRUE(std::ranges::is_sorted(processors));
  EXPECT_EQ(std::set(processors.begin(), processors.end()).size(), processors.size());
  EXPECT_GE(n_online_processors(), 1);
}

TEST(Threads, AThreadCanBeBoundToAProcessor) {
  const int processor = usable_processors().back();
  std::atomic<bool> is_bound{false};
  std::vector<int> seen;
  std::thread thread([&] {
    is_bound.wait(false);
    seen = usable_processors();
  });
  name_thread(thread, "a name of more than fifteen bytes");
  bind_thread(thread, processor);
  is_bound = true;
  is_bound.notify_one();
  thread.join();
#ifdef __linux__
  EXPECT_EQ(seen, std::vector<int>{processor});
#endif
  EXPECT_GE(usable_processors().size(), seen.size()) << "this thread is free";
}

}  // namespace
}  // namespace parlance
