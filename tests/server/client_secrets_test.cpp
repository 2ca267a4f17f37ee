// Secrets for realtime sockets: how long they are good for, how many there may be, and the routes that make
// them.
#include "server/client_secrets.h"

#include <filesystem>
#include <set>

#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "server/support/schema.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;
using std::chrono::seconds;

const ClientSecrets::Clock::time_point kStart{seconds(1000000)};

ClientSecret until(seconds life) {
  ClientSecret secret;
  secret.owner = "home";
  secret.session = "kept";
  secret.expires_at = kStart + life;
  return secret;
}

TEST(ServerClientSecrets, AreGoodUntilTheyExpire) {
  ClientSecrets secrets;
  const auto text = secrets.add(until(seconds(60)), kStart);
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("ek_"));
  EXPECT_EQ(text->size(), 46u);
  const auto found = secrets.find(*text, kStart + seconds(59));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->owner, "home");
  EXPECT_EQ(found->session.text(), "kept");
  EXPECT_FALSE(secrets.find(*text, kStart + seconds(60)));
  EXPECT_FALSE(secrets.find(text->substr(0, 45), kStart));
  EXPECT_FALSE(secrets.find(*text + "a", kStart));
  EXPECT_FALSE(secrets.find("", kStart));
}

TEST(ServerClientSecrets, AreAThousandAtMostAndExpiredOnesMakeRoom) {
  ClientSecrets secrets;
  std::set<std::string> texts;
  for (size_t i = 0; i < ClientSecrets::kMost; ++i) {
    const auto text = secrets.add(until(seconds(i == 7 ? 30 : 60)), kStart);
    ASSERT_TRUE(text);
    texts.insert(*text);
  }
  EXPECT_EQ(texts.size(), ClientSecrets::kMost);
  EXPECT_FALSE(secrets.add(until(seconds(60)), kStart));
  EXPECT_EQ(secrets.time_until_room(kStart + seconds(1)), seconds(29));
  EXPECT_TRUE(secrets.add(until(seconds(90)), kStart + seconds(30)));
  EXPECT_FALSE(secrets.add(until(seconds(90)), kStart + seconds(30)));
}

class ServerClientSecretRoutes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ServerOptions options = test::demo_options();
    options.gate.keys = {*make_key("a test", "key-of-the-home-0", "home", false)};
    server_ = test::start_server(options).release();
  }
  static void TearDownTestSuite() { delete server_; }
  void SetUp() override { ASSERT_TRUE(server_); }

  static json post(const std::string& path, const json& body, int status = 200) {
    const test::ClientAnswer answer = test::ask(server_->port(), "POST", path, body.dump(),
                                                {{"authorization", "Bearer key-of-the-home-0"}});
    EXPECT_EQ(answer.status, status) << answer.body;
    return json::parse(answer.body, nullptr, false);
  }

  static Server* server_;
};

Server* ServerClientSecretRoutes::server_ = nullptr;

TEST_F(ServerClientSecretRoutes, AnswerWithTheSessionAsItWillBe) {
  const json answer =
      post("/v1/realtime/client_secrets", {{"expires_after", {{"anchor", "created_at"}, {"seconds", 20}}},
                                           {"session", {{"type", "realtime"}, {"instructions", "be kind"}}}});
  if (std::filesystem::exists(test::fixtures_root() / "server/shapes/ops.json")) {
    const json shapes = test::read_json(test::fixtures_root() / "server/shapes/ops.json");
    EXPECT_EQ(test::breach_of(shapes["$defs"]["client_secret"], answer, shapes), "");
    const json ga = test::read_json(test::fixtures_root() / "server/shapes/realtime_ga.json");
    EXPECT_EQ(test::breach_of(ga["$defs"]["session"], answer["session"], ga), "");
  }
  EXPECT_EQ(answer["session"]["instructions"], "be kind");
  const auto now =
      std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(answer["expires_at"].get<double>(), static_cast<double>(now + 20), 2);
  const auto secret = server_->site().client_secrets.find(answer["value"].get<std::string>());
  ASSERT_TRUE(secret);
  EXPECT_EQ(secret->owner, "home");
  EXPECT_EQ(secret->session.member("instructions")->text(), "be kind");

  const json usual = post("/v1/realtime/client_secrets", json::object());
  EXPECT_NEAR(usual["expires_at"].get<double>(), static_cast<double>(now + 600), 2);
  const json hears = post("/v1/realtime/client_secrets", {{"session", {{"type", "transcription"}}}});
  EXPECT_EQ(hears["session"]["type"], "transcription");
  EXPECT_EQ(hears["session"]["object"], "realtime.session");
}

