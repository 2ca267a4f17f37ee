// The table of cache formats: names, sizes, and rows that come back.
#include "quant/kv_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace parlance {
namespace {

constexpr KvFormat kFormats[] = {KvFormat::f32, KvFormat::f16, KvFormat::bf16, KvFormat::q8_0};

TEST(KvFormat, NamesAreFoundAgain) {
  for (const KvFormat format : kFormats) {
    EXPECT_EQ(kv_format_from_name(name_of(format)), format);
    EXPECT_NE(kv_format_names().find(name_of(format)), std::string::npos);
  }
  EXPECT_EQ(kv_format_from_name("q8"), std::nullopt);
  EXPECT_EQ(kv_format_from_name(""), std::nullopt);
  EXPECT_EQ(kv_format_names(), "f32, f16, bf16, q8_0");
}

TEST(KvFormat, RowBytes) {
  EXPECT_EQ(kv_row_bytes(KvFormat::f32, 128), 512u);
  EXPECT_EQ(kv_row_bytes(KvFormat::f16, 128), 256u);
  EXPECT_EQ(kv_row_bytes(KvFormat::bf16, 128), 256u);
  EXPECT_EQ(kv_row_bytes(KvFormat::q8_0, 128), 136u);
}

TEST(KvFormat, RowsComeBack) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  const double relative_error[] = {0, 0x1p-11, 0x1p-8, 0.5 / 127 + 0x1p-10};  // of the largest of 32 values
  for (const KvFormat format : kFormats) {
    std::vector<float> x(128), y(128);
    for (float& value : x) value = normal(random);
    std::vector<std::byte> bytes(kv_row_bytes(format, 128));
    traits(format).encode_row(x.data(), bytes.data(), 128);
    traits(format).decode_row(bytes.data(), y.data(), 128);
    for (size_t i = 0; i < x.size(); ++i) {
      float largest = 0;
      for (size_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j) largest = std::max(largest, std::fabs(x[j]));
      EXPECT_LE(std::fabs(y[i] - x[i]), relative_error[static_cast<size_t>(format)] * largest)
          << name_of(format);
    }
  }
}

}  // namespace
}  // namespace parlance
