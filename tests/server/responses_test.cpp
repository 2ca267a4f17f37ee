// /v1/responses: items and events as recorded, what is kept, and conversations that go on.
#include <random>
#include <regex>

#include "server/response_store.h"
#include "server/responses_input.h"
#include "server/responses_writer.h"
#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "server/support/events.h"
#include "server/support/schema.h"
#include "support/json_file.h"
#include "support/text_model.h"

namespace parlance {
namespace {

using nlohmann::json;

const char* const kResponses = "/v1/responses";

std::string sequence_of(const std::vector<json>& events) {
  std::string all;
  for (const json& event : events) all += "<" + event["type"].get<std::string>() + ">";
  return all;
}

// What the events say that there is in the end.
json output_of(const std::vector<json>& events) {
  return events.back()["response"]["output"];
}

void expect_order(const std::vector<json>& events) {
  const json recorded = test::read_json(test::fixtures_root() / "server/sequences.json");
  EXPECT_TRUE(
      std::regex_match(sequence_of(events), std::regex(recorded["sse"]["responses"].get<std::string>())))
      << sequence_of(events);
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i]["sequence_number"], i);
}

void expect_response(const json& response) {
  const json shapes = test::read_json(test::fixtures_root() / "server/shapes/responses.json");
  EXPECT_EQ(test::breach_of(shapes["$defs"]["response"], response, shapes), "") << response.dump(1);
}

