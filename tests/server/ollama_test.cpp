// /api/…: the shapes recorded of Ollama, and the same answers as chats.
#include "server/ollama_writer.h"
#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "server/support/events.h"
#include "server/support/schema.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;

constexpr const char* kModel = "eliza-1-demo:latest";

class OllamaRoutes : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = test::start_server(test::demo_options()).release(); }
  static void TearDownTestSuite() { delete server_; }
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("server");
    ASSERT_TRUE(server_);
  }

  static test::ClientAnswer send(const std::string& path, const json& body) {
    return test::ask(server_->port(), "POST", path, body.dump());
  }
  static json get(const std::string& path) {
    return json::parse(test::ask(server_->port(), "GET", path).body, nullptr, false);
  }
  static void expect_shape(const std::string& name, const json& value) {
    const json shapes = test::read_json(test::fixtures_root() / "server/shapes/ollama.json");
    EXPECT_EQ(test::breach_of(shapes["$defs"][name], value, shapes), "") << value.dump(1);
  }
  static json question(const std::string& text) {
    return {{"model", kModel},
            {"messages", {{{"role", "user"}, {"content", text}}}},
            {"options", {{"temperature", 0}, {"num_predict", 24}}}};
  }
  static std::string chat_text(const json& messages) {
    const json body = {{"messages", messages}, {"temperature", 0}, {"max_tokens", 24}};
    return json::parse(send("/v1/chat/completions", body).body)["choices"][0]["message"]["content"];
  }

  static Server* server_;
};

Server* OllamaRoutes::server_ = nullptr;

TEST_F(OllamaRoutes, TellWhatThereIs) {
  expect_shape("version", get("/api/version"));
  expect_shape("tags", get("/api/tags"));
  EXPECT_EQ(get("/api/tags")["models"][0]["name"], kModel);
  EXPECT_EQ(get("/api/ps")["models"][0]["name"], kModel);
  for (const json& body : {json{{"model", kModel}}, json{{"name", "eliza-1-demo"}}}) {
    const json shown = json::parse(send("/api/show", body).body);
    EXPECT_EQ(shown["details"]["format"], "gguf");
    EXPECT_EQ(shown["capabilities"][0], "completion");
    EXPECT_FALSE(shown["template"].get<std::string>().empty());
  }
  const test::ClientAnswer unknown = send("/api/show", {{"model", "nobody:latest"}});
  EXPECT_EQ(unknown.status, 404);
  EXPECT_TRUE(json::parse(unknown.body)["error"].is_string()) << unknown.body;
}

TEST_F(OllamaRoutes, AChatIsStreamedInLinesUnlessItSaysOtherwise) {
  json body = question("What is nine plus four?");
  const test::ClientAnswer answer = send("/api/chat", body);
  EXPECT_EQ(answer.field("content-type"), "application/x-ndjson");
  const std::vector<json> lines = test::lines_of(answer.body);
  ASSERT_GE(lines.size(), 2u);
  std::string text;
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    expect_shape("chat_chunk", lines[i]);
    text += lines[i]["message"]["content"];
  }
  expect_shape("chat_last", lines.back());
  EXPECT_EQ(text, chat_text(body["messages"]));
  body["stream"] = false;
  const json whole = json::parse(send("/api/chat", body).body);
  expect_shape("chat_last", whole);
  EXPECT_EQ(whole["message"]["content"], text);
  EXPECT_EQ(whole["eval_count"], lines.back()["eval_count"]);
  body["options"]["num_predict"] = 1;
  EXPECT_EQ(json::parse(send("/api/chat", body).body)["done_reason"], "length");
}

TEST_F(OllamaRoutes, GenerateIsAChatOfOneQuestionOrTheBarePrompt) {
  const json options = {{"temperature", 0}, {"num_predict", 24}};
  json body = {{"prompt", "Hello"}, {"system", "Be kind."}, {"stream", false}, {"options", options}};
  EXPECT_EQ(
      json::parse(send("/api/generate", body).body)["response"],
      chat_text({{{"role", "system"}, {"content", "Be kind."}}, {{"role", "user"}, {"content", "Hello"}}}));
  body["raw"] = true;
  const json completion = json::parse(
      send("/v1/completions", {{"prompt", "Hello"}, {"temperature", 0}, {"max_tokens", 24}}).body);
  EXPECT_EQ(json::parse(send("/api/generate", body).body)["response"], completion["choices"][0]["text"]);
}

