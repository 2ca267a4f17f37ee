// Chats in which something is said instead of written, and answers that are spoken.
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <thread>

#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "server/support/events.h"
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

class SpokenChat : public ChatAudio {
 protected:
  static json spoken(const json& audio = {{"voice", "alloy"}, {"format", "wav"}}) {
    json body = chat("What is nine plus four?");
    body["modalities"] = {"text", "audio"};
    body["audio"] = audio;
    return body;
  }
  static std::vector<json> stream(json body) {
    body["stream"] = true;
    body["stream_options"] = {{"include_usage", true}};
    const test::ClientAnswer answer = test::ask(server_->port(), "POST", "/v1/chat/completions", body.dump());
    EXPECT_EQ(answer.status, 200) << answer.body;
    return test::events_of(answer.body);
  }
};

TEST_F(SpokenChat, AWholeAnswerIsSoundThatSaysItsWords) {
  const json written = ask(chat("What is nine plus four?"))["choices"][0]["message"];
  const json whole = ask(spoken());
  const json message = whole["choices"][0]["message"];
  EXPECT_EQ(message["content"], written["content"]);
  const json& audio = message["audio"];
  EXPECT_EQ(audio["transcript"], written["content"]);
  EXPECT_TRUE(audio["id"].get<std::string>().starts_with("audio_"));
  EXPECT_GT(audio["expires_at"], whole["created"]);
  const int64_t n_frames = whole["usage"]["completion_tokens_details"]["audio_tokens"];
  const auto file = from_base64(audio["data"].get<std::string>());
  ASSERT_TRUE(file);
  EXPECT_NEAR(static_cast<double>((file->size() - 44) / 2), 960. * static_cast<double>(n_frames), 960);
  uint32_t n_bytes = 0;  // as its head has it
  std::memcpy(&n_bytes, file->data() + 40, sizeof n_bytes);
  EXPECT_EQ(n_bytes, file->size() - 44);
  const json heard = ask(chat(json::array({recording(audio["data"].get<std::string>())})));
  const std::string words = heard["parlance"]["input_transcripts"][0];
  EXPECT_NE(words.find("13"), std::string::npos) << words;
}

TEST_F(SpokenChat, EveryFormatIsAFileOfItsKind) {
  const std::pair<const char*, const char*> magic[] = {
      {"wav", "RIFF"}, {"flac", "fLaC"}, {"opus", "OggS"}, {"mp3", ""}, {"pcm16", ""}};
  for (const auto& [format, begins] : magic) {
    const json audio =
        ask(spoken({{"voice", "default"}, {"format", format}}))["choices"][0]["message"]["audio"];
    const auto file = from_base64(audio["data"].get<std::string>());
    ASSERT_TRUE(file && file->size() > 1000) << format;
    EXPECT_TRUE(file->starts_with(begins)) << format;
  }
}

TEST_F(SpokenChat, AStreamHasIdThenWordsAndSoundThenItsEnd) {
  const json whole = ask(spoken({{"format", "pcm16"}}))["choices"][0]["message"]["audio"];
  const std::vector<json> events = stream(spoken({{"format", "pcm16"}}));
  std::string transcript, sound, order;
  for (const json& event : events) {
    if (!event.is_object() || event["choices"].empty()) continue;
    const json& choice = event["choices"][0];
    const json& delta = choice["delta"];
    EXPECT_FALSE(delta.contains("content") && delta["content"] != "") << delta;
    if (choice["finish_reason"] != nullptr) order += 'f';
    if (!delta.contains("audio")) continue;
    EXPECT_EQ(delta.size(), 1u);
    const json& audio = delta["audio"];
    if (audio.contains("id")) order += 'i';
    if (audio.contains("transcript")) order += 't', transcript += audio["transcript"];
    if (audio.contains("data")) order += 'd', sound += *from_base64(audio["data"].get<std::string>());
    if (audio.contains("expires_at")) order += 'e';
  }
  EXPECT_EQ(transcript, whole["transcript"]);
  EXPECT_EQ(sound, *from_base64(whole["data"].get<std::string>()));
  EXPECT_TRUE(std::regex_match(order, std::regex("it[td]*def"))) << order;
  EXPECT_EQ(events.back(), "DONE");
  EXPECT_GT(events[events.size() - 2]["usage"]["completion_tokens_details"]["audio_tokens"], 0);
}

TEST_F(SpokenChat, WhatCannotBeSpokenIsRefused) {
  const auto expect_refused = [&](json body, const std::string& param) {
    const json error = ask(body, 400)["error"];
    EXPECT_EQ(error["param"], param) << error;
  };
  expect_refused(spoken({{"voice", "nobody"}}), "audio.voice");
  expect_refused(spoken({{"format", "aac"}}), "audio.format");
  json body = spoken();
  body["stream"] = true;
  expect_refused(body, "audio.format");
  body = spoken();
  body["n"] = 2;
  expect_refused(body, "n");
  for (const json& modalities :
       {json({"audio"}), json({"text", "text"}), json({"text", "video"}), json({5})}) {
    body = spoken();
    body["modalities"] = modalities;
    expect_refused(body, "modalities");
  }
}

TEST_F(SpokenChat, MayEndWithTheServerAtAnyMoment) {
  json body = spoken({{"format", "pcm16"}});
  body["stream"] = true;
  for (int ms = 0; ms < 160; ms += 16) {
    auto server = test::start_server(test::demo_options());
    ASSERT_TRUE(server);
    test::Client client(server->port());
    client.send(test::request_text("POST", "/v1/chat/completions", server->port(),
                                   {{"content-type", "application/json"}}, body.dump()));
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    server.reset();
    client.answer();
    EXPECT_TRUE(client.is_closed());
  }
}

TEST_F(SpokenChat, WhoLeavesAtAnyTimeLeavesNothingBehind) {
  json body = spoken({{"format", "pcm16"}});
  body["stream"] = true;
  for (size_t n_read = 0; n_read < 60000; n_read += 7000) {
    test::Client client(server_->port());
    client.send(test::request_text("POST", "/v1/chat/completions", server_->port(),
                                   {{"content-type", "application/json"}}, body.dump()));
    client.take(n_read);
  }
  EXPECT_TRUE(ask(spoken())["choices"][0]["message"].contains("audio"));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    const json slots = json::parse(test::ask(server_->port(), "GET", "/slots", "").body);
    if (std::ranges::none_of(slots, [](const json& slot) { return slot["is_processing"].get<bool>(); }))
      break;
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << slots;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace
}  // namespace parlance
