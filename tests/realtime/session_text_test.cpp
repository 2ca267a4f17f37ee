// Conversations in writing.
#include <gtest/gtest.h>

#include "realtime/support/scripted_session.h"

namespace parlance {
namespace {

using test::json;
using test::RealtimeScript;
using test::ScriptedSession;

RealtimeScript in_text(Dialect dialect = Dialect::ga) {
  RealtimeScript script;
  script.dialect = dialect;
  return script;
}

void be_silent(ScriptedSession& s) {
  s.update(R"({"output_modalities":["text"]})", R"({"modalities":["text"]})");
}

TEST(SessionText, OpensWithItsSettings) {
  for (const Dialect dialect : {Dialect::ga, Dialect::beta}) {
    RealtimeScript script;
    script.dialect = dialect;
    script.instructions = "Be brief.";
    ScriptedSession s(script);
    EXPECT_EQ(s.events[0]["session"]["instructions"], "Be brief.");
    s.events.resize(2);
    EXPECT_TRUE(s.matches("opening", 0));
  }
}

// The beginning of all prompts is computed as soon as it is known, and again when it has changed.
TEST(SessionText, ItsBeginningIsWarmed) {
  RealtimeScript script;
  script.instructions = "Be brief.";
  ScriptedSession s(script);
  ASSERT_EQ(s.warmed.size(), 1u);
  EXPECT_EQ(s.warmed[0].when, WhenWarm::some_time);
  EXPECT_EQ(s.warmed[0].chat["messages"], json::parse(R"([{"role":"system","content":"Be brief."}])"));
  s.update(R"({"audio":{"output":{"speed":1.2}}})");
  EXPECT_EQ(s.warmed.size(), 1u) << "that is no part of a prompt";
  s.update(R"({"instructions":"Be kind.","tools":[{"type":"function","name":"f","parameters":{}}]})");
  ASSERT_EQ(s.warmed.size(), 2u);
  EXPECT_EQ(s.warmed[1].chat["messages"][0]["content"], "Be kind.");
  EXPECT_EQ(s.warmed[1].chat["tools"][0]["function"]["name"], "f");
  s.update(R"({"instructions":"Be kind."})");
  EXPECT_EQ(s.warmed.size(), 2u) << "nothing has changed";
}

// Whoever watches is told of every event, under the name that GA has for it.
TEST(SessionText, EventsAreCounted) {
  for (const Dialect dialect : {Dialect::ga, Dialect::beta}) {
    RealtimeScript script;
    script.dialect = dialect;
    ScriptedSession s(script);
    s.create("Hello?");
    s.tell(R"({"type":"response.create"})");
    s.run(4000);
    s.tell(R"({"type":"no such event"})");
    EXPECT_EQ(
        s.n_events_in,
        (std::map<std::string, size_t>{
            {"session.update", 1}, {"conversation.item.create", 1}, {"response.create", 1}, {"other", 1}}));
    size_t n = 0;
    for (const auto& [type, n_sent] : s.n_events_out) n += n_sent;
    EXPECT_EQ(n, s.events.size());
    EXPECT_EQ(s.n_events_out["response.done"], 1u);
    EXPECT_EQ(s.n_events_out["conversation.item.added"], 2u);
    EXPECT_EQ(s.n_events_out["error"], 1u);
  }
}

TEST(SessionText, AnswersInText) {
  for (const Dialect dialect : {Dialect::ga, Dialect::beta}) {
    ScriptedSession s(in_text(dialect));
    be_silent(s);
    const size_t from = s.events.size();
    s.create("Hello");
    s.tell(R"({"type":"response.create","response":{"metadata":{"mine":"1"}}})");
    s.run(200);
    EXPECT_TRUE(s.matches("text item, text answer", from));
    const json response = (*s.last("response.done"))["response"];
    EXPECT_EQ(response["status"], "completed");
    EXPECT_EQ(response["metadata"], json({{"mine", "1"}}));
    EXPECT_EQ(response["usage"]["total_tokens"], 15);
    EXPECT_EQ(response["output"][0]["content"][0]["text"], "Well, that was said. It is fine with me.");
    ASSERT_EQ(s.chats.size(), 1u);
    EXPECT_EQ(s.chats[0]["messages"], json::parse(R"([{"role":"user","content":"Hello"}])"));
  }
}

TEST(SessionText, SpeaksItsAnswer) {
  ScriptedSession s;
  const size_t from = s.events.size();
  s.create("Hello");
  s.tell(R"({"type":"response.create"})");
  s.run(5000);
  EXPECT_TRUE(s.matches("text item, sound answer", from));
  size_t n_bytes = 0;
  for (const json& event : s.events) {
    if (event["type"] != "response.output_audio.delta") continue;
    const size_t n = from_base64(event["delta"].get<std::string>())->size();
    const double ms = static_cast<double>(n) / 48;
    EXPECT_LE(ms, n_bytes < 24000 ? 100 : 400);
    n_bytes += n;
  }
  // Every character of the phrases, at 40 ms.
  const std::string text = "Well, that was said.It is fine with me.";
  EXPECT_EQ(n_bytes, text.size() * 40 * 48);
  EXPECT_EQ((*s.last("response.done"))["response"]["usage"]["output_token_details"]["audio_tokens"],
            static_cast<int64_t>(text.size()));
}

TEST(SessionText, CallsFunctions) {
  RealtimeScript script;
  script.answer = {{ReadPiece::Kind::words, "I look."},
                   {ReadPiece::Kind::call, "weather"},
                   {ReadPiece::Kind::arguments, "{\"city\":"},
                   {ReadPiece::Kind::arguments, "\"Paris\"}"},
                   {ReadPiece::Kind::words, "\n"},
                   {ReadPiece::Kind::call, "time"},
                   {ReadPiece::Kind::arguments, "{}"}};
  ScriptedSession s(script);
  s.update(
      R"({"tools":[{"type":"function","name":"weather","parameters":{"type":"object"}},{"type":"function","name":"time"}],"tool_choice":"required"})");
  for (const char* modality : {"text", "audio"}) {
    s.create("Weather?");
    const size_t from = s.events.size();
    s.tell(std::string(R"({"type":"response.create","response":{"output_modalities":[")") + modality +
           "\"]}}");
    s.run(3000);
    EXPECT_TRUE(s.matches("function call", from));
    const json output = (*s.last("response.done"))["response"]["output"];
    ASSERT_EQ(output.size(), 3u);
    EXPECT_EQ(output[1]["arguments"], R"({"city":"Paris"})");
    EXPECT_EQ(output[2]["name"], "time");
    s.tell(R"({"type":"conversation.item.create","item":{"type":"function_call_output","call_id":")" +
           output[1]["call_id"].get<std::string>() + R"(","output":"rain"}})");
  }
  const json chat = s.chats.back();
  EXPECT_EQ(
      chat["tools"][0],
      json::parse(R"({"type":"function","function":{"name":"weather","parameters":{"type":"object"}}})"));
  EXPECT_EQ(chat["tool_choice"], "required");
  EXPECT_EQ(chat["messages"][1]["content"], "I look.");
  EXPECT_EQ(chat["messages"][1]["tool_calls"].size(), 2u);
  EXPECT_EQ(chat["messages"][2]["role"], "tool");
  EXPECT_EQ(chat["messages"][2]["content"], "rain");

  // One call, where no more are wanted.
  s.update(R"({"parallel_tool_calls":false})");
  s.tell(R"({"type":"response.create","response":{"output_modalities":["text"]}})");
  s.run(500);
  EXPECT_EQ((*s.last("response.done"))["response"]["output"].size(), 2u);
}

