// Tools in chats: calls that must be made, schemas that must be kept.
#include "chat/answer_reader.h"
#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;

const char* const kChatPath = "/v1/chat/completions";

json tool(const std::string& name, const json& parameters, bool is_strict = false) {
  return {{"type", "function"},
          {"function", {{"name", name}, {"parameters", parameters}, {"strict", is_strict}}}};
}

const json kLamp = {
    {"type", "object"},
    {"properties",
     {{"room", {{"enum", {"kitchen", "hall"}}}}, {"level", {{"type", "integer"}, {"maximum", 99}}}}},
    {"required", {"room", "level"}}};
const json kOdd = {{"type", "object"},
                   {"properties", {{"list", {{"type", "array"}, {"uniqueItems", true}}}}}};

class ServerTools : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = test::start_server(test::demo_options()).release(); }
  static void TearDownTestSuite() { delete server_; }
  void SetUp() override { ASSERT_TRUE(server_); }

  static json chat(const json& tools, const json& choice, int seed = 1) {
    return {{"messages", {{{"role", "user"}, {"content", "Switch on the light in the hall."}}}},
            {"tools", tools},
            {"tool_choice", choice},
            {"temperature", 1.5},
            {"seed", seed},
            {"max_tokens", 120}};
  }
  static test::ClientAnswer post(const json& body) {
    return test::ask(server_->port(), "POST", kChatPath, body.dump());
  }
  static json ask(const json& body, int status = 200) {
    const test::ClientAnswer answer = post(body);
    EXPECT_EQ(answer.status, status) << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  static void expect_lamp(const json& call) {
    EXPECT_EQ(call["function"]["name"], "lamp");
    const json arguments = json::parse(call["function"]["arguments"].get<std::string>(), nullptr, false);
    ASSERT_TRUE(arguments.is_object()) << call;
    EXPECT_TRUE(arguments["room"] == "kitchen" || arguments["room"] == "hall") << call;
    EXPECT_TRUE(arguments["level"].is_number_integer() && arguments["level"] <= 99) << call;
    EXPECT_EQ(arguments.size(), 2u);
  }

  static Server* server_;
};

Server* ServerTools::server_ = nullptr;

TEST_F(ServerTools, ACallThatMustBeMadeIsMade) {
  const json tools = {tool("lamp", kLamp), tool("now", json::object())};
  for (int seed = 0; seed < 6; ++seed) {
    json body = chat(tools, "required", seed);
    body["parallel_tool_calls"] = false;
    const json choice = ask(body)["choices"][0];
    EXPECT_EQ(choice["finish_reason"], "tool_calls");
    EXPECT_TRUE(choice["message"]["content"].is_null());
    ASSERT_EQ(choice["message"]["tool_calls"].size(), 1u) << choice;
    const json& call = choice["message"]["tool_calls"][0];
    if (call["function"]["name"] == "lamp") {
      expect_lamp(call);
    } else {
      EXPECT_EQ(call["function"]["name"], "now");
      EXPECT_EQ(call["function"]["arguments"], "{}");
    }
  }
}

TEST_F(ServerTools, OneThatIsNamedOrAllowedIsTheOneThatIsCalled) {
  const json tools = {tool("now", json::object()), tool("lamp", kLamp), tool("then", json::object())};
  const json named = {{"type", "function"}, {"function", {{"name", "lamp"}}}};
  const json allowed = {{"type", "allowed_tools"},
                        {"allowed_tools", {{"mode", "required"}, {"tools", {named}}}}};
  for (const json& choice : {named, allowed}) {
    for (int seed = 0; seed < 3; ++seed) {
      const json message = ask(chat(tools, choice, seed))["choices"][0]["message"];
      ASSERT_GE(message["tool_calls"].size(), 1u);
      if (choice == named) {
        EXPECT_EQ(message["tool_calls"].size(), 1u);
      }
      for (const json& call : message["tool_calls"]) {
        // The last one may have been cut by max_tokens.
        if (call != message["tool_calls"].back() || choice == named) expect_lamp(call);
      }
    }
  }
  const json none = {{"type", "allowed_tools"}, {"allowed_tools", {{"tools", {{{"type", "function"}}}}}}};
  EXPECT_EQ(ask(chat(tools, none), 400)["error"]["param"], "tool_choice");
}

