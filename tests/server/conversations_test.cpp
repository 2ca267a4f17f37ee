// Conversations of a server: turns, what they share and with whom, and their way to files and back.
#include "server/conversations.h"

#include <fstream>
#include <future>
#include <thread>

#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "server/support/schema.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kChatRoute = "/v1/chat/completions";
constexpr const char* kListRoute = "/v1/parlance/conversations";

using Fields = std::map<std::string, std::string>;

test::ClientAnswer send(const Server& server, const std::string& method, const std::string& path,
                        const json& body = {}, Fields fields = {}) {
  fields["content-type"] = "application/json";
  test::Client client(server.port());
  client.send(test::request_text(method, path, server.port(), fields, body.is_null() ? "" : body.dump()));
  return client.answer();
}

json sent(const Server& server, const std::string& method, const std::string& path, const json& body = {},
          const Fields& fields = {}, int status = 200) {
  const test::ClientAnswer answer = send(server, method, path, body, fields);
  EXPECT_EQ(answer.status, status) << method << " " << path << ": " << answer.body;
  return json::parse(answer.body, nullptr, false);
}

json chat(const std::string& system, const std::string& question, int max_tokens = 8) {
  return {
      {"messages", {{{"role", "system"}, {"content", system}}, {{"role", "user"}, {"content", question}}}},
      {"max_tokens", max_tokens},
      {"temperature", 0},
      {"ignore_eos", true}};
}

std::string text_of_answer(const json& answer) {
  return answer["choices"][0]["message"]["content"];
}
int n_cached(const json& answer) {
  return answer["usage"]["prompt_tokens_details"]["cached_tokens"];
}
int n_prompt(const json& answer) {
  return answer["usage"]["prompt_tokens"];
}

// The value of a sample, 0 where there is none.
double metric(const Server& server, const std::string& sample, const Fields& fields = {}) {
  const std::string text = send(server, "GET", "/metrics", {}, fields).body;
  const size_t at = text.find("\n" + sample + " ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + sample.size() + 2));
}

const std::string kLongSystem = [] {
  std::string text = "You help in the kitchen.";
  for (int i = 0; i < 12; ++i)
    text += " Rule " + std::to_string(i) + ": never burn what is in pan " + std::to_string(i * i) + ".";
  return text;
}();

Fields in(const std::string& id) {
  return {{"x-conversation-id", id}};
}

class ServerConversations : public testing::Test {
 protected:
  ServerOptions options() const {
    ServerOptions options = test::demo_options();
    options.conversations.state_folder = folder_.path();
    options.conversations.longest_restore = std::chrono::seconds(20);  // the machine may be busy
    return options;
  }
  // The only file of that name below the folder.
  fs::path file(const std::string& name) const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.path().filename() == name) return entry.path();
    }
    return {};
  }
  static void flip(const fs::path& path, std::streamoff at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 16);
    file.seekp(at);
    file.put(byte);
  }

  test::TemporaryFolder folder_;
};

