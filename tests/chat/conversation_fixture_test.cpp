// Conversations as published templates rendered them (chat.json), against templates of our own that do the
// same.
#include "chat/own_templates.h"
#include "jinja/template.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

constexpr int64_t kRecordedAt = 1721995200;  // 26 July 2024, noon

// Plain text in the three common roles; our templates know no tools.
bool is_plain(const nlohmann::ordered_json& variables) {
  if (variables.contains("tools")) return false;
  for (const auto& message : variables.at("messages")) {
    const std::string role = message.at("role");
    if (message.size() != 2 || !message.at("content").is_string()) return false;
    if (role != "system" && role != "user" && role != "assistant") return false;
  }
  return true;
}

TEST(ConversationFixture, OwnTemplatesRenderPlainConversationsAsRecorded) {
  PARLANCE_REQUIRE_FIXTURES("text/chat.json");
  size_t n_compared = 0;
  for (const auto& path : test::fixture_files("text", ".json")) {
    if (path.filename().string().find("chat") != 0) continue;
    for (const auto& record : nlohmann::ordered_json::parse(test::read_text(path))) {
      const auto own = test::own_templates().find(record.at("family"));
      if (own == test::own_templates().end() || !is_plain(record.at("vars"))) continue;
      SCOPED_TRACE(record.at("family").get<std::string>() + ", " + record.at("name").get<std::string>());
      const auto chat_template = ChatTemplate::parse(own->second);
      ASSERT_TRUE(chat_template.has_value()) << chat_template.error().message;
      const auto text = chat_template->render(record.at("vars").dump(), kRecordedAt);
      ++n_compared;
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
  EXPECT_GT(n_compared, 0u);
}

}  // namespace
}  // namespace parlance
