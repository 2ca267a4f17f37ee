// Chats in which something is said instead of written.
#include <fstream>
#include <iterator>

#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "support/json_file.h"
#include "text/base64.h"

namespace parlance {
namespace {

using nlohmann::json;

class ChatAudio : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = test::start_server(test::demo_options()).release(); }
  static void TearDownTestSuite() { delete server_; }
  void SetUp() override { ASSERT_TRUE(server_); }

  static std::string question() {
    std::ifstream file(test::source_root() / "models/demo-eval/questions/1-capital.flac", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static json chat(const json& content) {
    return {{"messages", {{{"role", "user"}, {"content", content}}}}, {"temperature", 0}, {"max_tokens", 24}};
  }
  static json recording(const std::string& data, const std::string& format = "wav") {
    return {{"type", "input_audio"}, {"input_audio", {{"data", data}, {"format", format}}}};
  }
  static json ask(const json& body, int status = 200) {
    const test::ClientAnswer answer = test::ask(server_->port(), "POST", "/v1/chat/completions", body.dump());
    EXPECT_EQ(answer.status, status) << answer.body;
    return json::parse(answer.body, nullptr, false);
  }

  static Server* server_;
};

Server* ChatAudio::server_ = nullptr;

TEST_F(ChatAudio, WordsThatAreSaidAreAnsweredAsIfTheyWereWritten) {
  const json said = ask(chat(json::array({recording(to_base64(question()))})));
  const json heard = said["parlance"]["input_transcripts"];
  ASSERT_EQ(heard.size(), 1u) << said;
  EXPECT_NE(heard[0].get<std::string>().find("capital of France"), std::string::npos) << heard;
  const json written = ask(chat(heard[0]));
  EXPECT_EQ(said["choices"][0]["message"], written["choices"][0]["message"]);
  EXPECT_EQ(said["usage"]["prompt_tokens"], written["usage"]["prompt_tokens"]);
  EXPECT_FALSE(written["parlance"].contains("input_transcripts"));
}

TEST_F(ChatAudio, StandsAmongWordsAndInEarlierMessages) {
  const json part = recording(to_base64(question()));
  json body = chat(json::array({{{"type", "text"}, {"text", "Listen:"}}, part, part}));
  body["messages"].insert(body["messages"].begin(), body["messages"][0]);
  EXPECT_EQ(ask(body)["parlance"]["input_transcripts"].size(), 4u);
  body["stream"] = true;
  const std::string text = test::ask(server_->port(), "POST", "/v1/chat/completions", body.dump()).body;
  EXPECT_NE(text.find("input_transcripts"), std::string::npos) << text;
}

TEST_F(ChatAudio, WhatIsNoRecordingIsRefused) {
  const std::string where = "messages[0].content[0].input_audio";
  const auto expect_refused = [&](const json& part, const std::string& param, const std::string& code) {
    const json error = ask(chat(json::array({part})), 400)["error"];
    EXPECT_EQ(error["param"], where + param) << error;
    EXPECT_EQ(error["code"], code) << error;
  };
  expect_refused(recording("UklGRg==", "aac"), ".format", "invalid_value");
  expect_refused(recording("not base64!"), ".data", "invalid_value");
  expect_refused(recording(""), ".data", "invalid_value");
  expect_refused(recording(to_base64("no sound at all")), ".data", "unsupported_audio_format");
  expect_refused({{"type", "input_audio"}}, ".format", "invalid_value");
  expect_refused({{"type", "input_audio"}, {"input_audio", 5}}, ".format", "invalid_value");
}

}  // namespace
}  // namespace parlance
