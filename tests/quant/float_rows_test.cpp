// Rows of halves against the conversion of one, bit for bit.
#include "quant/float_rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/half.h"

namespace parlance {
namespace {

TEST(FloatRows, EveryHalfIsTheFloatThatItIsAlone) {
  std::vector<f16_bits> halves(0x10000);
  std::iota(halves.begin(), halves.end(), f16_bits{0});
  // From every place of a vector on, and to every end of one.
  for (size_t first = 0; first < 20; ++first) {
    std::vector<float> row(halves.size() - 2 * first, -1);
    std::vector<std::byte> bytes(2 * row.size());
    std::memcpy(bytes.data(), halves.data() + first, bytes.size());
    decode_row_f16(bytes.data(), row.data(), std::ssize(row));
    for (size_t i = 0; i < row.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(row[i]), std::bit_cast<uint32_t>(f32_from_f16(halves[first + i])))
          << halves[first + i];
    }
  }
}

}  // namespace
}  // namespace parlance