TEST_F(ServerClientSecretRoutes, RefuseWhatNoSessionCanBe) {
  const auto param = [](const json& body) {
    return post("/v1/realtime/client_secrets", body, 400)["error"]["param"];
  };
  EXPECT_EQ(param({{"expires_after", {{"seconds", 9}}}}), "expires_after.seconds");
  EXPECT_EQ(param({{"expires_after", {{"seconds", 7201}}}}), "expires_after.seconds");
  EXPECT_EQ(param({{"expires_after", {{"anchor", "now"}}}}), "expires_after.anchor");
  EXPECT_EQ(param({{"session", {{"audio", {{"output", {{"speed", 100}}}}}}}}), "session.audio.output.speed");
  EXPECT_EQ(param({{"session", {{"audio", {{"output", {{"voice", "nobody"}}}}}}}}),
            "session.audio.output.voice");
  EXPECT_EQ(test::ask(server_->port(), "POST", "/v1/realtime/client_secrets", "{}").status, 401);
}

TEST_F(ServerClientSecretRoutes, OlderClientsAskForSessions) {
  const json talks =
      post("/v1/realtime/sessions", {{"instructions", "be kind"}, {"input_audio_format", "g711_ulaw"}});
  EXPECT_EQ(talks["instructions"], "be kind");
  EXPECT_EQ(talks["input_audio_format"], "g711_ulaw");
  const auto secret = server_->site().client_secrets.find(talks["client_secret"]["value"].get<std::string>());
  ASSERT_TRUE(secret);
  EXPECT_EQ(secret->dialect, Dialect::beta);
  const json hears = post("/v1/realtime/transcription_sessions", json::object());
  EXPECT_EQ(hears["object"], "realtime.transcription_session");
  EXPECT_EQ(server_->site().client_secrets.find(hears["client_secret"]["value"].get<std::string>())->kind,
            SessionKind::transcription);
}

TEST(ServerGate, ASocketsKeyMayComeInASubProtocol) {
  GateRules rules;
  rules.keys = {*make_key("a test", "key-of-the-home-0", "home", false)};
  HttpRequest request;
  request.method = "GET";
  request.fields = {{"host", "localhost"}};
  const auto who = [&](const char* name, const char* value) {
    HttpRequest asked = request;
    asked.fields.push_back({name, value});
    const auto caller = pass(rules, asked, KeyNeed::any);
    return caller ? (*caller)->name : std::to_string(caller.error().status);
  };
  EXPECT_EQ(who("sec-websocket-protocol", "realtime, openai-insecure-api-key.key-of-the-home-0"), "home");
  EXPECT_EQ(who("sec-websocket-protocol", "openai-insecure-api-key.key-of-the-home-1, realtime"), "401");
  EXPECT_EQ(who("sec-websocket-protocol", "realtime"), "401");
  EXPECT_EQ(who("authorization", "Bearer key-of-the-home-0"), "home");
  request.fields.push_back({"authorization", "Bearer another-key-000"});
  EXPECT_EQ(who("sec-websocket-protocol", "openai-insecure-api-key.key-of-the-home-0"), "401");
}

}  // namespace
}  // namespace parlance
