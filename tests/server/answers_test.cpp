// Answers through real connections: streams, many at once, clients that leave, and an end that loses nothing.
#include <thread>

#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "server/support/events.h"
#include "support/comes_true.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;
using test::events_of;

const char* const kChat = "/v1/chat/completions";

json question(const std::string& text, int max_tokens = 24) {
  return {
      {"messages", {{{"role", "user"}, {"content", text}}}}, {"max_tokens", max_tokens}, {"temperature", 0}};
}

class ServerAnswers : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = test::start_server(test::demo_options()).release(); }
  static void TearDownTestSuite() { delete server_; }
  void SetUp() override { ASSERT_TRUE(server_); }

  static json ask(const json& body, const std::string& path = kChat) {
    const test::ClientAnswer answer = test::ask(server_->port(), "POST", path, body.dump());
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body, nullptr, false);
  }
  static std::string text_of(const json& answer) { return answer["choices"][0]["message"]["content"]; }
  static bool is_idle() {
    return test::comes_true([] { return server_->site().n_running == 0; });
  }

  static Server* server_;
};

Server* ServerAnswers::server_ = nullptr;

TEST_F(ServerAnswers, AStreamSaysWhatAWholeAnswerSays) {
  json body = question("What is your name?");
  const json whole = ask(body);
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  const test::ClientAnswer answer = test::ask(server_->port(), "POST", kChat, body.dump());
  EXPECT_EQ(answer.field("content-type"), "text/event-stream; charset=utf-8");
  const std::vector<json> events = events_of(answer.body);
  ASSERT_GE(events.size(), 5u);
  EXPECT_EQ(events.back(), "DONE");
  EXPECT_EQ(events.front()["choices"][0]["delta"], (json{{"role", "assistant"}, {"content", ""}}));
  const json& usage = events[events.size() - 2];
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_EQ(usage["usage"]["completion_tokens"], whole["usage"]["completion_tokens"]);
  EXPECT_TRUE(usage.contains("timings"));
  const json& last = events[events.size() - 3];
  EXPECT_EQ(last["choices"][0]["finish_reason"], whole["choices"][0]["finish_reason"]);
  std::string text;
  for (size_t i = 1; i + 3 < events.size(); ++i) {
    text += events[i]["choices"][0]["delta"]["content"];
    EXPECT_EQ(events[i]["id"], events.front()["id"]);
    EXPECT_TRUE(events[i]["usage"].is_null());
  }
  EXPECT_EQ(text, text_of(whole));
  EXPECT_FALSE(text.empty());
}

TEST_F(ServerAnswers, ManyAtOnceSayWhatEachSaysAlone) {
  const std::vector<std::string> questions = {
      "Hello", "What can you do?", "Who are you?", "Tell me a story.", "How are you?", "What is the time?"};
  std::vector<std::string> alone, together(questions.size());
  for (const std::string& text : questions) alone.push_back(text_of(ask(question(text))));
  std::vector<std::thread> clients;
  for (size_t i = 0; i < questions.size(); ++i) {
    clients.emplace_back([&, i] { together[i] = text_of(ask(question(questions[i]))); });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(together, alone);
}

TEST_F(ServerAnswers, SeveralAnswersToOnePromptHaveSeedsOfTheirOwn) {
  json body = question("Hello", 8);
  body["n"] = 3;
  body["temperature"] = 1.5;
  body["seed"] = 7;
  const json answer = ask(body);
  ASSERT_EQ(answer["choices"].size(), 3u);
  EXPECT_EQ(answer["parlance"]["seed"], 7);
  const json again = ask(body);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(answer["choices"][i]["index"], i);
    EXPECT_EQ(answer["choices"][i]["message"], again["choices"][i]["message"]);
  }
}

TEST_F(ServerAnswers, AnswersEndWhereTheyAreTold) {
  const std::string text = text_of(ask(question("Tell me a story.", 24)));
  ASSERT_GT(text.size(), 8u);
  json body = question("Tell me a story.", 24);
  const std::string stop = text.substr(text.size() / 2, 3);
  body["stop"] = stop;
  const json stopped = ask(body);
  EXPECT_EQ(text_of(stopped), text.substr(0, text.find(stop)));
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  body = question("Tell me a story.", 3);
  const json cut = ask(body);
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(cut["usage"]["completion_tokens"], 3);
}

