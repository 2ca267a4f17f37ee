#include "realtime/client_event.h"

#include <gtest/gtest.h>

namespace parlance {
namespace {

std::string code_of(std::string_view text) {
  const auto event = read_client_event(text);
  return event ? "" : event.error().error.code;
}

TEST(ClientEvent, ReadsEveryKind) {
  const auto append =
      read_client_event(R"({"type":"input_audio_buffer.append","event_id":"e1","audio":"AAEC"})");
  ASSERT_TRUE(append);
  EXPECT_EQ(append->id, "e1");
  EXPECT_EQ(std::get<AppendSound>(append->what).bytes, std::string("\0\1\2", 3));
  const auto update = read_client_event(R"({"type":"transcription_session.update","session":{"a":1}})");
  ASSERT_TRUE(update);
  EXPECT_TRUE(std::get<UpdateSession>(update->what).is_transcription);
  const auto create = read_client_event(
      R"({"type":"conversation.item.create","previous_item_id":"root","item":{"id":"mine","type":"message",)"
      R"("role":"user","content":[{"type":"input_text","text":"Hello"}]}})");
  ASSERT_TRUE(create);
  EXPECT_EQ(std::get<CreateItem>(create->what).behind, "root");
  EXPECT_EQ(std::get<CreateItem>(create->what).item.all_text(), "Hello");
  const auto cut = read_client_event(
      R"({"type":"conversation.item.truncate","item_id":"x","content_index":0,"audio_end_ms":12.9})");
  ASSERT_TRUE(cut);
  EXPECT_EQ(std::get<TruncateItem>(cut->what).end_ms, 12);
  const auto reply = read_client_event(R"({"type":"response.create"})");
  ASSERT_TRUE(reply);
  EXPECT_TRUE(std::get<CreateResponse>(reply->what).response.is_object());
  EXPECT_TRUE(read_client_event(R"({"type":"response.cancel","response_id":null})"));
}

TEST(ClientEvent, WhatIsNoneIsToldSo) {
  for (const char* text : {"", "{", "[]", "3", "{}", R"({"type":7})", R"({"type":"response.creat"})",
                           R"({"type":"session.update","type":"session.update","session":{}})"}) {
    EXPECT_EQ(code_of(text), "invalid_event") << text;
  }
  const auto named = read_client_event(R"({"event_id":"mine","type":"nothing"})");
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().event_id, "mine");
  for (
      const char* text : {
          R"({"type":"session.update"})",
          R"({"type":"input_audio_buffer.append"})",
          R"({"type":"input_audio_buffer.append","audio":"A"})",
          R"({"type":"input_audio_buffer.append","audio":"AA AA"})",
          R"({"type":"conversation.item.delete"})",
          R"({"type":"conversation.item.truncate","item_id":"x","audio_end_ms":-1})",
          R"({"type":"conversation.item.truncate","item_id":"x","audio_end_ms":1,"content_index":1})",
          R"({"type":"conversation.item.create","item":{"type":"message","role":"user","content":"text"}})",
          R"({"type":"conversation.item.create","item":{"type":"message","role":"robot","content":[]}})",
          R"({"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_image"}]}})",
          R"({"type":"conversation.item.create","item":{"id":"a b","type":"function_call_output","call_id":"c","output":"o"}})",
      }) {
    EXPECT_EQ(code_of(text), "invalid_value") << text;
  }
}

TEST(Items, StandWhereTheyAreWanted) {
  ItemList list;
  const auto put = [&](const char* id, const std::optional<std::string>& behind) {
    Item item;
    item.id = id;
    return list.insert(item, behind);
  };
  EXPECT_TRUE(put("b", {}));
  EXPECT_TRUE(put("a", "root"));
  EXPECT_TRUE(put("d", {}));
  EXPECT_TRUE(put("c", "b"));
  std::string order;
  for (const Item& item : list.all()) order += item.id;
  EXPECT_EQ(order, "abcd");
  EXPECT_EQ(list.before("a"), std::nullopt);
  EXPECT_EQ(list.before("c"), "b");
  EXPECT_EQ(put("a", {}).error().code, "invalid_value");
  EXPECT_EQ(put("e", "nobody").error().code, "item_not_found");
  EXPECT_TRUE(list.remove("b"));
  EXPECT_FALSE(list.remove("b"));
  EXPECT_EQ(list.before("c"), "a");
}

TEST(Items, AreToldToTheModelAsAChat) {
  const auto item = [](const char* json) { return *read_item(*Json::parse(json), "item"); };
  std::vector<Item> items = {
      item(
          R"({"id":"1","type":"message","role":"user","content":[{"type":"input_text","text":"Weather?"}]})"),
      item(R"({"id":"2","type":"function_call","call_id":"c1","name":"weather","arguments":"{}"})"),
      item(R"({"id":"3","type":"function_call_output","call_id":"c1","output":"rain"})"),
      item(R"({"id":"4","type":"function_call_output","call_id":"nobody's","output":"?"})"),
      item(
          R"({"id":"5","type":"message","role":"assistant","content":[{"type":"output_text","text":"It rains."}]})"),
      item(R"({"id":"6","type":"message","role":"user","content":[{"type":"input_audio","audio":"AAAA"}]})"),
  };
  EXPECT_TRUE(items.back().awaits_text());
  EXPECT_EQ(
      chat_messages_of("Be brief.", items).line(),
      R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Weather?"},)"
      R"({"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]},)"
      R"({"role":"tool","tool_call_id":"c1","content":"rain"},{"role":"assistant","content":"It rains."}])");
  EXPECT_EQ(possible_beginnings(items), (std::vector<size_t>{0, 5}));
  EXPECT_EQ(chat_messages_of("", std::span(items).subspan(2)).line(),
            R"([{"role":"assistant","content":"It rains."}])");
}

}  // namespace
}  // namespace parlance
