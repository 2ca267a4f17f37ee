#include "base/os/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace parlance {
namespace {

TEST(Memory, TheMachineHasSome) {
  const MachineMemory memory = machine_memory();
  EXPECT_GT(memory.total, size_t{16} << 20);
  EXPECT_LE(memory.unused, memory.total);
  EXPECT_GT(available_memory(), size_t{1} << 20);
  EXPECT_LE(available_memory(), memory.total);
  EXPECT_LT(last_cache_bytes(), memory.total);
}

TEST(Memory, OwnPagesAreAlignedZeroedAndGivenBack) {
  constexpr size_t kAlignment = size_t{2} << 20, kBytes = (size_t{64} << 20) + 1;
  const size_t before = resident_memory();
  {
    std::optional<OwnPages> pages = OwnPages::map(kBytes, kAlignment);
    ASSERT_TRUE(pages);
    const std::span<std::byte> bytes = pages->bytes();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment, 0u);
    EXPECT_EQ(bytes.size(), size_t{66} << 20);
    EXPECT_EQ(bytes.front(), std::byte{0});
    EXPECT_EQ(bytes.back(), std::byte{0});
    std::ranges::fill(bytes, std::byte{1});
    if (before > 0) {
      EXPECT_GT(resident_memory(), before + (size_t{60} << 20));
    }
    const OwnPages moved = *std::move(pages);
    EXPECT_EQ(moved.bytes().data(), bytes.data());
    EXPECT_TRUE(pages->bytes().empty());
  }
  if (before > 0) {
    EXPECT_LT(resident_memory(), before + (size_t{16} << 20));
  }
}

TEST(Memory, WhatCannotBeMappedIsNone) {
  EXPECT_FALSE(OwnPages::map(std::numeric_limits<size_t>::max(), 4096));
  EXPECT_FALSE(OwnPages::map(std::numeric_limits<size_t>::max() / 2, 4096));
}

}  // namespace
}  // namespace parlance