TEST_F(ServerAnswers, LogprobsAddUpAndNameTheTokenThatWasSaid) {
  json body = question("Hello", 4);
  body["logprobs"] = true;
  body["top_logprobs"] = 3;
  const json answer = ask(body);
  const json& content = answer["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), answer["usage"]["completion_tokens"]);
  for (const json& one : content) {
    ASSERT_EQ(one["top_logprobs"].size(), 3u);
    EXPECT_EQ(one["top_logprobs"][0]["token"], one["token"]);  // greedy
    EXPECT_GE(one["top_logprobs"][0]["logprob"], one["top_logprobs"][1]["logprob"]);
  }
}

// In completions, too, where it is not among the likeliest.
TEST_F(ServerAnswers, LogprobsOfCompletionsHaveTheTokenThatWasSaid) {
  const json answer = ask({{"prompt", "Hello"},
                           {"max_tokens", 40},
                           {"ignore_eos", true},
                           {"temperature", 2},
                           {"top_k", 0},
                           {"top_p", 1},
                           {"min_p", 0},
                           {"seed", 1},
                           {"logprobs", 1}},
                          "/v1/completions");
  const json& logprobs = answer["choices"][0]["logprobs"];
  ASSERT_EQ(logprobs["tokens"].size(), 40u);
  size_t n_unlikely = 0;
  for (size_t i = 0; i < 40; ++i) {
    const json& top = logprobs["top_logprobs"][i];
    EXPECT_EQ(top[logprobs["tokens"][i].get<std::string>()], logprobs["token_logprobs"][i]);
    ASSERT_LE(top.size(), 2u);
    n_unlikely += top.size() == 2;
  }
  EXPECT_GT(n_unlikely, 0u);
}

TEST_F(ServerAnswers, ABiasForbidsATokenAndMinTokensTheEnd) {
  json body = question("Hello", 1);
  body["logprobs"] = true;
  body["top_logprobs"] = 1;
  const json answer = ask(body);
  const std::string first = answer["choices"][0]["logprobs"]["content"][0]["token"];
  const json tokens = json::parse(
      test::ask(server_->port(), "POST", "/tokenize", json{{"content", first}}.dump()).body)["tokens"];
  ASSERT_EQ(tokens.size(), 1u);
  body["logit_bias"] = {{std::to_string(tokens[0].get<int>()), -100}};
  EXPECT_NE(ask(body)["choices"][0]["logprobs"]["content"][0]["token"], first);
  body = question("Hello", 200);
  const int n_usual = ask(body)["usage"]["completion_tokens"];
  ASSERT_LT(n_usual, 200);
  body["min_tokens"] = n_usual + 5;
  EXPECT_GT(ask(body)["usage"]["completion_tokens"], n_usual + 4);
}

TEST_F(ServerAnswers, SamePromptsAreComputedOnce) {
  const std::string long_text(300, 'a');
  const json first = ask(question(long_text, 1)), second = ask(question(long_text, 1));
  EXPECT_EQ(first["choices"], second["choices"]);
  const int n = second["usage"]["prompt_tokens"],
            n_cached = second["usage"]["prompt_tokens_details"]["cached_tokens"];
  EXPECT_EQ(n_cached, n - 1);
}

TEST_F(ServerAnswers, TheDeadlineEndsAnAnswer) {
  json body = question(std::string(400, 'q') + std::string(400, 'z'), 100);
  body["parlance"] = {{"deadline_ms", 1}};
  const test::ClientAnswer none = test::ask(server_->port(), "POST", kChat, body.dump());
  EXPECT_EQ(none.status, 504) << none.body;
  EXPECT_EQ(json::parse(none.body)["error"]["code"], "deadline_exceeded");
}

TEST_F(ServerAnswers, ClientsThatLeaveLeaveNothingBehind) {
  json body = question("Tell me a story.", 900);
  body["ignore_eos"] = true;
  body["stream"] = true;
  const std::string request =
      test::request_text("POST", kChat, server_->port(), {{"content-type", "application/json"}}, body.dump());
  for (int i = 0; i < 120; ++i) {
    test::Client client(server_->port());
    // At every point: before the head has been sent, in the middle of it, of the body, and of the answer.
    client.send(
        std::string_view(request).substr(0, i % 4 == 3 ? request.size() : request.size() * (i % 17) / 17));
    if (i % 8 == 3) client.receive();
    if (i % 8 == 7) std::this_thread::sleep_for(std::chrono::milliseconds(i % 5));
  }
  EXPECT_TRUE(is_idle());
  json ready;
  // The thread that computes tells how many there are when it next looks, behind the end of the last.
  EXPECT_TRUE(test::comes_true([&] {
    ready = json::parse(test::ask(server_->port(), "GET", "/ready").body);
    return ready["running"] == 0;
  }));
  EXPECT_EQ(ready["status"], "ready");
  EXPECT_FALSE(text_of(ask(question("Hello", 4))).empty());
}

TEST_F(ServerAnswers, ToolsThatTheModelDoesNotCallChangeNothingInTheForm) {
  json body = question("Hello", 8);
  body["tools"] = {
      {{"type", "function"}, {"function", {{"name", "now"}, {"parameters", {{"type", "object"}}}}}}};
  const json answer = ask(body);
  EXPECT_EQ(answer["choices"][0]["message"]["role"], "assistant");
}

TEST_F(ServerAnswers, TokensAndTemplatesAreAsLlamaCppGivesThem) {
  const json tokens = json::parse(
      test::ask(server_->port(), "POST", "/tokenize", R"({"content":"Hello world"})").body)["tokens"];
  ASSERT_FALSE(tokens.empty());
  const json text =
      json::parse(test::ask(server_->port(), "POST", "/detokenize", json{{"tokens", tokens}}.dump()).body);
  EXPECT_EQ(text["content"], "Hello world");
  const json prompt =
      json::parse(test::ask(server_->port(), "POST", "/apply-template", question("Hello").dump()).body);
  EXPECT_NE(prompt["prompt"].get<std::string>().find("Hello"), std::string::npos);
}

// Whether a stream of so many tokens has begun to come.
bool begins_a_stream(test::Client& client, uint16_t port, int n_tokens,
                     std::map<std::string, std::string> fields = {}) {
  json body = question("Tell me a story.", n_tokens);
  body["ignore_eos"] = true;
  body["stream"] = true;
  fields["content-type"] = "application/json";
  client.send(test::request_text("POST", kChat, port, fields, body.dump()));
  return client.receive();
}

TEST(ServerQueue, WhatMayNotWaitIsToldWhenToComeAgain) {
  ServerOptions options = test::demo_options();
  options.models.context.n_seq = 1;
  options.models.context.n_waiting = 1;
  const auto server = test::start_server(options);
  ASSERT_TRUE(server);
  test::Client first(server->port());
  ASSERT_TRUE(begins_a_stream(first, server->port(), 900));
  json body = question("Tell me a story.", 900);
  body["n"] = 2;
  const test::ClientAnswer answer = test::ask(server->port(), "POST", kChat, body.dump());
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_EQ(json::parse(answer.body)["error"]["code"], "server_overloaded");
  EXPECT_FALSE(answer.field("retry-after").empty());
  EXPECT_FALSE(answer.field("retry-after-ms").empty());
  body["n"] = 3;
  const test::ClientAnswer never = test::ask(server->port(), "POST", kChat, body.dump());
  EXPECT_EQ(never.status, 400) << "waiting would be in vain: " << never.body;
  const json error = json::parse(never.body)["error"];
  EXPECT_EQ(error["code"], "invalid_value");
  EXPECT_EQ(error["param"], "n");
  EXPECT_NE(error["message"].get<std::string>().find("2 at most"), std::string::npos) << error;
  const json texts = {{"prompt", {"One", "Two", "Three"}}, {"max_tokens", 1}};
  const test::ClientAnswer many = test::ask(server->port(), "POST", "/v1/completions", texts.dump());
  EXPECT_EQ(many.status, 400);
  EXPECT_EQ(json::parse(many.body)["error"]["param"], "prompt");
}

// Not with the step that is being made: here there is none, and none can be.
TEST(ServerQueue, WhoeverLeavesWhileHeWaitsIsGoneAtOnce) {
  const auto server = test::start_server(test::demo_options());
  ASSERT_TRUE(server);
  Scheduler& scheduler = server->site().text->context()->scheduler();
  const auto become = [&](int64_t n_tasks) {
    return test::comes_true([&] { return scheduler.stats().n_tasks == n_tasks; });
  };
  {
    const Scheduler::Pause held_up(scheduler);
    json body = question("Tell me a story.", 900);
    body["n"] = 2;
    {
      test::Client client(server->port());
      client.send(test::request_text("POST", kChat, server->port(), {{"content-type", "application/json"}},
                                     body.dump()));
      ASSERT_TRUE(become(2));
    }
    EXPECT_TRUE(become(0));
  }
  EXPECT_EQ(test::ask(server->port(), "POST", kChat, question("Hello").dump()).status, 200);
}

TEST(ServerKeys, NoneTakesTheQueueOfAll) {
  ServerOptions options = test::demo_options();
  options.gate.keys = {*make_key("test", "first-key-0123456789", "first", true),
                       *make_key("test", "second-key-0123456789", "second", false)};
  options.n_key_running = 2;
  options.n_key_waiting = 1;
  const auto server = test::start_server(options);
  ASSERT_TRUE(server);
  json body = question("Tell me a story.", 2);
  const auto ask_as = [&](const std::string& key, int n) {
    body["n"] = n;
    return test::ask(server->port(), "POST", kChat, body.dump(), {{"authorization", "Bearer " + key}});
  };
  const test::ClientAnswer never = ask_as("first-key-0123456789", 4);
  EXPECT_EQ(never.status, 400) << never.body;
  const std::string why = json::parse(never.body)["error"]["message"];
  EXPECT_NE(why.find("a key may have 3 at most"), std::string::npos) << why;
  {
    test::Client stream(server->port());
    ASSERT_TRUE(
        begins_a_stream(stream, server->port(), 900, {{"authorization", "Bearer first-key-0123456789"}}));
    const test::ClientAnswer refused = ask_as("first-key-0123456789", 3);
    EXPECT_EQ(refused.status, 429) << refused.body;
    EXPECT_EQ(json::parse(refused.body)["error"]["code"], "key_limit_exceeded");
    EXPECT_FALSE(refused.field("retry-after").empty());
    EXPECT_EQ(ask_as("second-key-0123456789", 3).status, 200);
  }
  while (ask_as("first-key-0123456789", 3).status == 429) {  // until the stream's end was noticed
  }
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(ask_as("first-key-0123456789", 3).status, 200);  // what has ended is free
  EXPECT_EQ(ask_as("second-key-0123456789", 3).status, 200);
}

TEST(ServerDrain, WhatHasBegunIsFinishedAndNothingNewIsBegun) {
  const auto server = test::start_server(test::demo_options());
  ASSERT_TRUE(server);
  test::Client client(server->port());
  ASSERT_TRUE(begins_a_stream(client, server->port(), 400));
  server->drain();
  EXPECT_EQ(test::ask(server->port(), "GET", "/health").status, 503);
  const test::ClientAnswer figures = test::ask(server->port(), "GET", "/metrics");
  EXPECT_EQ(figures.status, 200) << "what is left to do can be seen";
  EXPECT_NE(figures.body.find("parlance_requests_running{class=\"interactive\"} 1"), std::string::npos);
  const test::ClientAnswer refused = test::ask(server->port(), "POST", kChat, question("Hello").dump());
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(json::parse(refused.body)["error"]["code"], "server_shutting_down");
  EXPECT_TRUE(server->finish(std::chrono::seconds(30)));
  const test::ClientAnswer answer = client.answer();
  EXPECT_TRUE(answer.is_whole);
  EXPECT_EQ(events_of(answer.body).back(), "DONE");
}

TEST(ServerDrain, WhatTakesTooLongIsCutWithAnError) {
  const auto server = test::start_server(test::demo_options());
  ASSERT_TRUE(server);
  test::Client client(server->port());
  ASSERT_TRUE(begins_a_stream(client, server->port(), 900));
  server->drain();
  EXPECT_FALSE(server->finish(std::chrono::milliseconds(0)));
  const test::ClientAnswer answer = client.answer();
  EXPECT_TRUE(answer.is_whole);
  EXPECT_EQ(events_of(answer.body).back()["error"]["code"], "server_shutting_down");
}

}  // namespace
}  // namespace parlance
