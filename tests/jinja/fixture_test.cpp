// Templates with recorded output: one construct each (jinja.json).
#include "jinja/template.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

// The moment that the recorded outputs were made at: 26 July 2024, noon.
constexpr int64_t kRecordedAt = 1721995200;

TEST(JinjaFixture, EveryTemplateRendersAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("text/jinja.json");
  for (const auto& path : test::fixture_files("text", ".json")) {
    if (path.filename().string().find("jinja") != 0) continue;
    for (const auto& record : nlohmann::ordered_json::parse(test::read_text(path))) {
      SCOPED_TRACE(path.filename().string() + ": " + record.at("name").get<std::string>());
      const auto parsed = ChatTemplate::parse(record.at("template").get<std::string>());
      const auto text = parsed ? parsed->render(record.at("vars").dump(), kRecordedAt)
                               : tl::unexpected<Error>(parsed.error());
      if (record.contains("error")) {
        ASSERT_FALSE(text.has_value()) << *text;
        EXPECT_NE(text.error().message.find(record.at("error").get<std::string>()), std::string::npos)
            << text.error().message;
      } else {
        ASSERT_TRUE(text.has_value()) << text.error().message;
        EXPECT_EQ(*text, record.at("text").get<std::string>());
      }
    }
  }
}

}  // namespace
}  // namespace parlance
