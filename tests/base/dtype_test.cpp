#include "base/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace parlance {
namespace {

struct Row {
  uint32_t id;
  std::string name;
  uint32_t block_elements;
  uint32_t block_bytes;
};

// The types of the format's specification, written down a second time: a slip of one digit there makes every
// tensor after it unreadable.
const std::vector<Row> kSpecified{
    {0, "f32", 1, 4},         {1, "f16", 1, 2},         {2, "q4_0", 32, 18},      {3, "q4_1", 32, 20},
    {6, "q5_0", 32, 22},      {7, "q5_1", 32, 24},      {8, "q8_0", 32, 34},      {9, "q8_1", 32, 36},
    {10, "q2_k", 256, 84},    {11, "q3_k", 256, 110},   {12, "q4_k", 256, 144},   {13, "q5_k", 256, 176},
    {14, "q6_k", 256, 210},   {15, "q8_k", 256, 292},   {16, "iq2_xxs", 256, 66}, {17, "iq2_xs", 256, 74},
    {18, "iq3_xxs", 256, 98}, {19, "iq1_s", 256, 50},   {20, "iq4_nl", 32, 18},   {21, "iq3_s", 256, 110},
    {22, "iq2_s", 256, 82},   {23, "iq4_xs", 256, 136}, {24, "i8", 1, 1},         {25, "i16", 1, 2},
    {26, "i32", 1, 4},        {27, "i64", 1, 8},        {28, "f64", 1, 8},        {29, "iq1_m", 256, 56},
    {30, "bf16", 1, 2},       {34, "tq1_0", 256, 54},   {35, "tq2_0", 256, 66},   {39, "mxfp4", 32, 17},
    {40, "nvfp4", 64, 36},    {41, "q1_0", 128, 18},
};

TEST(DType, TableIsAsSpecified) {
  std::set<uint32_t> assigned;
  for (const Row& row : kSpecified) {
    SCOPED_TRACE(row.name);
    assigned.insert(row.id);
    const std::optional<DType> dtype = dtype_from_id(row.id);
    ASSERT_TRUE(dtype);
    EXPECT_EQ(static_cast<uint32_t>(*dtype), row.id);
    EXPECT_EQ(name_of(*dtype), row.name);
    EXPECT_EQ(traits(*dtype).block_elements, row.block_elements);
    EXPECT_EQ(traits(*dtype).block_bytes, row.block_bytes);
    EXPECT_EQ(dtype_from_name(row.name), dtype);
    EXPECT_EQ(row_bytes(*dtype, 3 * row.block_elements), 3u * row.block_bytes);
    EXPECT_EQ(row_bytes(*dtype, 0), 0u);
  }
  for (uint32_t id = 0; id < 200; ++id) EXPECT_EQ(dtype_from_id(id).has_value(), assigned.contains(id)) << id;
  EXPECT_FALSE(dtype_from_id(~0u));
}

TEST(DType, NamesIgnoreCase) {
  EXPECT_EQ(dtype_from_name("Q4_K"), DType::q4_k);
  EXPECT_EQ(dtype_from_name("BF16"), DType::bf16);
  EXPECT_FALSE(dtype_from_name(""));
  EXPECT_FALSE(dtype_from_name("q4"));
  EXPECT_FALSE(dtype_from_name("q4_k "));
}

// Rows of gigabytes are counted in 64 bits.
TEST(DType, LongRows) {
  EXPECT_EQ(row_bytes(DType::f32, int64_t{1} << 40), size_t{1} << 42);
  EXPECT_EQ(row_bytes(DType::q4_k, int64_t{1} << 40), (size_t{1} << 32) * 144);
}

}  // namespace
}  // namespace parlance
