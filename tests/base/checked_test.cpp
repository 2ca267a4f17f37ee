#include "base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace parlance {
namespace {

constexpr uint64_t kMaxU64 = std::numeric_limits<uint64_t>::max();
constexpr int64_t kMaxI64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinI64 = std::numeric_limits<int64_t>::min();

TEST(Checked, Add) {
  EXPECT_EQ(checked_add<uint64_t>(kMaxU64 - 1, 1), kMaxU64);
  EXPECT_EQ(checked_add<uint64_t>(kMaxU64, 1), std::nullopt);
  EXPECT_EQ(checked_add<int64_t>(kMaxI64, 1), std::nullopt);
  EXPECT_EQ(checked_add<int64_t>(kMinI64, -1), std::nullopt);
  EXPECT_EQ(checked_add<int64_t>(kMinI64, kMaxI64), -1);
}

TEST(Checked, Multiply) {
  EXPECT_EQ(checked_mul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 31), uint64_t{1} << 63);
  EXPECT_EQ(checked_mul<uint64_t>(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(checked_mul<uint64_t>(kMaxU64, 0), 0u);
  EXPECT_EQ(checked_mul<int64_t>(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_mul<int64_t>(kMinI64, -1), std::nullopt);
  EXPECT_EQ(checked_mul<uint32_t>(65536, 65535), 0xffff0000u);
  EXPECT_EQ(checked_mul<uint32_t>(65536, 65536), std::nullopt);
}

TEST(Checked, AlignUp) {
  EXPECT_EQ(checked_align_up<uint64_t>(0, 32), 0u);
  EXPECT_EQ(checked_align_up<uint64_t>(1, 32), 32u);
  EXPECT_EQ(checked_align_up<uint64_t>(32, 32), 32u);
  EXPECT_EQ(checked_align_up<uint64_t>(33, 1), 33u);
  EXPECT_EQ(checked_align_up<uint64_t>(kMaxU64 - 31, 32), kMaxU64 - 31);
  EXPECT_EQ(checked_align_up<uint64_t>(kMaxU64 - 30, 32), std::nullopt);
  EXPECT_EQ(checked_align_up<uint64_t>(kMaxU64, 1), kMaxU64);
}

TEST(Checked, SmallSizes) {
  EXPECT_EQ(align_up(0, 7), 0);
  EXPECT_EQ(align_up(1, 7), 7);
  EXPECT_EQ(align_up(14, 7), 14);
  EXPECT_EQ(div_up(0, 4), 0);
  EXPECT_EQ(div_up(1, 4), 1);
  EXPECT_EQ(div_up(8, 4), 2);
  EXPECT_EQ(div_up(9, 4), 3);
}

}  // namespace
}  // namespace parlance