TEST_F(ServerTools, StreamedCallsAreTheWholeOnes) {
  json body = chat(json::array({tool("lamp", kLamp)}), "required", 3);
  body["parallel_tool_calls"] = false;
  const json whole = ask(body)["choices"][0]["message"]["tool_calls"][0]["function"];
  body["stream"] = true;
  const std::string text = post(body).body;
  std::string name, arguments;
  for (size_t at = 0; (at = text.find("data: {", at)) != std::string::npos; at += 6) {
    const json event = json::parse(text.substr(at + 6, text.find('\n', at) - at - 6));
    for (const json& call : event["choices"][0]["delta"].value("tool_calls", json::array())) {
      name += call["function"].value("name", "");
      arguments += call["function"].value("arguments", "");
    }
  }
  EXPECT_EQ(name, whole["name"]);
  EXPECT_EQ(arguments, whole["arguments"]);
}

TEST_F(ServerTools, ASchemaThatCannotBeKeptIsGivenUpOrRefused) {
  const test::ClientAnswer loose = post(chat(json::array({tool("odd", kOdd)}), "required"));
  EXPECT_EQ(loose.status, 200) << loose.body;
  EXPECT_NE(loose.field("x-parlance-note").find("odd"), std::string::npos);
  const json error = ask(chat(json::array({tool("odd", kOdd, true)}), "auto"), 400)["error"];
  EXPECT_EQ(error["code"], "unsupported_schema");
  EXPECT_EQ(error["param"], "/properties/list/uniqueItems");
}

int n_compiled(uint16_t port) {
  const std::string text = test::ask(port, "GET", "/metrics").body;
  const std::string name = "parlance_grammar_compiles_total{result=\"ok\"} ";
  return std::stoi(text.substr(text.find(name) + name.size()));
}

// A call that nobody asked for is one of those that there are, or none.
TEST_F(ServerTools, CallsThatNeedNotBeMadeAreHeldToTheTools) {
  ServerOptions options = test::demo_options();
  options.has_tool_grammar = false;
  const auto free = test::start_server(options);
  ASSERT_TRUE(free);
  json body = chat(json::array({tool("lamp", kLamp)}), "auto");
  body["temperature"] = 0;
  const int n_before = n_compiled(server_->port());
  for (const char* choice : {"auto", "none"}) {
    body["tool_choice"] = choice;
    const json held = ask(body)["choices"][0]["message"]["content"];
    const json loose = json::parse(test::ask(free->port(), "POST", kChatPath, body.dump()).body);
    EXPECT_EQ(held, loose["choices"][0]["message"]["content"]) << "what is no call is said as ever";
  }
  EXPECT_EQ(n_compiled(server_->port()), n_before + 2);
  EXPECT_EQ(n_compiled(free->port()), 0);
  const test::ClientAnswer odd = post(chat(json::array({tool("odd", kOdd)}), "auto"));
  EXPECT_EQ(odd.status, 200) << odd.body;
  EXPECT_NE(odd.field("x-parlance-note").find("odd"), std::string::npos);
  body["tools"] = json::array({tool("odd", kOdd, true)});
  body["tool_choice"] = "auto";
  EXPECT_EQ(test::ask(free->port(), "POST", kChatPath, body.dump()).status, 400);
}

TEST_F(ServerTools, WhatIsAskedForAgainIsNotCompiledAgain) {
  json body = chat(json::array({tool("lamp", kLamp)}), "required");
  body["max_tokens"] = 1;
  ask(body);
  const int n_before = n_compiled(server_->port());
  const size_t n_known = server_->site().grammars.n_grammars();
  for (int i = 0; i < 3; ++i) ask(body);
  EXPECT_EQ(n_compiled(server_->port()), n_before);
  body.erase("tools");
  body.erase("tool_choice");
  for (int i = 0; i < 80; ++i) {
    body["grammar"] = "root ::= \"" + std::string(static_cast<size_t>(i) + 1, 'a') + "\"";
    ask(body);
  }
  EXPECT_EQ(n_compiled(server_->port()), n_before + 80);
  EXPECT_LE(server_->site().grammars.n_grammars(), GrammarCache::kMost);
  EXPECT_GE(server_->site().grammars.n_grammars(), n_known);
}

}  // namespace
}  // namespace parlance