TEST_F(OllamaRoutes, WhatARouteDoesNotKnowIsNeverLookedAt) {
  const json options = {{"temperature", 0}, {"num_predict", 8}};
  json body = {{"prompt", "Hello"}, {"stream", false}, {"options", options}};
  const std::string text = json::parse(send("/api/generate", body).body)["response"];
  for (const json& messages :
       {json{{"1", 2}}, json{{{"role", "user"}, {"content", "Bye"}}}, json::array(), json(5)}) {
    body["messages"] = messages;
    const test::ClientAnswer answer = send("/api/generate", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(json::parse(answer.body)["response"], text) << messages;
  }
}

TEST_F(OllamaRoutes, AnAnswerKeepsAFormat) {
  json body = question("Tell me a number");
  body["stream"] = false;
  body["format"] = {{"type", "object"}, {"properties", {{"n", {{"type", "integer"}}}}}, {"required", {"n"}}};
  const json whole = json::parse(send("/api/chat", body).body);
  EXPECT_TRUE(json::parse(whole["message"]["content"].get<std::string>())["n"].is_number_integer());
}

TEST_F(OllamaRoutes, NoQuestionAsksWhetherTheModelIsThere) {
  for (const json& body : {json{{"model", kModel}, {"messages", json::array()}}, json{{"model", kModel}}}) {
    const json answer = json::parse(send("/api/chat", body).body);
    expect_shape("chat_last", answer);
    EXPECT_EQ(answer["done_reason"], "load");
  }
  EXPECT_EQ(json::parse(send("/api/generate", {{"model", kModel}}).body)["done_reason"], "load");
  EXPECT_EQ(send("/api/chat", {{"model", "nobody"}}).status, 404);
}

TEST_F(OllamaRoutes, ErrorsAreTextsThatNameTheField) {
  const auto expect_error = [](const test::ClientAnswer& answer, int status, const std::string& words) {
    EXPECT_EQ(answer.status, status) << answer.body;
    const json error = json::parse(answer.body, nullptr, false)["error"];
    ASSERT_TRUE(error.is_string()) << answer.body;
    EXPECT_NE(error.get<std::string>().find(words), std::string::npos) << error;
  };
  json with_image = question("x");
  with_image["messages"][0]["images"] = {"aaaa"};
  expect_error(send("/api/chat", with_image), 400, "messages[0].images");
  expect_error(send("/api/chat", {{"messages", 5}}), 400, "messages");
  expect_error(send("/api/chat", {{"messages", {5}}}), 400, "messages[0]");
  json wrong = question("x");
  wrong["options"]["temperature"] = 7;
  expect_error(send("/api/chat", wrong), 400, "options.temperature");
  expect_error(send("/api/generate", {{"prompt", "x"}, {"suffix", "y"}}), 400, "suffix");
  wrong = question("Hi");
  wrong["options"]["num_predict"] = 1 << 30;
  expect_error(send("/api/chat", wrong), 400, "options.num_predict must");
  wrong = question("Hi");
  wrong["think"] = "much";
  expect_error(send("/api/chat", wrong), 400, "think must");
  wrong = question("Hi");
  wrong["format"] = 5;
  expect_error(send("/api/chat", wrong), 400, "format must");
  expect_error(send("/api/pull", {{"model", "x"}}), 404, "not offer");
  expect_error(test::ask(server_->port(), "GET", "/api/chat"), 405, "POST");
}

// A call comes whole, in the order in which it was said.
TEST(OllamaWriter, CallsComeWhole) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const std::string answer =
      "Let me see.\n<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>\n"
      "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2}}\n</tool_call>";
  for (size_t at = 0; at <= answer.size(); ++at) {
    SCOPED_TRACE(at);
    Choices choices(1);
    choices[0].reader.emplace(AnswerReaderOptions{.family = ToolFamily::hermes, .tools = {{"add", {}}}});
    OllamaWriter writer("m", /*is_chat=*/true);
    std::string text;
    for (const std::string& piece : {answer.substr(0, at), answer.substr(at)}) {
      choices[0].add({.text = piece, .tokens = {}, .logprobs = {}});
      while (choices[0].has_unsent()) text += writer.next(choices[0]);
    }
    choices[0].finish("stop");
    while (choices[0].has_unsent()) text += writer.next(choices[0]);
    text += writer.end(choices[0], choices, {});
    text += writer.finish(choices, {});
    std::string words;
    json calls = json::array();
    for (const json& line : test::lines_of(text)) {
      words += line["message"]["content"];
      for (const json& call : line["message"].value("tool_calls", json::array()))
        calls.push_back(call["function"]);
    }
    EXPECT_EQ(words, "Let me see.");
    EXPECT_EQ(calls,
              json::parse(R"([{"name":"add","arguments":{"a":1}},{"name":"add","arguments":{"a":2}}])"));
  }
}

}  // namespace
}  // namespace parlance
