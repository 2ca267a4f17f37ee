// Realtime sessions over a socket, with the bundled models.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "audio/audio_file.h"
#include "server/support/demo_server.h"
#include "server/support/socket_client.h"
#include "support/comes_true.h"
#include "support/temporary_folder.h"
#include "text/base64.h"

namespace parlance {
namespace {

using nlohmann::json;

class RealtimeClient {
 public:
  explicit RealtimeClient(uint16_t port, const std::string& query = "",
                          const std::map<std::string, std::string>& fields = {})
      : socket_(port, "/v1/realtime" + query, fields), opening_(socket_.opening()) {}

  int status() const { return opening_.status; }
  void send_bytes(const std::string& bytes) { socket_.send(bytes); }
  void send(const json& event) { socket_.send(test::frame(test::kText, event.dump())); }
  // The next event of a type; those before it are passed over. Null: the socket has ended.
  json wait_for(const std::string& type) {
    for (;;) {
      const test::Frame frame = socket_.next_message();
      if (frame.opcode != test::kText) return nullptr;
      json event = json::parse(frame.payload);
      seen_.push_back(event);
      if (event["type"] == type) return event;
    }
  }
  void put(const std::string& text) {
    send({{"type", "conversation.item.create"},
          {"item",
           {{"type", "message"},
            {"role", "user"},
            {"content", json::array({{{"type", "input_text"}, {"text", text}}})}}}});
    send({{"type", "response.create"}, {"response", {{"output_modalities", json::array({"text"})}}}});
  }
  json ask(const std::string& text) {
    put(text);
    return wait_for("response.done");
  }
  const std::vector<json>& seen() const { return seen_; }

 private:
  test::SocketClient socket_;
  test::ClientAnswer opening_;
  std::vector<json> seen_;
};

class ServerRealtime : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ServerOptions options = test::demo_options();
    options.n_most_realtime = 3;
    server_ = test::start_server(options);
  }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override { ASSERT_TRUE(server_); }
  uint16_t port() const { return server_->port(); }
  // Sessions end on a thread of their own.
  static bool become_none() {
    return test::comes_true([] { return server_->site().n_realtime == 0; });
  }

  static std::unique_ptr<Server> server_;
};
std::unique_ptr<Server> ServerRealtime::server_;

TEST_F(ServerRealtime, AnswersInText) {
  RealtimeClient client(port());
  ASSERT_EQ(client.status(), 101);
  EXPECT_EQ(client.wait_for("session.created")["session"]["model"], "eliza-1-demo");
  const json done = client.ask("What is the capital of France?");
  EXPECT_EQ(done["response"]["status"], "completed");
  const std::string answer = done["response"]["output"][0]["content"][0]["text"];
  EXPECT_NE(answer.find("Paris"), std::string::npos) << answer;
  EXPECT_GT(done["response"]["usage"]["input_tokens"], 5);
  const json again = client.ask("And of Spain?");
  EXPECT_GT(again["response"]["usage"]["input_token_details"]["cached_tokens"], 5)
      << "the beginning was known";
}

// A server that was started again finds what was computed under the name that the client gives.
TEST(ServerRealtimeFiles, WhatWasPutAwayIsReadBeforeTheFirstAnswer) {
  const test::TemporaryFolder folder;
  ServerOptions options = test::demo_options();
  options.conversations.slot_folder = folder.path();
  options.conversations.longest_voice_restore = std::chrono::seconds(20);  // the machine may be busy
  json first, again;
  for (json* const usage : {&first, &again}) {
    const auto server = test::start_server(options);
    ASSERT_TRUE(server);
    {
      RealtimeClient client(server->port(), "?conversation_id=kitchen");
      ASSERT_EQ(client.status(), 101);
      std::string question = "What is the capital of France?";
      while (question.size() < 600) question = "Think of a country. " + question;  // longer than a page
      const json done = client.ask(question);
      ASSERT_EQ(done["response"]["status"], "completed") << done;
      *usage = done["response"]["usage"];
    }
    const std::string figures = test::ask(server->port(), "GET", "/metrics").body;
    const std::string restored = "parlance_snapshots_total{op=\"restore\",result=\"ok\"} ";
    EXPECT_NE(figures.find(restored + (usage == &first ? "0" : "1")), std::string::npos);
    EXPECT_TRUE(test::comes_true([&] { return server->site().n_realtime == 0; }));
    server->drain();
    EXPECT_TRUE(server->finish(std::chrono::seconds(5)));
  }
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "kitchen.long.bin"));
  EXPECT_EQ(first["input_tokens"], again["input_tokens"]);
  EXPECT_GE(again["input_token_details"]["cached_tokens"], first["input_tokens"].get<int>() - 1);
}

// A server that ends while sessions with names are at work, at moments of every step up to an answer.
TEST(ServerRealtimeFiles, MayEndWithTheServerAtAnyMoment) {
  const test::TemporaryFolder folder;
  ServerOptions options = test::demo_options();
  options.conversations.slot_folder = folder.path();
  for (int us = 0; us < 6000; us += 400) {
    auto server = test::start_server(options);
    ASSERT_TRUE(server);
    std::vector<std::unique_ptr<RealtimeClient>> clients;
    for (const char* name : {"kitchen", "hall", "garden"}) {
      clients.push_back(
          std::make_unique<RealtimeClient>(server->port(), std::string("?conversation_id=") + name));
      clients.back()->wait_for("conversation.created");
    }
    for (const auto& client : clients) client->put("What is the capital of France?");
    std::this_thread::sleep_for(std::chrono::microseconds(us));
    server.reset();
    for (const auto& client : clients) EXPECT_TRUE(client->wait_for("an event that nobody sends").is_null());
  }
}

