#include "base/os/huge_pages.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace parlance