class Responses : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ServerOptions options = test::demo_options();
    for (const char* name : {"anna", "ben"})
      options.gate.keys.push_back(*make_key("a test", std::string(name) + "-0123456789abcdef", name, false));
    server_ = test::start_server(options).release();
  }
  static void TearDownTestSuite() { delete server_; }
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("server");
    ASSERT_TRUE(server_);
  }

  static test::ClientAnswer send(const std::string& method, const std::string& path, const json& body = {},
                                 const std::string& who = "anna") {
    return test::ask(server_->port(), method, path, body.is_null() ? "" : body.dump(),
                     {{"authorization", "Bearer " + who + "-0123456789abcdef"}});
  }
  static json ask(const json& body) {
    const test::ClientAnswer answer = send("POST", kResponses, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  static std::string text_of(const json& response) {
    return response["output"].back()["content"][0]["text"].get<std::string>();
  }
  static void expect_refused(const json& body, const std::string& param, const std::string& code,
                             int status = 400) {
    const test::ClientAnswer answer = send("POST", kResponses, body);
    EXPECT_EQ(answer.status, status) << body.dump();
    const json error = json::parse(answer.body, nullptr, false)["error"];
    EXPECT_EQ(error["param"], param) << answer.body;
    EXPECT_EQ(error["code"], code) << answer.body;
  }

  static Server* server_;
};

Server* Responses::server_ = nullptr;

TEST_F(Responses, AStreamSaysWhatAWholeAnswerSays) {
  for (const int n : {40, 4}) {
    json body = {{"input", "What is nine plus four?"}, {"temperature", 0}, {"max_output_tokens", n}};
    const json whole = ask(body);
    expect_response(whole);
    EXPECT_EQ(whole["status"], n == 4 ? "incomplete" : "completed");
    body["stream"] = true;
    const test::ClientAnswer answer = send("POST", kResponses, body);
    EXPECT_EQ(answer.field("content-type"), "text/event-stream; charset=utf-8");
    const std::vector<json> events = test::events_of(answer.body);
    expect_order(events);
    expect_response(events.back()["response"]);
    EXPECT_EQ(text_of(events.back()["response"]), text_of(whole));
    std::string text;
    for (const json& event : events) {
      if (event["type"] == "response.output_text.delta") text += event["delta"];
    }
    EXPECT_EQ(text, text_of(whole));
    EXPECT_EQ(events.back()["response"]["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
  }
}

TEST_F(Responses, AChatSaysTheSame) {
  const json items = {{{"role", "user"}, {"content", "My name is Anna."}},
                      {{"type", "message"},
                       {"role", "assistant"},
                       {"content", {{{"type", "output_text"}, {"text", "Hello Anna."}}}}},
                      {{"role", "user"}, {"content", {{{"type", "input_text"}, {"text", "Who am I?"}}}}}};
  const json response = ask({{"input", items}, {"instructions", "Be brief."}, {"temperature", 0}});
  const json messages = {{{"role", "system"}, {"content", "Be brief."}},
                         {{"role", "user"}, {"content", "My name is Anna."}},
                         {{"role", "assistant"}, {"content", "Hello Anna."}},
                         {{"role", "user"}, {"content", "Who am I?"}}};
  const json chat =
      json::parse(send("POST", "/v1/chat/completions", {{"messages", messages}, {"temperature", 0}}).body);
  EXPECT_EQ(text_of(response), chat["choices"][0]["message"]["content"]);
  EXPECT_EQ(response["usage"]["input_tokens"], chat["usage"]["prompt_tokens"]);
}

TEST_F(Responses, AConversationGoesOnWhereItWas) {
  const json first = ask({{"input", "My name is Anna."}, {"temperature", 0}});
  const std::string id = first["id"];
  const json second = ask({{"input", "What is my name?"}, {"previous_response_id", id}, {"temperature", 0}});
  EXPECT_NE(text_of(second).find("Anna"), std::string::npos) << text_of(second);
  EXPECT_GT(second["usage"]["input_tokens"], first["usage"]["input_tokens"]);
  // What was computed for the first is not computed again.
  EXPECT_GE(second["usage"]["input_tokens_details"]["cached_tokens"].get<int>() + 2,
            first["usage"]["input_tokens"].get<int>() + first["usage"]["output_tokens"].get<int>() - 1);
  // The same by reference to the items.
  const json third = ask({{"input",
                           {{{"role", "user"}, {"content", "My name is Anna."}},
                            {{"type", "item_reference"}, {"id", first["output"][0]["id"]}},
                            {{"role", "user"}, {"content", "What is my name?"}}}},
                          {"temperature", 0}});
  EXPECT_EQ(text_of(third), text_of(second));
  EXPECT_EQ(third["usage"]["input_tokens"], second["usage"]["input_tokens"]);

  EXPECT_EQ(json::parse(send("GET", kResponses + ("/" + id)).body)["output"], first["output"]);
  EXPECT_EQ(send("GET", kResponses + ("/" + id), {}, "ben").status, 404) << "another key's";
  EXPECT_EQ(send("DELETE", kResponses + ("/" + id), {}, "ben").status, 404);
  EXPECT_EQ(json::parse(send("DELETE", kResponses + ("/" + id)).body)["deleted"], true);
  expect_refused({{"input", "Hi"}, {"previous_response_id", id}}, "previous_response_id",
                 "response_not_found", 404);
  const json unkept = ask({{"input", "Hi"}, {"store", false}, {"max_output_tokens", 1}});
  EXPECT_EQ(send("GET", kResponses + ("/" + unkept["id"].get<std::string>())).status, 404);
}

TEST_F(Responses, OldItemsGoWhereTheContextIsTooSmall) {
  json items = json::array();
  for (int i = 0; i < 60; ++i) {
    items.push_back({{"role", "user"}, {"content", "Tell me something about number " + std::to_string(i)}});
    items.push_back({{"role", "assistant"}, {"content", "It is one more than the number before it."}});
  }
  items.push_back({{"role", "user"}, {"content", "What is two plus two?"}});
  json body = {{"input", items}, {"temperature", 0}, {"max_output_tokens", 8}};
  expect_refused(body, "input", "context_length_exceeded");
  body["truncation"] = "auto";
  const json response = ask(body);
  EXPECT_LT(response["usage"]["input_tokens"], 1024);
  EXPECT_GT(response["usage"]["input_tokens"], 600) << "no more than needed";
}

TEST(ResponsesInput, ResultsGoWithTheirCalls) {
  const auto item = [](const char* type, const char* id) {
    return Json::object({{"type", type}, {"call_id", id}});
  };
  const std::vector<Json> all = {item("function_call", "a"), item("function_call", "b"),
                                 item("function_call_output", "a"), item("function_call_output", "b"),
                                 item("function_call_output", "elsewhere")};
  const auto left_of = [&](size_t n) {
    std::vector<Json> items = all;
    cut_oldest(items, n);
    std::string left;
    for (const Json& one : items) left += *one.member("call_id")->text() + " ";
    return left;
  };
  EXPECT_EQ(left_of(0), "a b a b elsewhere ");
  EXPECT_EQ(left_of(1), "b b elsewhere ");
  EXPECT_EQ(left_of(2), "elsewhere ");
  EXPECT_EQ(left_of(5), "");
}

TEST_F(Responses, TokensAreCountedWithoutAnAnswer) {
  const json body = {{"input", "What is nine plus four?"}, {"temperature", 0}, {"max_output_tokens", 1}};
  const json counted = json::parse(send("POST", "/v1/responses/input_tokens", body).body);
  EXPECT_EQ(counted["object"], "response.input_tokens");
  EXPECT_EQ(counted["input_tokens"], ask(body)["usage"]["input_tokens"]);
  const json chat = {{"messages", {{{"role", "user"}, {"content", "What is nine plus four?"}}}}};
  EXPECT_EQ(json::parse(send("POST", "/v1/chat/completions/input_tokens", chat).body)["input_tokens"],
            counted["input_tokens"]);
}

TEST_F(Responses, ErrorsNameWhatTheClientHasSent) {
  const auto with_input = [](const json& input) { return json{{"input", input}}; };
  expect_refused(json::object(), "input", "missing_required_parameter");
  expect_refused(with_input({5}), "input[0]", "invalid_type");
  expect_refused(with_input({{{"role", "user"}}}), "input[0].content", "missing_required_parameter");
  expect_refused(with_input({{{"type", "computer_call"}}}), "input[0].type", "unsupported_value");
  expect_refused(with_input({{{"type", "item_reference"}, {"id", "msg_x"}}}), "input[0].id", "invalid_value");
  expect_refused(
      with_input({{{"role", "user"}, {"content", {{{"type", "input_image"}, {"image_url", "x"}}}}}}),
      "input[0].content[0]", "unsupported_parameter");
  expect_refused({{"input", "Hi"}, {"tools", {{{"type", "web_search"}}}}}, "tools[0].type",
                 "unsupported_value");
  expect_refused({{"input", "Hi"}, {"text", {{"format", {{"type", "json_schema"}, {"name", "x"}}}}}},
                 "text.format.schema", "missing_required_parameter");
  expect_refused({{"input", "Hi"}, {"reasoning", {{"effort", "much"}}}}, "reasoning.effort", "invalid_value");
}

// ---- Putting into words ----

std::vector<json> events_of_answer(const std::vector<std::string>& pieces, json& whole,
                                   const std::string& reason = "stop") {
  static const auto loaded = test::load_text_model(test::demo_text_file());
  AnswerReaderOptions reading{.family = ToolFamily::hermes, .tools = {{"add", {}}, {"now", {}}}};
  const auto choices_with = [&](const auto& on_piece) {
    Choices choices(1);
    choices[0].reader.emplace(reading);
    for (const std::string& piece : pieces) {
      choices[0].add({.text = piece, .tokens = {}, .logprobs = {}});
      on_piece(choices[0]);
    }
    choices[0].finish(reason);
    return choices;
  };
  const auto nothing = [](const Json&, const std::vector<Json>&) {};
  const Json head = Json::object({{"status", ""}, {"output", Json::array()}});
  ResponsesWriter streaming(head, false, loaded.model->tokenizer(), nothing);
  std::string text = streaming.begin({});
  const auto drain = [&](ChoiceText& choice) {
    while (choice.has_unsent()) text += streaming.next(choice);
  };
  Choices choices = choices_with(drain);
  drain(choices[0]);
  text += streaming.end(choices[0], choices, {});
  text += streaming.finish(choices, {});
  ResponsesWriter at_once(head, false, loaded.model->tokenizer(), nothing);
  whole = json::parse(at_once.whole(choices_with([](ChoiceText&) {}), {}).line());
  return test::events_of(text);
}

// Ids are made anew each time.
json without_ids(json output) {
  for (json& item : output) {
    EXPECT_GT(item["id"].get<std::string>().size(), 20u);
    item.erase("id");
    item.erase("call_id");
  }
  return output;
}

TEST(ResponsesWriter, AnyCutOfAnAnswerGivesTheSameItems) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const std::string answer =
      "<think>\nTwo numbers.\n</think>\n\nI add them – für dich.\n"
      "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": \"x\"}}\n</tool_call>\n"
      "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  json expected;
  expect_order(events_of_answer({answer}, expected));
  expected = without_ids(expected["output"]);
  ASSERT_EQ(expected.size(), 4u) << expected.dump(1);
  EXPECT_EQ(expected[0]["content"][0]["text"], "Two numbers.");
  EXPECT_EQ(expected[1]["content"][0]["text"], "I add them – für dich.");
  EXPECT_EQ(expected[2]["arguments"], "{\"a\": 1, \"b\": \"x\"}");
  EXPECT_EQ(expected[3]["name"], "now");
  const auto expect_same = [&](const std::vector<std::string>& pieces) {
    json whole;
    const std::vector<json> events = events_of_answer(pieces, whole);
    expect_order(events);
    EXPECT_EQ(without_ids(output_of(events)), expected);
    EXPECT_EQ(without_ids(whole["output"]), expected);
  };
  for (size_t at = 1; at < answer.size(); ++at) expect_same({answer.substr(0, at), answer.substr(at)});
  std::vector<std::string> bytes;
  for (const char c : answer) bytes.emplace_back(1, c);
  expect_same(bytes);
}

TEST(ResponsesWriter, AnswersWithoutWordsAndCutOnesAreItemsToo) {
  PARLANCE_REQUIRE_FIXTURES("server");
  json whole;
  std::vector<json> events = events_of_answer({""}, whole);
  expect_order(events);
  EXPECT_EQ(without_ids(output_of(events)), without_ids(whole["output"]));
  EXPECT_EQ(whole["output"][0]["content"][0]["text"], "");
  events = events_of_answer({"<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1"}, whole, "length");
  expect_order(events);
  EXPECT_EQ(events.back()["type"], "response.incomplete");
  EXPECT_EQ(whole["output"][0]["status"], "incomplete");
  EXPECT_EQ(whole["output"][0]["arguments"], "{\"a\": 1");
}

// ---- Keeping ----

TEST(ResponseStore, KeepsNoMoreAndNoLongerThanItMay) {
  const auto response = [](int i, const std::string& owner, size_t n_bytes) {
    return StoredResponse{.id = "resp_" + std::to_string(i),
                          .owner = owner,
                          .response = Json(std::string(n_bytes, 'x')),
                          .items = {Json::object({{"id", "msg_" + std::to_string(i)}})}};
  };
  const ResponseStore::Clock::time_point start{};
  ResponseStore store({.n_most = 3, .n_most_bytes = 1000, .time = std::chrono::seconds(10)});
  for (int i = 0; i < 4; ++i) store.keep(response(i, "anna", 10), start + std::chrono::seconds(i));
  const auto at = start + std::chrono::seconds(4);
  EXPECT_FALSE(store.find("resp_0", "anna", at)) << "the oldest of too many";
  EXPECT_TRUE(store.find("resp_1", "anna", at));
  EXPECT_FALSE(store.find("resp_1", "ben", at));
  EXPECT_TRUE(store.find_item("msg_3", "anna", at));
  EXPECT_FALSE(store.find_item("msg_3", "ben", at));
  EXPECT_TRUE(store.find("resp_1", "anna", start + std::chrono::seconds(11)));
  EXPECT_FALSE(store.find("resp_1", "anna", start + std::chrono::seconds(12))) << "its time is over";
  const auto late = start + std::chrono::seconds(12);
  store.keep(response(5, "anna", 960), late);
  EXPECT_FALSE(store.find("resp_3", "anna", late)) << "too many bytes";
  EXPECT_TRUE(store.find("resp_5", "anna", late));
  store.keep(response(6, "anna", 1000), late);
  EXPECT_FALSE(store.find("resp_6", "anna", late)) << "too large by itself";
  EXPECT_TRUE(store.find("resp_5", "anna", late));
  EXPECT_FALSE(store.remove("resp_5", "ben", late));
  EXPECT_TRUE(store.remove("resp_5", "anna", late));
  EXPECT_EQ(store.n_bytes(), 0u);
  EXPECT_FALSE(store.find_item("msg_5", "anna", late));
}

TEST(ResponseStore, OfItemsThatAreCalledAlikeTheNewestIsMeant) {
  const auto kept = [](const char* id, const char* owner, const char* words) {
    return StoredResponse{.id = id,
                          .owner = owner,
                          .response = Json::object(),
                          .items = {Json::object({{"id", "msg"}, {"words", words}})}};
  };
  ResponseStore store({.n_most = 3});
  const auto words = [&](const char* owner) {
    const auto item = store.find_item("msg", owner);
    return item ? *item->member("words")->text() : "";
  };
  store.keep(kept("resp_1", "anna", "first"));
  store.keep(kept("resp_2", "anna", "second"));
  store.keep(kept("resp_3", "bea", "other"));
  EXPECT_EQ(words("anna"), "second");
  EXPECT_EQ(words("bea"), "other");
  EXPECT_TRUE(store.remove("resp_2", "anna"));
  EXPECT_EQ(words("anna"), "first");
  store.keep(kept("resp_4", "bea", "more"));
  store.keep(kept("resp_5", "bea", "most"));
  EXPECT_EQ(words("anna"), "") << "the oldest of too many";
  EXPECT_EQ(words("bea"), "most");
}

}  // namespace
}  // namespace parlance
