#include "support/json_file.h"
#include "tts/philox.h"

#include "support/fixtures.h"

namespace parlance {
namespace {

TEST(Philox, RecordedBlocks) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/rng");
  const auto recorded = test::read_json(test::fixtures_root() / "omnivoice/rng/philox.json");
  for (const auto& block : recorded["raw"]) {
    EXPECT_EQ(philox_4x32(block["ctr"].get<PhiloxWords>(), block["key"].get<std::array<uint32_t, 2>>()),
              block["out"].get<PhiloxWords>());
  }
}

TEST(Philox, RecordedUniformNumbers) {
  PARLANCE_REQUIRE_FIXTURES("omnivoice/rng");
  const auto recorded = test::read_json(test::fixtures_root() / "omnivoice/rng/philox.json");
  for (const auto& call : recorded["uniform"]) {
    uint64_t element = 0;
    for (const float u : call["u"].get<std::vector<float>>()) {
      EXPECT_EQ(philox_uniform(call["seed"].get<uint64_t>(), call["ctr_lo"].get<uint64_t>(), element++), u);
    }
  }
}

TEST(Philox, ElementsBeyondFourThousandMillionDiffer) {
  EXPECT_NE(philox_uniform(1, 0, 3), philox_uniform(1, 0, 3 + (uint64_t{1} << 32)));
}

}  // namespace
}  // namespace parlance