TEST_F(ServerRealtime, HearsAndSpeaks) {
  RealtimeClient client(port());
  client.wait_for("conversation.created");
  client.send(
      {{"type", "session.update"},
       {"session",
        {{"type", "realtime"},
         {"audio",
          {{"input",
            {{"format", {{"type", "audio/pcm"}, {"rate", 16000}}}, {"transcription", json::object()}}}}}}}});
  const auto clip = read_audio(test::source_root() / "models/demo-eval/questions/1-capital.flac", 16000);
  ASSERT_TRUE(clip) << clip.error().message;
  std::string bytes;
  const auto add = [&](float sample) {
    const auto value = static_cast<int16_t>(std::clamp(sample, -1.0f, 1.0f) * 32767);
    bytes += static_cast<char>(value & 0xff);
    bytes += static_cast<char>(value >> 8);
  };
  for (const float sample : clip->samples) add(sample);
  for (int i = 0; i < 16000; ++i) add(0);
  for (size_t at = 0; at < bytes.size(); at += 6400)
    client.send({{"type", "input_audio_buffer.append"}, {"audio", to_base64(bytes.substr(at, 6400))}});
  const json done = client.wait_for("response.done");
  ASSERT_FALSE(done.is_null());
  EXPECT_EQ(done["response"]["status"], "completed");
  size_t n_bytes = 0;
  std::string question;
  for (const json& event : client.seen()) {
    if (event["type"] == "response.output_audio.delta")
      n_bytes += event["delta"].get<std::string>().size() * 3 / 4;
    if (event["type"] == "conversation.item.input_audio_transcription.completed")
      question = event["transcript"];
  }
  EXPECT_NE(question.find("capital"), std::string::npos) << question;
  EXPECT_GT(n_bytes, 24000u) << "half a second at least";
  EXPECT_GT(done["response"]["usage"]["output_token_details"]["audio_tokens"], 10);
}

TEST_F(ServerRealtime, AConversationIsTakenUpAgain) {
  std::string id;
  {
    RealtimeClient client(port());
    id = client.wait_for("conversation.created")["conversation"]["id"];
    client.ask("My name is Anna.");
  }
  ASSERT_TRUE(become_none()) << "who leaves ends the session";
  RealtimeClient client(port(), "?conversation_id=" + id);
  EXPECT_EQ(client.wait_for("conversation.created")["conversation"]["id"], id);
  EXPECT_EQ(client.wait_for("conversation.item.added")["item"]["content"][0]["text"], "My name is Anna.");
  EXPECT_EQ(client.wait_for("conversation.item.added")["item"]["role"], "assistant");
}

TEST_F(ServerRealtime, IsRefusedBeforeItOpens) {
  ASSERT_TRUE(become_none());
  const auto status = [&](const std::string& query) { return RealtimeClient(port(), query).status(); };
  EXPECT_EQ(status("?call_id=x"), 404);
  EXPECT_EQ(status("?model=nobody"), 404);
  EXPECT_EQ(test::ask(port(), "GET", "/v1/realtime").status, 426);
  std::vector<std::unique_ptr<RealtimeClient>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(std::make_unique<RealtimeClient>(port()));
  for (const auto& client : clients) EXPECT_EQ(client->status(), 101);
  EXPECT_EQ(status(""), 503);
  clients.clear();
  EXPECT_TRUE(become_none());
}

// Who leaves at any moment leaves nothing behind.
TEST_F(ServerRealtime, ClientsLeave) {
  for (int ms = 0; ms < 60; ms += 6) {
    RealtimeClient client(port());
    client.send(
        {{"type", "conversation.item.create"},
         {"item",
          {{"type", "message"},
           {"role", "user"},
           {"content", json::array({{{"type", "input_text"}, {"text", "Name all days of the week."}}})}}}});
    client.send({{"type", "response.create"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  }
  EXPECT_TRUE(become_none());
  EXPECT_TRUE(test::comes_true([] { return server_->site().n_running == 0; }));
}

TEST_F(ServerRealtime, TenThousandWrongEventsAreToldOneByOne) {
  RealtimeClient client(port());
  client.wait_for("conversation.created");
  std::string frames;
  constexpr int kEvents = 10000;
  for (int i = 0; i < kEvents; ++i)
    frames += test::frame(test::kText, R"({"type":"no such event","event_id":")" + std::to_string(i) + "\"}");
  std::thread sender([&] { client.send_bytes(frames); });
  for (int i = 0; i < kEvents; ++i) {
    const json error = client.wait_for("error");
    ASSERT_FALSE(error.is_null());
    ASSERT_EQ(error["error"]["event_id"], std::to_string(i));
  }
  sender.join();
}

}  // namespace
}  // namespace parlance