TEST(SessionText, AnswersBesideTheConversation) {
  ScriptedSession s;
  s.create("Hello");
  const size_t n_items = s.session->items().all().size();
  const size_t from = s.events.size();
  const char* aside =
      R"({"type":"response.create","response":{"conversation":"none","output_modalities":["text"],"metadata":{"topic":"a"},"instructions":"Classify.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Other"}]}]}})";
  s.tell(aside);
  s.run(300);
  EXPECT_TRUE(s.matches("out of band, text", from));
  EXPECT_EQ(s.session->items().all().size(), n_items);
  EXPECT_EQ(s.chats.back()["messages"],
            json::parse(R"([{"role":"system","content":"Classify."},{"role":"user","content":"Other"}])"));
  EXPECT_TRUE((*s.last("response.done"))["response"]["conversation_id"].is_null());

  // Two beside one in the conversation, and no third.
  s.tell(R"({"type":"response.create"})");
  s.tell(aside);
  s.tell(aside);
  EXPECT_EQ(s.n_of("error"), 0u);
  s.tell(aside);
  EXPECT_EQ(s.n_of("error"), 1u);
  s.tell(R"({"type":"response.create"})");
  EXPECT_EQ((*s.last("error"))["error"]["code"], "conversation_already_has_active_response");
  s.run(5000);
  EXPECT_EQ(s.n_of("response.done"), 4u);
}

