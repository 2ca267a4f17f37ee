#include "base/os/huge_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/os/file.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

constexpr size_t kBytes = (size_t{40} << 20) + 12345;

uint32_t word_at(size_t i) {
  return static_cast<uint32_t>(i) * 2654435761u;
}

std::filesystem::path write_words(const test::TemporaryFolder& folder) {
  const std::filesystem::path path = folder.path() / "words";
  std::ofstream file(path, std::ios::binary);
  for (size_t i = 0; i < kBytes / sizeof(uint32_t); ++i) {
    const uint32_t word = word_at(i);
    file.write(reinterpret_cast<const char*>(&word), sizeof word);
  }
  file.write("end", 3);
  return path;
}

size_t count_wrong_words(std::span<const std::byte> bytes) {
  size_t n_wrong = 0;
  for (size_t i = 0; i < bytes.size() / sizeof(uint32_t); ++i) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
    n_wrong += word != word_at(i);
  }
  return n_wrong;
}

// A reader that never pauses sees the same bytes before, during and after.
TEST(HugePageMove, ReadersSeeTheSameBytes) {
  const test::TemporaryFolder folder;
  auto file = MappedFile::open(write_words(folder));
  ASSERT_TRUE(file) << file.error().message;
  std::atomic<bool> is_moved{false};
  size_t n_wrong = 0, n_passes = 0;
  std::thread reader([&] {
    do {
      n_wrong += count_wrong_words(file->bytes());
      ++n_passes;
    } while (!is_moved);
  });
  {
    HugePageMove move(file->bytes());
    move.wait();
    is_moved = true;
    if (move.bytes_moved() == 0) GTEST_LOG_(INFO) << "this system has no huge pages or too little memory";
  }
  reader.join();
  n_wrong += count_wrong_words(file->bytes());
  EXPECT_EQ(n_wrong, 0u) << "in " << n_passes << " passes";
  EXPECT_EQ(std::memcmp(file->bytes().data() + file->bytes().size() - 3, "end", 3), 0);
}

TEST(HugePageMove, CanEndBeforeItIsDone) {
  const test::TemporaryFolder folder;
  auto file = MappedFile::open(write_words(folder));
  ASSERT_TRUE(file) << file.error().message;
  { const HugePageMove move(file->bytes()); }
  EXPECT_EQ(count_wrong_words(file->bytes()), 0u);
}

TEST(HugePageMove, LeavesWhatFillsNoHugePage) {
  alignas(4096) static const std::byte bytes[4096] = {};
  HugePageMove move(bytes);
  move.wait();
  EXPECT_EQ(move.bytes_moved(), 0u);
}

// Stretches that somebody copies are read once and stay as they are; the others move.
TEST(HugePageMove, CopiesWhatSomebodyWantsInAnotherOrder) {
  const test::TemporaryFolder folder;
  auto file = MappedFile::open(write_words(folder));
  ASSERT_TRUE(file) << file.error().message;
  const auto bytes = file->bytes();
  constexpr size_t kMiB = size_t{1} << 20;
  std::vector<std::span<std::byte>> made;
  std::vector<std::shared_ptr<const OwnPages>> allocations;
  std::vector<OwnCopy> copies;
  // In any order, next to each other, and longer than what is copied.
  for (const auto& [first, n] :
       {std::pair{20 * kMiB, 5 * kMiB}, {3 * kMiB, 100}, {25 * kMiB, 7 * kMiB + 4}}) {
    const auto stretch = bytes.subspan(first, n);
    copies.push_back(
        {stretch, n + 3, [&, stretch](std::span<std::byte> memory, auto allocation, const auto&) {
           EXPECT_EQ(memory.size(), stretch.size() + 3);
           EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
           std::ranges::reverse_copy(stretch, memory.begin());
           made.push_back(memory);
           allocations.push_back(std::move(allocation));
         }});
  }
  {
    HugePageMove move(bytes, std::move(copies));
    move.wait();
    if (made.empty()) GTEST_SKIP() << "this system has no huge pages or too little memory";
    EXPECT_LE(move.bytes_moved(), bytes.size() - 12 * kMiB);
    EXPECT_GE(move.bytes_moved(), 20 * kMiB);
  }
  EXPECT_EQ(count_wrong_words(bytes), 0u);
  ASSERT_EQ(made.size(), 3u);
  for (size_t i = 0; i < made.size(); ++i) {
    const auto stretch = bytes.subspan(std::array{3 * kMiB, 20 * kMiB, 25 * kMiB}[i], made[i].size() - 3);
    EXPECT_TRUE(std::equal(stretch.rbegin(), stretch.rend(), made[i].begin())) << i;
    EXPECT_EQ(std::ranges::count(made[i].last(3), std::byte{0}), 3);
  }
}

}  // namespace
}  // namespace parlance