TEST_F(ServerConversations, OneRequestAtATimeAndNoMoreThanFourWait) {
  const auto server = test::start_server(options());
  ASSERT_TRUE(server);
  json slow = chat("Hello", "Tell me a story.", 900);
  slow["stream"] = true;
  test::Client first(server->port());
  const auto request = [&](const json& body) {
    return test::request_text("POST", kChatRoute, server->port(),
                              {{"content-type", "application/json"}, {"x-conversation-id", "room"}},
                              body.dump());
  };
  first.send(request(slow));
  ASSERT_TRUE(first.receive());
  std::vector<std::unique_ptr<test::Client>> waiting;
  const auto open = server->site().conversations->registry().find("", "conv:room");
  ASSERT_TRUE(open);
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(std::make_unique<test::Client>(server->port()));
    waiting.back()->send(request(chat("Hello", "Question " + std::to_string(i))));
  }
  for (int i = 0; i < 500 && open->n_waiting() < 4; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const test::ClientAnswer refused =
      send(*server, "POST", kChatRoute, chat("Hello", "Too many", 1), in("room"));
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(json::parse(refused.body)["error"]["code"], "conversation_busy");
  EXPECT_FALSE(refused.field("retry-after-ms").empty());
  EXPECT_EQ(send(*server, "POST", kChatRoute, chat("Hello", "Elsewhere", 1), in("other")).status, 200);
  waiting[1].reset();  // this client leaves while it waits
  for (int i = 0; i < 1000 && open->n_waiting() > 3; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  json hurried = chat("Hello", "Quickly!");
  hurried["parlance"] = {{"deadline_ms", 1}};
  test::Client in_a_hurry(server->port());
  in_a_hurry.send(request(hurried));
  EXPECT_TRUE(first.answer().is_whole);
  for (const int i : {0, 2, 3}) EXPECT_EQ(waiting[static_cast<size_t>(i)]->answer().status, 200);
  const test::ClientAnswer late = in_a_hurry.answer();
  EXPECT_EQ(late.status, 504) << late.body;
  EXPECT_EQ(send(*server, "POST", kChatRoute, chat("Hello", "Again", 1), in("room")).status, 200);
}

TEST_F(ServerConversations, GoOnAfterARestart) {
  std::string text;
  int n_first = 0;
  json second = chat(kLongSystem, "What is your name?");
  {
    const auto server = test::start_server(options());
    ASSERT_TRUE(server);
    const json answer = sent(*server, "POST", kChatRoute, second, in("kitchen"));
    n_first = n_prompt(answer);
    second["messages"].push_back({{"role", "assistant"}, {"content", text_of_answer(answer)}});
    second["messages"].push_back({{"role", "user"}, {"content", "Who are you?"}});
    text = text_of_answer(sent(*server, "POST", kChatRoute, second, in("kitchen")));
    EXPECT_TRUE(file("kitchen.long.bin").empty());
    server->drain();
    EXPECT_TRUE(server->finish(std::chrono::seconds(10)));
  }
  ASSERT_FALSE(file("kitchen.long.bin").empty());
  EXPECT_EQ(fs::status(file("kitchen.long.bin")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  {
    const auto server = test::start_server(options());
    ASSERT_TRUE(server);
    EXPECT_EQ(sent(*server, "GET", std::string(kListRoute) + "/kitchen")["tier"], "disk");
    const json again = sent(*server, "POST", kChatRoute, second, in("kitchen"));
    EXPECT_EQ(text_of_answer(again), text);
    EXPECT_GT(n_cached(again), n_first);
    EXPECT_EQ(metric(*server, "parlance_prompt_cached_tokens_total{tier=\"disk\"}"), n_cached(again));
    EXPECT_EQ(sent(*server, "GET", std::string(kListRoute) + "/kitchen")["tier"], "device");
  }
  // A file that is not as it was written is never used.
  flip(file("kitchen.long.bin"), 90000);
  const auto server = test::start_server(options());
  ASSERT_TRUE(server);
  const json cold = sent(*server, "POST", kChatRoute, second, in("kitchen"));
  EXPECT_EQ(text_of_answer(cold), text);
  EXPECT_EQ(n_cached(cold), 0);
  EXPECT_EQ(metric(*server, "parlance_snapshot_refused_total{reason=\"damaged\"}"), 1);
}

TEST_F(ServerConversations, AreSavedRestoredClosedAndErased) {
  const auto server = test::start_server(options());
  ASSERT_TRUE(server);
  const std::string route = std::string(kListRoute) + "/kitchen";
  EXPECT_EQ(sent(*server, "GET", route, {}, {}, 404)["error"]["code"], "conversation_not_found");
  sent(*server, "POST", kChatRoute, chat(kLongSystem, "Hello"), in("kitchen"));
  const json saved = sent(*server, "POST", route + "/save");
  EXPECT_GT(saved["n_saved"], 100);
  EXPECT_FALSE(file("kitchen.long.bin").empty());
  EXPECT_EQ(sent(*server, "POST", route + "/restore")["n_restored"], saved["n_saved"]);
  json body = chat(kLongSystem, "Hello");
  body["parlance"] = {{"ttl", "extended"}};
  sent(*server, "POST", kChatRoute, body, in("kitchen"));
  EXPECT_EQ(sent(*server, "DELETE", route)["erased"], false);
  for (int i = 0; i < 500 && file("kitchen.extended.bin").empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(file("kitchen.extended.bin").empty());
  EXPECT_EQ(sent(*server, "GET", route)["ttl"], "extended");
  EXPECT_EQ(sent(*server, "DELETE", route + "?erase=true")["erased"], true);
  for (int i = 0; i < 500 && !file("kitchen.extended.bin").empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(file("kitchen.extended.bin").empty() && file("kitchen.long.bin").empty());
  sent(*server, "GET", route, {}, {}, 404);
  sent(*server, "DELETE", route, {}, {}, 404);
}

TEST_F(ServerConversations, WhatIsAskedOfOneThatIsClosedEnds) {
  const auto server = test::start_server(options());
  ASSERT_TRUE(server);
  const json slow = chat("Hello", "Tell me a story.", 900);
  const auto begin = [&](const json& body) {
    auto client = std::make_unique<test::Client>(server->port());
    client->send(test::request_text("POST", kChatRoute, server->port(),
                                    {{"content-type", "application/json"}, {"x-conversation-id", "room"}},
                                    body.dump()));
    return client;
  };
  const auto running = begin(slow);
  const auto find = [&] { return server->site().conversations->registry().find("", "conv:room"); };
  for (int i = 0; i < 500 && !(find() && find()->progress().is_processing); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const auto waiting = begin(slow);
  for (int i = 0; i < 500 && find()->n_waiting() == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  sent(*server, "DELETE", std::string(kListRoute) + "/room");
  for (test::Client* const client : {running.get(), waiting.get()}) {
    const test::ClientAnswer answer = client->answer();
    EXPECT_EQ(answer.status, 409) << answer.body;
    EXPECT_EQ(json::parse(answer.body)["error"]["code"], "conversation_closed");
  }
  EXPECT_EQ(send(*server, "POST", kChatRoute, chat("Hello", "Again", 1), in("room")).status, 200);
}

TEST_F(ServerConversations, AreSlotsForClientsOfLlamaCpp) {
  const auto server = test::start_server(options());
  ASSERT_TRUE(server);
  json body = chat(kLongSystem, "Hello");
  body["id_slot"] = 2;
  const json answer = sent(*server, "POST", kChatRoute, body);
  EXPECT_EQ(answer["parlance"]["slot"], 2);
  const json slots = sent(*server, "GET", "/slots");
  ASSERT_EQ(slots.size(), 4u);
  EXPECT_EQ(slots[2]["n_past"], n_prompt(answer) + 8);
  EXPECT_EQ(slots[1]["conversation"], nullptr);
  EXPECT_EQ(slots.dump().find("kitchen"), std::string::npos);

  const json saved = sent(*server, "POST", "/slots/2?action=save", {{"filename", "mine.bin"}});
  EXPECT_EQ(saved["id_slot"], 2);
  EXPECT_EQ(saved["filename"], "mine.bin");
  ASSERT_FALSE(file("mine.bin").empty());
  EXPECT_EQ(sent(*server, "POST", "/slots/2?action=erase", json::object())["n_erased"], n_prompt(answer) + 8);
  const json restored = sent(*server, "POST", "/slots/1?action=restore", {{"filename", "mine.bin"}});
  EXPECT_EQ(restored["n_restored"], saved["n_saved"]);
  EXPECT_EQ(restored["n_read"], saved["n_written"]);
  EXPECT_EQ(sent(*server, "GET", "/slots")[1]["n_past"], saved["n_saved"]);

  flip(file("mine.bin"), 70000);
  const json refused = sent(*server, "POST", "/slots/1?action=restore", {{"filename", "mine.bin"}}, {}, 400);
  EXPECT_EQ(refused["error"]["code"], "snapshot_refused");
  EXPECT_EQ(refused.dump().find(folder_.path().string()), std::string::npos) << "paths are nobody's business";
  EXPECT_EQ(sent(*server, "GET", "/slots")[1]["n_past"], saved["n_saved"]) << "the slot is as it was";
  EXPECT_EQ(metric(*server, "parlance_snapshots_total{op=\"restore\",result=\"refused\"}"), 1);

  for (const char* name : {"../x", "/etc/passwd", "", "a/b", ".."})
    EXPECT_EQ(sent(*server, "POST", "/slots/0?action=save", {{"filename", name}}, {}, 400)["error"]["code"],
              "invalid_value")
        << name;
  sent(*server, "POST", "/slots/0?action=save", json::object(), {}, 400);
  sent(*server, "POST", "/slots/0?action=rename", {{"filename", "a"}}, {}, 400);
  sent(*server, "POST", "/slots/0?action=restore", {{"filename", "nothing"}}, {}, 404);
  sent(*server, "POST", "/slots/4?action=erase", json::object(), {}, 404);
  sent(*server, "POST", "/slots/x?action=erase", json::object(), {}, 404);
}

TEST_F(ServerConversations, SaltsAndWhatIsNotCachedShareNothing) {
  const auto server = test::start_server(options());
  ASSERT_TRUE(server);
  const json plain = chat(kLongSystem, "Hello");
  json salted = plain, off = plain;
  salted["cache_salt"] = "mine";
  off["cache_prompt"] = false;
  const json first = sent(*server, "POST", kChatRoute, off, in("a"));
  EXPECT_EQ(n_cached(first), 0);
  EXPECT_EQ(n_cached(sent(*server, "POST", kChatRoute, plain)), 0) << "nothing was remembered";
  EXPECT_EQ(n_cached(sent(*server, "POST", kChatRoute, salted)), 0);
  const json again = sent(*server, "POST", kChatRoute, plain);
  EXPECT_EQ(n_cached(again), n_prompt(again) - 1);
  EXPECT_EQ(n_cached(sent(*server, "POST", kChatRoute, salted)), n_prompt(again) - 1);
  EXPECT_EQ(n_cached(sent(*server, "POST", kChatRoute, off)), 0);
  EXPECT_EQ(text_of_answer(first), text_of_answer(again));
  EXPECT_EQ(sent(*server, "POST", kListRoute + std::string("/a/save"), {}, {}, 404)["error"]["code"],
            "not_found")
      << "there is nothing to save of it";
}

TEST_F(ServerConversations, OfOneKeyAreNobodyElses) {
  ServerOptions with_keys = options();
  with_keys.gate.keys = {*make_key("test", "key-of-the-home-0", "home", false),
                         *make_key("test", "key-of-the-office", "office", true)};
  const Fields home = {{"x-api-key", "key-of-the-home-0"}, {"x-conversation-id", "kitchen"}},
               office = {{"x-api-key", "key-of-the-office"}, {"x-conversation-id", "kitchen"}};
  const json body = chat(kLongSystem, "Hello");
  for (const bool shares : {false, true}) {
    with_keys.conversations.shares_prefixes = shares;
    const auto server = test::start_server(with_keys);
    ASSERT_TRUE(server);
    sent(*server, "POST", kChatRoute, body, home);
    EXPECT_EQ(sent(*server, "GET", kListRoute, {}, home).size(), 1u);
    EXPECT_EQ(sent(*server, "GET", kListRoute, {}, office).size(), 0u);
    sent(*server, "GET", std::string(kListRoute) + "/kitchen", {}, office, 404);
    sent(*server, "DELETE", std::string(kListRoute) + "/kitchen", {}, office, 404);
    const json other = sent(*server, "POST", kChatRoute, body, office);
    EXPECT_EQ(n_cached(other), shares ? n_prompt(other) - 1 : 0);
    EXPECT_EQ(send(*server, "POST", "/slots/0?action=erase", json::object(), home).status, 403);
    EXPECT_EQ(send(*server, "POST", "/slots/0?action=erase", json::object(), office).status, 200);
  }
}

TEST_F(ServerConversations, WhatIsComputedBeforehandNeedNotBeComputed) {
  const auto server = test::start_server(options());
  ASSERT_TRUE(server);
  const json system = {{{"role", "system"}, {"content", kLongSystem}}};
  const json warmed =
      sent(*server, "POST", "/v1/parlance/prewarm", {{"conversation_id", "kitchen"}, {"messages", system}});
  EXPECT_EQ(warmed["cached_tokens"], 0);
  EXPECT_EQ(warmed["prefilled_tokens"], warmed["prompt_tokens"]);
  EXPECT_EQ(warmed["slot"], 0);
  const double n_pages = metric(*server, "parlance_kv_pages{state=\"used\"}");
  // Each of many rooms begins with it; it is there once.
  for (int room = 0; room < 6; ++room) {
    const json answer =
        sent(*server, "POST", kChatRoute, chat(kLongSystem, "Hi", 1), in(std::to_string(room)));
    EXPECT_EQ(n_cached(answer),
              std::min<int>(warmed["prompt_tokens"].get<int>() + (room > 0 ? 100 : 0), n_prompt(answer) - 1));
  }
  EXPECT_LE(metric(*server, "parlance_kv_pages{state=\"used\"}"), n_pages + 1);
  // What older clients send for the same: a user who says the system message.
  const json as_user = {{{"role", "user"}, {"content", kLongSystem}}};
  EXPECT_EQ(sent(*server, "POST", "/v1/parlance/prewarm", {{"messages", as_user}})["prompt_tokens"],
            warmed["prompt_tokens"]);
  EXPECT_EQ(send(*server, "POST", "/v1/parlance/prewarm", {{"messages", system}, {"wait", false}}).status,
            202);
  sent(*server, "POST", "/v1/parlance/prewarm", json::object(), {}, 400);
  sent(*server, "POST", "/v1/parlance/prewarm", {{"messages", system}, {"ttl", "forever"}}, {}, 400);
  const json silent = sent(*server, "POST", kChatRoute, chat(kLongSystem, "Hi", 0), in("kitchen"));
  EXPECT_EQ(text_of_answer(silent), "");
  EXPECT_EQ(silent["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(silent["usage"]["completion_tokens"], 0);
}

TEST_F(ServerConversations, TheSystemPrefixStaysWhateverComes) {
  ServerOptions small = options();
  small.models.context.n_seq = 2;
  small.models.n_ctx = 512;
  small.conversations.prewarm_body =
      json{{"messages", {{{"role", "system"}, {"content", kLongSystem}}}}}.dump();
  const auto server = test::start_server(small);
  ASSERT_TRUE(server);
  const auto find = [&] {
    return server->site().conversations->registry().find("", "conv:__system_prefix__");
  };
  for (int i = 0; i < 500 && !(find() && find()->is_pinned()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(find() && find()->is_pinned());
  const json listed = sent(*server, "GET", kListRoute)[0];
  EXPECT_EQ(listed["ttl"], "extended");
  EXPECT_EQ(listed["pinned"], true);
  for (int i = 0; i < 12; ++i) {  // more than the cache holds
    sent(*server, "POST", kChatRoute,
         chat("Flood " + std::to_string(i), std::string(250, static_cast<char>('a' + i)), 1));
  }
  const json answer = sent(*server, "POST", kChatRoute, chat(kLongSystem, "Hi", 1));
  EXPECT_EQ(n_cached(answer), listed["n_tokens"]);
  const json more = {{"messages", {{{"role", "system"}, {"content", std::string(420, 'x')}}}}, {"pin", true}};
  EXPECT_EQ(sent(*server, "POST", "/v1/parlance/prewarm", more, {}, 400)["error"]["param"], "pin");
}

// What was evicted is computed again, and a longer conversation stays as it is.
TEST_F(ServerConversations, AreKeptWarm) {
  const auto server = test::start_server(options());
  ASSERT_TRUE(server);
  const json system = {{{"role", "system"}, {"content", kLongSystem}}};
  sent(*server, "POST", "/v1/parlance/prewarm", {{"conversation_id", "kitchen"}, {"messages", system}});
  sent(*server, "POST", kChatRoute, chat(kLongSystem, "Hello"), in("kitchen"));
  Conversations& all = *server->site().conversations;
  const auto open = all.registry().find("", "conv:kitchen");
  ASSERT_TRUE(open);
  const auto text = open->text();
  { const Scheduler::Pause settled(all.context()->scheduler()); }  // the step of the last token is over
  int n_rewarmed = 0;
  all.keep_warm([&](const Conversations::Open&) { ++n_rewarmed; });
  EXPECT_EQ(n_rewarmed, 0);
  EXPECT_EQ(all.n_known(*text), std::ssize(text->tokens) - 1) << "nothing was cut";
  all.context()->tree().evict({INT32_MAX, INT32_MAX});
  EXPECT_EQ(all.n_known(*text), 0);
  all.tick(Conversations::Clock::now() + std::chrono::minutes(5), [&](const Conversations::Open& one) {
    EXPECT_EQ(one, open);
    ++n_rewarmed;
  });
  EXPECT_EQ(n_rewarmed, 1);
  EXPECT_EQ(open->text(), text);
}

// Whoever waits for a file goes on when the time is over, also while the file is being read; the file is of
// use later.
TEST_F(ServerConversations, NobodyWaitsForAFileForLong) {
  Conversations::Text known;
  {
    const auto server = test::start_server(options());
    ASSERT_TRUE(server);
    sent(*server, "POST", kChatRoute, chat(kLongSystem, "Hello"), in("kitchen"));
    sent(*server, "POST", std::string(kListRoute) + "/kitchen/save");
    known = server->site().conversations->registry().find("", "conv:kitchen")->text();
  }
  const auto server = test::start_server(options());
  ASSERT_TRUE(server);
  Conversations& all = *server->site().conversations;
  const auto open = all.open({.owner = {}, .key = "conv:kitchen", .id = "kitchen"}, -1, Lifetime::lasting);
  std::promise<int64_t> waited;
  {
    const Scheduler::Pause held_up(all.context()->scheduler());  // so is the reader
    ASSERT_TRUE(
        all.restore(open, known, std::chrono::milliseconds(1), [&](int64_t n) { waited.set_value(n); }));
    EXPECT_EQ(waited.get_future().get(), 0);
  }
  while (all.n_known(*known) == 0) std::this_thread::yield();
}

// A server that ends while a beginning is read from its file, or computed.
TEST_F(ServerConversations, WarmingMayEndWithTheServerAtAnyMoment) {
  const json warming = {{"conversation_id", "kitchen"},
                        {"messages", {{{"role", "system"}, {"content", kLongSystem}}}}};
  for (int us = 0; us < 5000; us += 500) {
    auto server = test::start_server(options());
    ASSERT_TRUE(server);
    if (us == 0) {
      sent(*server, "POST", kChatRoute, chat(kLongSystem, "Hello"), in("kitchen"));
      sent(*server, "POST", std::string(kListRoute) + "/kitchen/save");
    }
    test::Client client(server->port());
    client.send(test::request_text("POST", "/v1/parlance/prewarm", server->port(),
                                   {{"content-type", "application/json"}}, warming.dump()));
    std::this_thread::sleep_for(std::chrono::microseconds(us));
    server.reset();
    client.answer();
    EXPECT_TRUE(client.is_closed());
  }
}

TEST(ConversationIntervals, HaveFloorsAndSaySo) {
  using std::chrono::milliseconds;
  const auto read = [](const std::optional<std::string>& text) {
    return interval_from("ELIZA_LOCAL_EVICTION_INTERVAL_MS", text, milliseconds(300000), milliseconds(60000));
  };
  EXPECT_EQ(read(std::nullopt).time, milliseconds(300000));
  EXPECT_EQ(read(std::nullopt).remark, "");
  EXPECT_EQ(read("60000").time, milliseconds(60000));
  EXPECT_EQ(read("60000").remark, "");
  for (const char* low : {"59999", "0", "-5"}) {
    EXPECT_EQ(read(low).time, milliseconds(60000)) << low;
    EXPECT_NE(read(low).remark.find(low), std::string::npos) << low;
  }
  for (const char* odd : {"", "soon", "1e5", "60000 ms"}) {
    EXPECT_EQ(read(odd).time, milliseconds(300000)) << odd;
    EXPECT_FALSE(read(odd).remark.empty()) << odd;
  }
}

}  // namespace
}  // namespace parlance
