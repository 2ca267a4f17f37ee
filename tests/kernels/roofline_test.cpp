#include "kernels/cpu/roofline.h"

#include <algorithm>
#include <memory>

#include "kernels/cpu/roofline_loops.h"
#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(Roofline, ReadsEveryByte) {
  constexpr size_t kBytes = 4096;
  struct alignas(64) Data {
    std::byte bytes[kBytes] = {};
  };
  const auto data = std::make_unique<Data>();
  for (const Isa isa : available_isas()) {
    const auto read = roofline_loops(isa).read;
    std::fill_n(data->bytes, kBytes, std::byte{0});
    EXPECT_EQ(read(data->bytes, kBytes), 0u) << name_of(isa);
    for (const size_t changed : {size_t{0}, size_t{63}, size_t{64}, size_t{511}, size_t{512}, kBytes - 1}) {
      data->bytes[changed] = std::byte{1};
      EXPECT_NE(read(data->bytes, kBytes), 0u) << name_of(isa) << " byte " << changed;
      data->bytes[changed] = std::byte{0};
    }
  }
}

// Chains of products whose sums are known: n rounds of the int8 loop add a multiple of n.
TEST(Roofline, ComputesWhatItCounts) {
  for (const Isa isa : available_isas()) {
    const RooflineLoops& loops = roofline_loops(isa);
    const float once = loops.int8.run(1), often = loops.int8.run(1000);
    EXPECT_GT(once, 0) << name_of(isa);
    EXPECT_EQ(often, 1000 * once) << name_of(isa);
    EXPECT_GT(loops.f32.run(10), 0) << name_of(isa);
    for (const RooflineLoops::Products& products : {loops.int16, loops.bf16}) {
      EXPECT_EQ(products.run != nullptr, products.ops_per_round > 0) << name_of(isa);
      if (!products.run) continue;
      EXPECT_EQ(products.run(100), 100 * products.run(1)) << name_of(isa);
    }
  }
}

TEST(Roofline, MeasuresRates) {
  const Isa isa = available_isas().back();
  const Roofline roofline = measure_roofline(isa, 2);
  EXPECT_GT(roofline.read_bytes_per_second, 1e6);
  EXPECT_GT(roofline.f32_ops_per_second, 1e6);
  EXPECT_GT(roofline.int8_ops_per_second, 1e6);
  EXPECT_EQ(roofline.int16_ops_per_second > 0, roofline_loops(isa).int16.run != nullptr);
  EXPECT_EQ(roofline.bf16_ops_per_second > 0, roofline_loops(isa).bf16.run != nullptr);
}

}  // namespace
}  // namespace parlance
