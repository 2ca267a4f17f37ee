#include "base/os/thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <numeric>
#include <set>

#include "support/temporary_folder.h"

namespace parlance {
namespace {

using test::TemporaryFolder;

TEST(Threads, ProcessorsAreKnown) {
  const std::vector<int> processors = usable_processors();
  ASSERT_FALSE(processors.empty());
  EXPECT_TRUE(std::ranges::is_sorted(processors));
  EXPECT_EQ(std::set(processors.begin(), processors.end()).size(), processors.size());
  EXPECT_GE(n_online_processors(), 1);
}

// Cores as a system describes them: which processors each has, and how fast it is.
class DescribedCores : public ::testing::Test {
 protected:
  void describe(int processor, const std::string& siblings, const std::string& capacity = "") {
    const std::filesystem::path folder = folder_.path() / ("cpu" + std::to_string(processor));
    std::filesystem::create_directories(folder / "topology");
    std::ofstream(folder / "topology/thread_siblings_list") << siblings << "\n";
    if (!capacity.empty()) std::ofstream(folder / "cpu_capacity") << capacity << "\n";
  }
  std::vector<int> ordered(int n) const {
    std::vector<int> processors(static_cast<size_t>(n));
    std::iota(processors.begin(), processors.end(), 0);
    return processors_by_core(processors, folder_.path());
  }

  TemporaryFolder folder_;
};

TEST_F(DescribedCores, OneProcessorOfEachComesFirst) {
  EXPECT_EQ(ordered(4), (std::vector{0, 1, 2, 3})) << "nothing is described";
  for (int i = 0; i < 8; ++i) describe(i, std::to_string(i / 2 * 2) + "-" + std::to_string(i / 2 * 2 + 1));
  EXPECT_EQ(ordered(8), (std::vector{0, 2, 4, 6, 1, 3, 5, 7}));
  for (int i = 0; i < 8; ++i) describe(i, std::to_string(i % 4) + "," + std::to_string(i % 4 + 4));
  EXPECT_EQ(ordered(8), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  for (int i = 0; i < 8; ++i) describe(i, std::to_string(i));
  EXPECT_EQ(ordered(8), (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  const std::vector<int> some{1, 5, 6};
  EXPECT_EQ(processors_by_core(some, folder_.path()), some);
}

TEST_F(DescribedCores, FastOnesComeBeforeSlowOnes) {
  for (const int i : {2, 3}) describe(i, "2-3", "1024");
  for (const int i : {4, 5}) describe(i, "4-5", "1024");
  for (const int i : {0, 1}) describe(i, std::to_string(i), "640");
  EXPECT_EQ(ordered(6), (std::vector{2, 4, 0, 1, 3, 5}));
}

TEST_F(DescribedCores, WhatIsNoDescriptionChangesNothing) {
  for (const char* const text :
       {"", "x", "-", "1-", "1-x", ",", "-7", "99999999999999", "3-1", "7-4000000", "\xff"}) {
    for (int i = 0; i < 4; ++i) describe(i, text, text);
    std::vector<int> all = ordered(4);
    std::ranges::sort(all);
    EXPECT_EQ(all, (std::vector{0, 1, 2, 3})) << text;
  }
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