TEST(SessionText, ItemsAreReferredTo) {
  ScriptedSession s;
  s.tell(
      R"({"type":"conversation.item.create","item":{"id":"first","type":"message","role":"user","content":[{"type":"input_text","text":"One"}]}})");
  s.create("Two");
  s.tell(
      R"({"type":"response.create","response":{"conversation":"none","output_modalities":["text"],"input":[{"type":"item_reference","id":"first"}]}})");
  s.run(100);
  EXPECT_EQ(s.chats.back()["messages"], json::parse(R"([{"role":"user","content":"One"}])"));
  s.tell(R"({"type":"response.create","response":{"input":[{"type":"item_reference","id":"nobody"}]}})");
  EXPECT_EQ((*s.last("error"))["error"]["code"], "item_not_found");
}

// At every moment of an answer.
TEST(SessionText, IsCancelledAtAnyMoment) {
  for (const char* modality : {"text", "audio"}) {
    for (int at = 0; at < 400; at += 3) {
      ScriptedSession s;
      s.checker.checks_shapes = at % 50 == 0;
      s.update(std::string(R"({"output_modalities":[")") + modality + "\"]}");
      s.create("Hello");
      const size_t from = s.events.size();
      s.tell(R"({"type":"response.create"})");
      s.run(at);
      const bool is_over = s.n_of("response.done") == 1;
      s.tell(R"({"type":"response.cancel"})");
      if (is_over) {
        EXPECT_EQ((*s.last("error"))["error"]["code"], "response_cancel_not_active");
        continue;
      }
      const size_t n_events = s.events.size();
      s.run(500);
      EXPECT_EQ(s.events.size(), n_events) << "nothing follows";
      EXPECT_EQ((*s.last("response.done"))["response"]["status"], "cancelled");
      EXPECT_EQ((*s.last("response.done"))["response"]["status_details"]["reason"], "client_cancelled");
      EXPECT_TRUE((*s.last("response.done"))["response"]["usage"].is_object());
      const bool has_item = s.n_of("response.output_item.added") == 1;
      if (!has_item) s.matches("cancelled before any item", from);
      if (has_item && modality == std::string("audio")) s.matches("cancelled while speaking", from);
      // And it goes on.
      s.tell(R"({"type":"response.create"})");
      s.run(5000);
      EXPECT_EQ((*s.last("response.done"))["response"]["status"], "completed");
    }
  }
}

TEST(SessionText, WhatFailsIsSaidInTheResponse) {
  RealtimeScript script;
  script.answer.clear();
  ScriptedSession s(script);
  s.create("Hello");
  s.tell(R"({"type":"response.create"})");
  s.run(10);
  const json response = (*s.last("response.done"))["response"];
  EXPECT_EQ(response["status"], "failed");
  EXPECT_EQ(response["status_details"]["error"]["message"], "the mind is empty");
  s.script.answer = {{ReadPiece::Kind::words, "Now."}};
  s.tell(R"({"type":"response.create"})");
  s.run(2000);
  EXPECT_EQ((*s.last("response.done"))["response"]["status"], "completed");
}

