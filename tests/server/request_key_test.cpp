// Keys of requests and the slots that they name, against recorded ones.
#include "server/request_key.h"

#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;

TEST(RequestKey, IsTheFirstThatIsGiven) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const json recorded = test::read_json(test::fixtures_root() / "server/affinity.json");
  for (const json& one : recorded["keys"]) {
    SCOPED_TRACE(one.dump());
    HttpRequest request;
    for (const auto& [name, value] : one["headers"].items()) request.fields.push_back({name, value});
    const auto key = request_key(request, Body(*Json::parse(one["body"].dump())));
    const std::string wanted = one["key"].is_null() ? "" : one["key"].get<std::string>();
    if (wanted == "error") {
      EXPECT_FALSE(key);
    } else {
      ASSERT_TRUE(key) << key.error().message;
      EXPECT_EQ(key->key, wanted);
    }
  }
}

TEST(RequestKey, SlotsAndPrefixHashesAreThoseOfTheClients) {
  PARLANCE_REQUIRE_FIXTURES("precache-vectors.json");
  const json vectors = test::read_json(test::fixtures_root() / "precache-vectors.json");
  for (const json& one : vectors["deriveSlotId"]) {
    const double n_slots = one["parallel"].is_number() ? one["parallel"].get<double>() : 0;
    EXPECT_EQ(slot_of(one["key"].get<std::string>(), n_slots), one["slot"]) << one.dump();
  }
  for (const json& one : vectors["hashStablePrefix"]) {
    const std::string wanted = one["hash"].is_null() ? "" : one["hash"].get<std::string>();
    EXPECT_EQ(stable_prefix_hash(*Json::parse(one["segments"].dump())), wanted) << one.dump();
  }
}

}  // namespace
}  // namespace parlance
