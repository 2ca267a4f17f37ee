#include "assistant/regions.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "assistant/text_stream.h"
#include "support/fixtures.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

// Freed memory stays with a sanitizer for a while, and it has memory of its own beside: the process does not
// shrink.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepsFreedMemory = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kKeepsFreedMemory = true;
#else
constexpr bool kKeepsFreedMemory = false;
#endif
#else
constexpr bool kKeepsFreedMemory = false;
#endif

#ifdef __GLIBC__
// One heap for all threads, from before the first of them: each other heap keeps some megabytes that the one
// given back would hide, more or fewer with how the machine shares out its time.
[[maybe_unused]] const int kOneHeap = ::mallopt(M_ARENA_MAX, 1);
#endif

namespace fs = std::filesystem;

// A region of nothing, whose loads and lives are counted.
struct Counts {
  std::atomic<int> n_loads = 0, n_alive = 0;
};
struct Thing {
  explicit Thing(Counts& of) : counts(of) { ++counts.n_alive; }
  ~Thing() { --counts.n_alive; }
  Counts& counts;
};

class RegionSlotTest : public testing::Test {
 protected:
  Counts counts_;
  RegionSlot<Thing> slot_{[this]() -> Result<std::shared_ptr<Thing>> {
    ++counts_.n_loads;
    return std::make_shared<Thing>(counts_);
  }};
};

TEST_F(RegionSlotTest, AcquiringTwiceShares) {
  EXPECT_FALSE(slot_.acquired());
  const auto first = slot_.acquire(), second = slot_.acquire();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(slot_.acquired(), *first);
  EXPECT_EQ(counts_.n_loads, 1);
}

TEST_F(RegionSlotTest, WhatIsEvictedGoesWithItsLastUser) {
  auto user = *slot_.acquire();
  slot_.evict();
  EXPECT_FALSE(slot_.acquired());
  EXPECT_EQ(counts_.n_alive, 1);
  slot_.evict();  // once more does nothing
  user.reset();
  EXPECT_EQ(counts_.n_alive, 0);
  ASSERT_TRUE(slot_.acquire());
  EXPECT_EQ(counts_.n_loads, 2);
  slot_.evict();
  EXPECT_EQ(counts_.n_alive, 0);
}

TEST_F(RegionSlotTest, WhatSomebodyStillUsesIsNotLoadedAgain) {
  const auto user = *slot_.acquire();
  slot_.evict();
  EXPECT_EQ(*slot_.acquire(), user);
  EXPECT_EQ(slot_.acquired(), user);
  EXPECT_EQ(counts_.n_loads, 1);
}

TEST_F(RegionSlotTest, ManyWhoComeAtOnceLoadOnce) {
  std::atomic<bool> may_end = false;
  RegionSlot<Thing> slow([&]() -> Result<std::shared_ptr<Thing>> {
    ++counts_.n_loads;
    may_end.wait(false);
    return std::make_shared<Thing>(counts_);
  });
  std::array<std::shared_ptr<Thing>, 8> things;
  {
    std::vector<std::jthread> threads;
    for (auto& thing : things) threads.emplace_back([&] { thing = *slow.acquire(); });
    EXPECT_FALSE(slow.acquired());  // does not wait
    slow.evict();                   // neither does this, and the load goes on
    may_end = true;
    may_end.notify_all();
  }
  for (const auto& thing : things) EXPECT_EQ(thing, things[0]);
  EXPECT_EQ(slow.acquired(), things[0]);
  EXPECT_EQ(counts_.n_loads, 1);
}

TEST_F(RegionSlotTest, AFailureIsTriedAgain) {
  bool fails = true;
  RegionSlot<Thing> slot([&]() -> Result<std::shared_ptr<Thing>> {
    ++counts_.n_loads;
    if (fails) return fail(ErrorCode::not_found, "none");
    return std::make_shared<Thing>(counts_);
  });
  EXPECT_FALSE(slot.acquire());
  EXPECT_FALSE(slot.acquired());
  fails = false;
  EXPECT_TRUE(slot.acquire());
  EXPECT_EQ(counts_.n_loads, 2);
}

TEST_F(RegionSlotTest, AnyOrderOfManyThreadsEndsWithNothing) {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int n = 0; n < 2000; ++n) {
          const auto mine = slot_.acquire();
          ASSERT_TRUE(mine && *mine);
          if ((n + i) % 3 == 0) slot_.evict();
        }
      });
    }
  }
  slot_.evict();
  EXPECT_EQ(counts_.n_alive, 0);
}