TEST(SessionText, AnAnswerAtItsLimitIsIncomplete) {
  RealtimeScript script;
  script.is_complete = false;
  ScriptedSession s(script);
  s.update(R"({"output_modalities":["text"],"max_output_tokens":5})");
  s.create("Hello");
  s.tell(R"({"type":"response.create"})");
  s.run(200);
  const json response = (*s.last("response.done"))["response"];
  EXPECT_EQ(response["status"], "incomplete");
  EXPECT_EQ(response["status_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(response["output"][0]["status"], "incomplete");
  EXPECT_EQ(s.chats.back()["max_tokens"], 5);
}

TEST(SessionText, ALongConversationLosesItsBeginning) {
  RealtimeScript script;
  script.n_ctx = 400;  // tokens of four bytes
  script.instructions = "Be brief.";
  ScriptedSession s(script);
  s.update(R"({"output_modalities":["text"]})");
  size_t n_before = 0;
  bool has_cut = false;
  for (int i = 0; i < 20; ++i) {
    s.create("Question number " + std::to_string(i) + " of many, which has some words");
    s.tell(R"({"type":"response.create"})");
    s.run(200);
    ASSERT_EQ((*s.last("response.done"))["response"]["status"], "completed");
    const json& messages = s.chats.back()["messages"];
    EXPECT_LE(s.chats.back().dump().size() / 4, 300u + 10);
    EXPECT_EQ(messages[0]["content"], "Be brief.");
    EXPECT_EQ(messages[1]["role"], "user");
    has_cut = has_cut || messages.size() < n_before;
    n_before = messages.size();
  }
  EXPECT_TRUE(has_cut);
  EXPECT_EQ(s.session->items().all().size(), 40u) << "they stay in the conversation";
  s.update(R"({"truncation":"disabled"})");
  for (int i = 0; i < 20; ++i)
    s.create("Question number " + std::to_string(i) + " of many, which has some words");
  s.tell(R"({"type":"response.create"})");
  s.run(200);
  EXPECT_EQ((*s.last("response.done"))["response"]["status_details"]["error"]["code"],
            "context_length_exceeded");
}

TEST(SessionText, ItemsComeAndGo) {
  ScriptedSession s;
  s.tell(
      R"({"type":"conversation.item.create","item":{"id":"a","type":"message","role":"user","content":[{"type":"input_text","text":"A"}]}})");
  s.tell(
      R"({"type":"conversation.item.create","previous_item_id":"root","item":{"id":"b","type":"message","role":"system","content":[{"type":"input_text","text":"B"}]}})");
  EXPECT_TRUE((*s.last("conversation.item.added"))["previous_item_id"].is_null());
  s.tell(R"({"type":"conversation.item.retrieve","item_id":"a"})");
  EXPECT_EQ((*s.last("conversation.item.retrieved"))["item"]["content"][0]["text"], "A");
  s.tell(R"({"type":"conversation.item.delete","item_id":"a"})");
  EXPECT_EQ((*s.last("conversation.item.deleted"))["item_id"], "a");
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"event_id":"e1","type":"conversation.item.delete","item_id":"a"})", "item_delete_invalid_item_id"},
      {R"({"event_id":"e1","type":"conversation.item.retrieve","item_id":"a"})",
       "item_retrieve_invalid_item_id"},
      {R"({"event_id":"e1","type":"conversation.item.truncate","item_id":"b","audio_end_ms":0})",
       "item_truncate_invalid_item_id"},
      {R"({"event_id":"e1","type":"conversation.item.create","previous_item_id":"a","item":{"type":"function_call_output","call_id":"c","output":"o"}})",
       "item_not_found"},
      {R"({"event_id":"e1","type":"response.cancel"})", "response_cancel_not_active"},
      {R"({"event_id":"e1","type":"input_audio_buffer.commit"})", "input_audio_buffer_commit_empty"},
      {R"({"event_id":"e1","type":"output_audio_buffer.clear"})", "unsupported_event"},
      {R"({"event_id":"e1","type":"transcription_session.update","session":{}})", "unsupported_event"},
      {R"({"event_id":"e1","type":"session.update","session":{"audio":{"output":{"speed":9}}}})",
       "invalid_value"},
      {R"({"event_id":"e1","type":"of another kind"})", "invalid_event"},
  };
  for (const auto& [event, code] : wrong) {
    s.tell(std::string(event));
    EXPECT_EQ((*s.last("error"))["error"]["code"], code) << event;
    EXPECT_EQ((*s.last("error"))["error"]["event_id"], "e1");
  }
  EXPECT_EQ(s.n_of("error"), std::size(wrong));
}

TEST(SessionText, AConversationIsTakenUpAgain) {
  RealtimeScript script;
  script.conversation_id = "conv_abcdefghijklmnopqrstuvwx";
  for (const char* text : {"One", "Two"}) {
    Item item;
    item.id = std::string("item-") + text;
    item.parts = {ItemPart{}};
    item.parts[0].text = text;
    script.items.push_back(item);
  }
  ScriptedSession s(script);
  EXPECT_EQ(s.events[1]["conversation"]["id"], script.conversation_id) << s.log();
  EXPECT_EQ(s.events[2]["type"], "conversation.item.added");
  EXPECT_EQ(s.events[5]["item"]["content"][0]["text"], "Two");
}

TEST(SessionText, WhoReadsSlowlyGetsNoMoreSound) {
  ScriptedSession s;
  s.create("Hello");
  s.tell(R"({"type":"response.create"})");
  s.n_stuck = size_t{2} << 20;
  s.run(1000);
  EXPECT_EQ(s.n_of("response.output_audio.delta"), 0u);
  s.let_go();
  s.run(3000);
  EXPECT_EQ((*s.last("response.done"))["response"]["status"], "completed");
  s.n_stuck = size_t{6} << 20;
  s.create("Hello");
  EXPECT_EQ(s.closed_with, 1008);
}

TEST(SessionText, AServerThatEndsFinishesTheAnswer) {
  ScriptedSession s;
  s.create("Hello");
  s.tell(R"({"type":"response.create"})");
  s.run(30);
  s.session->drain();
  EXPECT_EQ(s.closed_with, 0);
  s.run(3000);
  EXPECT_EQ(s.n_of("response.done"), 1u);
  EXPECT_EQ(s.closed_with, 1001);
}

}  // namespace
}  // namespace parlance
