// What fixtures that are none are answered with: one line that names the file and the field.
#include "verify/fixture.h"
#include "support/json_file.h"

#include "support/fixtures.h"
#include "support/temporary_folder.h"

namespace parlance::verify {
namespace {

using nlohmann::json;

json score_file() {
  json one = {{"op", "ATTN_SCORE_TBQ"},
              {"k_type", "tbq3_0"},
              {"n_heads", 1},
              {"n_kv_heads", 1},
              {"n_kv", 1},
              {"n_batch", 1},
              {"k", std::string(4 * 14 * 2, '0')}};
  one["q"] = json::array({std::vector<float>(128, 1.0f)});
  one["expected_scores"] = json::array({{0.0f}});
  return {{"schema", "kv-score-1"}, {"cases", json::array({one})}};
}

void expect_error(const std::string& text, std::initializer_list<std::string> words) {
  const auto fixture = parse_fixture("a.json", text);
  ASSERT_FALSE(fixture) << text;
  EXPECT_TRUE(fixture.error().message.starts_with("a.json: ")) << fixture.error().message;
  for (const std::string& word : words) {
    EXPECT_NE(fixture.error().message.find(word), std::string::npos)
        << "no '" << word << "' in: " << fixture.error().message;
  }
}

TEST(VerifyFixture, ReadsACase) {
  const auto fixture = parse_fixture("a.json", score_file().dump());
  ASSERT_TRUE(fixture) << fixture.error().message;
  ASSERT_EQ(fixture->scores.size(), 1u);
  EXPECT_EQ(fixture->scores[0].k.format, KvFormat::tbq3_0);
  EXPECT_EQ(fixture->scores[0].k.bytes.size(), 56u);
}

TEST(VerifyFixture, NamesTheFieldThatIsWrong) {
  const auto with = [](const char* key, const json& value) {
    json file = score_file();
    file["cases"][0][key] = value;
    return file.dump();
  };
  expect_error(with("n_kv", -1), {"cases[0].n_kv", "whole number"});
  expect_error(with("n_kv", 1.5), {"cases[0].n_kv"});
  expect_error(with("n_kv", 18446744073709551615u), {"cases[0].n_kv"});
  expect_error(with("n_kv", 1000000), {"cases[0].k", "bytes"});
  expect_error(with("n_heads", "two"), {"cases[0].n_heads"});
  expect_error(with("n_kv_heads", 2), {"cases[0].n_heads", "multiple of 2"});
  expect_error(with("k", "0"), {"cases[0].k", "56 bytes"});
  expect_error(with("k", std::string(112, 'x')), {"cases[0].k"});
  expect_error(with("k", std::vector<int>(56, 256)), {"cases[0].k"});
  expect_error(with("q", json::array({1, 2, 3})), {"cases[0].q", "128 finite numbers"});
  expect_error(with("q", json::array({json::array({json::array({json::array({1})})})})), {"cases[0].q"});
  expect_error(with("k_type", "turbo9"), {"cases[0].k_type", "turbo9", "tbq3_tcq"});
  expect_error(with("k_type", "q8_0"), {"cases[0].op"});
  expect_error(with("op", json()), {"cases[0].op"});
  expect_error(with("expected_scores", json::array({nullptr})), {"cases[0].expected_scores"});
}

TEST(VerifyFixture, RefusesWhatIsNone) {
  expect_error("", {"JSON"});
  expect_error("[1, 2", {"JSON"});
  expect_error("[]", {"object"});
  expect_error("{}", {"schema"});
  expect_error(R"({"schema": "kv-score-9"})", {"schema", "kv-score-9"});
  expect_error(R"({"schema": "kv-score-1"})", {"cases"});
  expect_error(R"({"schema": "kv-score-1", "cases": [7]})", {"cases[0]", "object"});
  expect_error(R"({"schema": "kv-rows-1", "format": "verify_turbo9", "rows": []})", {"format"});
  expect_error(R"({"kernel": "turbo9"})", {"kernel", "turbo9"});
  expect_error(std::string(100000, '['), {"JSON"});
  expect_error("{\"schema\": \"\x01\xff\"}", {"a.json"});
}

TEST(VerifyFixture, LeavesOutFormatsThatAreNone) {
  const auto fixture = parse_fixture("a.json", R"({"schema": "kv-rows-1", "format": "tbq3_k", "rows": []})");
  ASSERT_TRUE(fixture) << fixture.error().message;
  EXPECT_NE(fixture->left_out.find("tbq3_k"), std::string::npos);
}

TEST(VerifyFixture, FoldersWithoutFixturesAreErrors) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(read_fixtures(folder / "absent"));
  const auto empty = read_fixtures(folder.path());
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().message.find("no fixture"), std::string::npos);
}

}  // namespace
}  // namespace parlance::verify