size_t count_entries(const fs::path& folder) {
  size_t n = 0;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) ++n;
  return n;
}

// What must not grow.
struct Resources {
  size_t n_files = count_entries("/proc/self/fd");
  size_t n_threads = count_entries("/proc/self/task");
};

// Computes a token, for which every weight is read.
void use(const std::shared_ptr<TextRegion>& region) {
  auto stream = TextStream::open(region);
  ASSERT_TRUE(stream) << stream.error().message;
  const Token token = 1;
  ASSERT_TRUE((*stream)->session().append({&token, 1}));
}

Choice choice_of(const fs::path& text, bool has_huge_pages) {
  Choice choice;
  choice.files.text = text.string();
  choice.devices.n_threads = 1;
  choice.devices.huge_pages = has_huge_pages;
  choice.n_ctx = 64;
  choice.context.n_batch = 16;
  return choice;
}

class RegionMemoryTest : public testing::TestWithParam<bool> {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TemporaryFolder;
    test::write_tiny_model(*folder_ / "large.gguf", {.n_embd = 1024, .n_ff = 4096, .n_layer = 3});
    return_free_memory();  // which the making took
  }
  static void TearDownTestSuite() { delete std::exchange(folder_, nullptr); }

  static void expect_near(size_t bytes, size_t expected, size_t size) {
    EXPECT_LE(std::abs(static_cast<double>(bytes) - static_cast<double>(expected)),
              0.05 * static_cast<double>(size));
  }

  inline static test::TemporaryFolder* folder_ = nullptr;
};

TEST_P(RegionMemoryTest, EvictingGivesTheRegionsSizeBack) {
  if (kKeepsFreedMemory) GTEST_SKIP() << "under the address sanitizer";
  Regions regions(choice_of(*folder_ / "large.gguf", GetParam()));
  for (int cycle = 0; cycle < 3; ++cycle) {
    const size_t before = resident_memory();
    auto region = regions.text.acquire();
    ASSERT_TRUE(region) << region.error().message;
    use(*region);
    const size_t size = regions.bytes(Region::text)->total();
    ASSERT_GT(size, size_t{140} << 20);
    (*region)
        ->model()
        .file()
        .wait_for_huge_pages();  // on their way weights are in memory twice, piece by piece
    const size_t with = resident_memory();
    expect_near(with - before, size, size);
    regions.evict(Region::text);
    expect_near(resident_memory(), with, size);  // somebody uses it
    region->reset();
    const size_t after = resident_memory();
    expect_near(with - after, size, size);
    expect_near(after, before, size);
  }
}

// The copy into huge pages, which goes on in the background, ends with its region wherever it is.
TEST_P(RegionMemoryTest, EvictingInTheMiddleOfMovingGivesAllBack) {
  if (kKeepsFreedMemory) GTEST_SKIP() << "under the address sanitizer";
  Regions regions(choice_of(*folder_ / "large.gguf", GetParam()));
  const size_t before = resident_memory();
  for (int wait_ms = 0; wait_ms <= 200; wait_ms = 2 * wait_ms + 1) {
    ASSERT_TRUE(regions.text.acquire());
    const size_t size = regions.bytes(Region::text)->total();
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    regions.evict(Region::text);
    expect_near(resident_memory(), before, size);
  }
}

INSTANTIATE_TEST_SUITE_P(HugePages, RegionMemoryTest, testing::Bool());

TEST(Regions, AThousandCyclesLeakNothing) {
  const test::TemporaryFolder folder;
  test::write_tiny_model(folder / "tiny.gguf");
  Regions regions(choice_of(folder / "tiny.gguf", true));
  const auto cycle = [&] {
    auto region = regions.text.acquire();
    ASSERT_TRUE(region) << region.error().message;
    use(*region);
    regions.evict(Region::text);
  };
  for (int i = 0; i < 20; ++i) cycle();  // what is made once
  const Resources resources;
  const size_t before = resident_memory();
  for (int i = 0; i < 1000; ++i) cycle();
  EXPECT_EQ(Resources().n_files, resources.n_files);
  EXPECT_EQ(Resources().n_threads, resources.n_threads);
  if (!kKeepsFreedMemory) {
    EXPECT_LT(resident_memory(), before + (size_t{1} << 20));  // a kilobyte a cycle
  }
}

