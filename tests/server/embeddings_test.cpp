// POST /v1/embeddings: both encodings, all kinds of input, and what it refuses.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <thread>

#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "server/support/schema.h"
#include "support/json_file.h"
#include "text/base64.h"

namespace parlance {
namespace {

using nlohmann::json;

const char* const kEmbeddings = "/v1/embeddings";

class ServerEmbeddings : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ServerOptions options = test::demo_options();
    options.models.files.embedding = test::demo_text_file();
    options.aliases = {{"other", ModelKind::embedding}};
    server_ = test::start_server(options).release();
  }
  static void TearDownTestSuite() { delete server_; }
  void SetUp() override { ASSERT_TRUE(server_); }

  static json ask(const json& body, int status = 200) {
    const test::ClientAnswer answer = test::ask(server_->port(), "POST", kEmbeddings, body.dump());
    EXPECT_EQ(answer.status, status) << answer.body.substr(0, 500);
    return json::parse(answer.body, nullptr, false);
  }
  static std::vector<float> values(const json& body, size_t i = 0) {
    return ask(body)["data"][i]["embedding"];
  }
  static double length(const std::vector<float>& values) {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value) * value;
    return std::sqrt(sum);
  }
  static double cosine(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
  }

  static Server* server_;
};

Server* ServerEmbeddings::server_ = nullptr;

TEST_F(ServerEmbeddings, NumbersAndTheirBytesSayTheSame) {
  const json answer = ask({{"input", "Hello there"}, {"model", "other"}});
  if (std::filesystem::exists(test::fixtures_root() / "server/shapes/embedding.json")) {
    const json shapes = test::read_json(test::fixtures_root() / "server/shapes/embedding.json");
    EXPECT_EQ(test::breach_of(shapes["$defs"]["list"], answer, shapes), "");
  }
  EXPECT_GT(answer["usage"]["prompt_tokens"], 0);
  EXPECT_EQ(answer["model"], server_->site().offers.back().id);
  const std::vector<float> numbers = answer["data"][0]["embedding"];
  EXPECT_NEAR(length(numbers), 1, 1e-5);
  const json coded = ask({{"input", "Hello there"}, {"encoding_format", "base64"}});
  const auto bytes = from_base64(coded["data"][0]["embedding"].get<std::string>());
  ASSERT_TRUE(bytes);
  ASSERT_EQ(bytes->size(), numbers.size() * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes->data(), numbers.data(), bytes->size()), 0);
}

TEST_F(ServerEmbeddings, ManyTextsAreThoseOfEach) {
  json texts = json::array();
  for (int i = 0; i < 40; ++i) texts.push_back("Text number " + std::to_string(i * i) + std::string(i, 'a'));
  const json all = ask({{"input", texts}});
  ASSERT_EQ(all["data"].size(), texts.size());
  for (size_t i = 0; i < texts.size(); i += 13) {
    EXPECT_EQ(all["data"][i]["index"], i);
    // Texts that are computed together are rounded differently.
    EXPECT_GT(cosine(all["data"][i]["embedding"], values({{"input", texts[i]}})), 0.999) << i;
  }
  EXPECT_LT(cosine(all["data"][0]["embedding"], all["data"][39]["embedding"]), 0.999);
}

TEST_F(ServerEmbeddings, TokensStandForTheirText) {
  const json tokens =
      json::parse(test::ask(server_->port(), "POST", "/tokenize",
                            R"({"content":"Hello there","add_special":true,"parse_special":false})")
                      .body)["tokens"];
  EXPECT_EQ(values({{"input", tokens}}), values({{"input", "Hello there"}}));
  EXPECT_EQ(ask({{"input", json::array({tokens, tokens})}})["data"].size(), 2u);
}

TEST_F(ServerEmbeddings, FewerDimensionsAreTheFirstOnesScaled) {
  const std::vector<float> all = values({{"input", "Hello"}});
  const std::vector<float> few = values({{"input", "Hello"}, {"dimensions", 16}});
  ASSERT_EQ(few.size(), 16u);
  EXPECT_NEAR(length(few), 1, 1e-5);
  for (size_t i = 0; i < few.size(); ++i) EXPECT_NEAR(few[i] / few[0], all[i] / all[0], 1e-3f);
}

TEST_F(ServerEmbeddings, WhatCannotBeEmbeddedIsRefusedByName) {
  const auto refusal = [&](const json& body, int status = 400) { return ask(body, status)["error"]; };
  EXPECT_EQ(refusal({{"model", "other"}})["code"], "missing_required_parameter");
  for (const json& input : {json(""), json::array({"a", ""}), json::array(), json::array({json::array()}),
                            json::array({-1}), json::array({1 << 30})}) {
    const json error = refusal({{"input", input}});
    EXPECT_EQ(error["param"], "input") << input;
    EXPECT_EQ(error["code"], "invalid_value") << input;
  }
  EXPECT_EQ(refusal({{"input", {{"a", 1}}}})["code"], "invalid_type");
  EXPECT_EQ(refusal({{"input", std::vector<std::string>(2049, "a")}})["code"], "array_above_max_length");
  EXPECT_EQ(refusal({{"input", "a"}, {"dimensions", 100000}})["param"], "dimensions");
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "word ";
  EXPECT_EQ(refusal({{"input", json::array({"short", text})}})["code"], "context_length_exceeded");
  EXPECT_EQ(refusal({{"input", "a"}, {"model", "none"}}, 404)["code"], "model_not_found");
  EXPECT_EQ(refusal({{"input", "a"}, {"model", server_->site().offers.front().id}})["code"], "invalid_value");
}

TEST_F(ServerEmbeddings, WhoLeavesStopsThem) {
  const json body = {{"input", std::vector<std::string>(2000, "A text that many want to be found by.")}};
  for (int i = 0; i < 4; ++i) {
    test::Client client(server_->port());
    client.send(test::request_text("POST", kEmbeddings, server_->port(),
                                   {{"content-type", "application/json"}}, body.dump()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * i));
  }
  for (int i = 0; i < 1000 && server_->site().n_embedding > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(server_->site().n_embedding, 0);
}

TEST(ServerWithoutEmbeddings, SaysSo) {
  const auto server = test::start_server(test::demo_options());
  ASSERT_TRUE(server);
  const test::ClientAnswer answer = test::ask(server->port(), "POST", kEmbeddings, R"({"input":"a"})");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(json::parse(answer.body)["error"]["code"], "model_not_found");
}

}  // namespace
}  // namespace parlance
