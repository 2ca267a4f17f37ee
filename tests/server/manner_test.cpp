// How a server answers where requests do not say: who speaks, what the model is told, what is written of it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "server/support/socket_client.h"

namespace parlance {
namespace {

using nlohmann::json;

class ServerManner : public testing::Test {
 protected:
  static std::string spoken_by(const Server& server, const json& voice) {
    json body = {{"input", "!"}, {"response_format", "pcm"}};  // nothing that can be said
    if (!voice.is_null()) body["voice"] = voice;
    return test::ask(server.port(), "POST", "/v1/audio/speech", body.dump()).field("x-parlance-voice");
  }
  static json first_session(const Server& server) {
    test::SocketClient socket(server.port(), "/v1/realtime", {});
    EXPECT_EQ(socket.opening().status, 101);
    return json::parse(socket.next_message().payload)["session"];
  }
};

TEST_F(ServerManner, AnotherVoiceSpeaksWhereNoneIsNamed) {
  ServerOptions options = test::demo_options();
  options.voice = "slt";
  const auto server = test::start_server(options);
  ASSERT_TRUE(server);
  EXPECT_EQ(spoken_by(*server, {}), "slt");
  EXPECT_EQ(spoken_by(*server, "alloy"), "slt");
  EXPECT_EQ(spoken_by(*server, "default"), "default");
  EXPECT_EQ(spoken_by(*server, "awb"), "awb");
  EXPECT_EQ(first_session(*server)["audio"]["output"]["voice"], "slt");
}

TEST_F(ServerManner, SessionsAreToldWhatTheServerSays) {
  ServerOptions options = test::demo_options();
  EXPECT_EQ(first_session(*test::start_server(options))["instructions"], "");
  options.system = "You are a lighthouse keeper.";
  EXPECT_EQ(first_session(*test::start_server(options))["instructions"], options.system);
}

TEST_F(ServerManner, WhatIsSaidIsInTheLogOnlyWhereItIsAskedFor) {
  const json body = {{"messages", {{{"role", "user"}, {"content", "What is nine plus four?"}}}},
                     {"temperature", 0},
                     {"max_tokens", 12}};
  for (const bool logs_content : {false, true}) {
    ServerOptions options = test::demo_options();
    options.log_level = LogLevel::info;
    options.logs_content = logs_content;
    const auto server = test::start_server(options);
    ASSERT_TRUE(server);
    testing::internal::CaptureStderr();
    const test::ClientAnswer answer = test::ask(server->port(), "POST", "/v1/chat/completions", body.dump());
    const std::string log = testing::internal::GetCapturedStderr();
    ASSERT_EQ(answer.status, 200);
    const std::string words = json::parse(answer.body)["choices"][0]["message"]["content"];
    ASSERT_FALSE(words.empty());
    EXPECT_EQ(log.find("What is nine plus four?") != std::string::npos, logs_content) << log;
    EXPECT_EQ(log.find(words) != std::string::npos, logs_content) << log;
    EXPECT_EQ(log.find("id=" + answer.field("x-request-id") + " what=answer") != std::string::npos,
              logs_content)
        << log;
  }
}

}  // namespace
}  // namespace parlance