fs::path demo() {
  return test::source_root() / "models" / "demo";
}

TEST(Regions, EveryRegionOfTheDemoComesAndGoes) {
  if (!fs::exists(demo() / "text")) GTEST_SKIP() << "no demo bundle";
  Choice choice;
  choice.files.folder = demo().string();
  choice.devices.n_threads = 1;
  Regions regions(choice);
  constexpr std::array kAll = {Region::text, Region::asr,     Region::tts,
                               Region::vad,  Region::speaker, Region::drafter};
  const auto cycle = [&] {
    const auto acquired = regions.acquire(kAll);
    ASSERT_TRUE(acquired) << acquired.error().message;
    for (const Region region : kAll) {
      ASSERT_TRUE(regions.is_acquired(region)) << name_of(region);
      EXPECT_GT(regions.bytes(region)->weights, 0u) << name_of(region);
      regions.evict(region);
      EXPECT_FALSE(regions.is_acquired(region)) << name_of(region);
    }
  };
  for (int i = 0; i < 5; ++i) cycle();
  const Resources resources;
  const size_t before = resident_memory();
  for (int i = 0; i < 60; ++i) cycle();
  EXPECT_EQ(Resources().n_files, resources.n_files);
  EXPECT_EQ(Resources().n_threads, resources.n_threads);
  if (!kKeepsFreedMemory) {
    EXPECT_LT(resident_memory(), before + (size_t{1} << 20));  // of 60 times all weights
  }
}

// What drafts for the language model is part of its region.
TEST(Regions, TheTextRegionCountsItsDrafter) {
  if (!fs::exists(demo() / "text")) GTEST_SKIP() << "no demo bundle";
  const auto bytes_with = [&](const DraftChoice& draft) {
    Choice choice;
    choice.files.folder = demo().string();
    choice.devices.n_threads = 1;
    choice.draft = draft;
    Regions regions(choice);
    EXPECT_TRUE(regions.acquire(Region::text));
    return regions.bytes(Region::text).value_or(RegionBytes{});
  };
  const RegionBytes without = bytes_with({.uses_model = false}), with = bytes_with({});
  const fs::path drafter = demo() / "dflash" / "parlance-demo-drafter-q8_0.gguf";
  EXPECT_EQ(with.weights - without.weights, fs::file_size(drafter));
  EXPECT_GT(with.working, without.working);
  EXPECT_EQ(bytes_with({.uses_model = false, .looks_up = true}).weights, without.weights);
}

TEST(Regions, ErrorsNameWhatIsMissing) {
  Choice choice;
  choice.files = {.folder = "/nowhere",
                  .text = "/nowhere/text.gguf",
                  .vad = "/nowhere/vad.bin",
                  .speaker = "/nowhere/speaker.gguf",
                  .drafter = "/nowhere/drafter.gguf"};
  choice.devices.n_threads = 1;
  Regions regions(choice);
  for (int i = 0; i < kRegions; ++i) {
    const auto region = static_cast<Region>(i);
    const auto acquired = regions.acquire(region);
    ASSERT_FALSE(acquired) << name_of(region);
    EXPECT_EQ(acquired.error().code, ErrorCode::not_found) << acquired.error().message;
    EXPECT_NE(acquired.error().message.find("/nowhere"), std::string::npos) << acquired.error().message;
    EXPECT_FALSE(regions.is_acquired(region));
  }
  choice.devices.text = "abacus";
  EXPECT_FALSE(Regions(choice).acquire(Region::text));
}

TEST(Regions, RemarksComeWithTheLoad) {
  const test::TemporaryFolder folder;
  test::write_tiny_model(folder / "tiny.gguf");
  Choice choice = choice_of(folder / "tiny.gguf", false);
  choice.n_ctx = 2 * test::kTinyContext;
  choice.devices.n_gpu_layers = 1;
  std::vector<std::string> remarks;
  Regions regions(choice, [&](const std::string& remark) { remarks.push_back(remark); });
  EXPECT_TRUE(remarks.empty());
  ASSERT_TRUE(regions.text.acquire());
  ASSERT_TRUE(regions.text.acquire());
  EXPECT_EQ(remarks.size(), 2u);  // too long a context; layers of no GPU
}

}  // namespace
}  // namespace parlance
