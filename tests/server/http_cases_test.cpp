// Every recorded request against a real server: status, code, fields and shape of its answer.
#include <chrono>
#include <regex>

#include "server/support/client.h"
#include "server/support/demo_server.h"
#include "server/support/schema.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;

std::string part_bytes(const json& part) {
  if (part.is_string()) {
    // Latin-1: a code point is a byte.
    const std::string text = part;
    std::string bytes;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<unsigned char>(text[i]);
      bytes += c < 0x80 ? static_cast<char>(c)
                        : static_cast<char>((c & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f));
    }
    return bytes;
  }
  std::string bytes;
  if (part.contains("hex")) {
    const std::string hex = part["hex"];
    for (size_t i = 0; i < hex.size(); i += 2)
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return bytes;
  }
  const std::string text = part_bytes(part["repeat"]);
  for (size_t n = part["times"]; n > 0; --n) bytes += text;
  return bytes;
}

// {repeat, times} anywhere in an object stands for the text.
json expanded(const json& value, const std::string& text_model) {
  if (value.is_object() && value.contains("repeat") && value.contains("times")) return part_bytes(value);
  if (value.is_string() && value == "$text") return text_model;
  if (!value.is_structured()) return value;
  json result = value;
  for (json& member : result) member = expanded(member, text_model);
  return result;
}

std::string bytes_of(const json& parts) {
  std::string bytes;
  for (const json& part : parts) bytes += part_bytes(part);
  return bytes;
}

class HttpCases : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("server");
    ServerOptions options = test::demo_options();
    const std::string config = GetParam();
    if (config == "keys") options.gate.keys = {*make_key("test", "test-key-0123456789", "test", true)};
    if (config == "cors") options.gate.cors_origins = {"https://app.example"};
    options.is_strict = config == "strict";
    server_ = test::start_server(options);
    ASSERT_TRUE(server_);
  }

  void check_case(const json& one);
  void check_answer(const json& expect, const test::ClientAnswer& answer);

  std::unique_ptr<Server> server_;
};

void HttpCases::check_answer(const json& expect, const test::ClientAnswer& answer) {
  EXPECT_EQ(answer.status, expect["status"]) << answer.body.substr(0, 300);
  EXPECT_TRUE(answer.is_whole);
  const json matches = expect.value("headers_match", json::object());
  for (const auto& [name, pattern] : matches.items()) {
    std::string text = pattern;
    auto flags = std::regex::ECMAScript;
    if (text.starts_with("(?i)")) {
      text.erase(0, 4);
      flags |= std::regex::icase;
    }
    EXPECT_TRUE(std::regex_search(answer.field(name), std::regex(text, flags)))
        << name << ": " << answer.field(name);
  }
  for (const std::string name : expect.value("headers_absent", json::array())) {
    EXPECT_FALSE(answer.fields.contains(name)) << name;
  }
  if (expect.value("empty_body", false)) {
    EXPECT_EQ(answer.body, "");
  }
  const json body = json::parse(answer.body, nullptr, false);
  const auto check_shape = [&](const std::string& where) {
    const size_t mark = where.find('#');
    const json shapes =
        test::read_json(test::fixtures_root() / "server/shapes" / (where.substr(0, mark) + ".json"));
    EXPECT_EQ(test::breach_of(shapes["$defs"][where.substr(mark + 1)], body, shapes), "")
        << answer.body.substr(0, 2000);
  };
  if (expect.contains("shape")) check_shape(expect["shape"]);
  if (answer.status >= 400 && !body.is_discarded()) check_shape("error#error");
  if (expect.contains("code")) {
    EXPECT_EQ(body["error"]["code"], expect["code"]) << answer.body;
  }
  if (expect.contains("param")) {
    EXPECT_EQ(body["error"]["param"], expect["param"]) << answer.body;
  }
  const json values = expect.value("body_match", json::object());
  for (const auto& [path, value] : values.items()) {
    std::string pointer = "/" + path;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    EXPECT_EQ(body.at(json::json_pointer(pointer)), value) << path;
  }
}

void HttpCases::check_case(const json& one) {
  const json& expect = one["expect"];
  test::Client client(server_->port());
  ASSERT_TRUE(client.is_connected());
  const auto began = std::chrono::steady_clock::now();
  bool has_body = true;
  if (one.contains("raw")) {
    client.send(bytes_of(one["raw"]));
  } else {
    const json& request = one["request"];
    const std::string host = "127.0.0.1:" + std::to_string(server_->port());
    std::map<std::string, std::string> fields;
    for (const auto& [name, value] : request["headers"].items()) {
      std::string text = value;
      if (const size_t at = text.find("$host"); at != std::string::npos) text.replace(at, 5, host);
      fields[name] = text;
    }
    std::string body;
    if (request.contains("body")) {
      body = request["body"].is_array() ? bytes_of(request["body"])
                                        : expanded(request["body"], server_->site().offers.front().id).dump();
    }
    has_body = request["method"] != "HEAD";
    client.send(test::request_text(request["method"], request["path"], server_->port(), fields, body));
  }
  const int n_answers = expect.value("answers", 1);
  for (int i = 0; i < n_answers; ++i) check_answer(expect, client.answer(has_body));
  if (expect.contains("min_ms")) {
    EXPECT_GE(std::chrono::steady_clock::now() - began,
              std::chrono::milliseconds(expect["min_ms"].get<int>()));
  }
  if (expect.contains("close")) {
    EXPECT_EQ(client.is_closed(expect["close"] ? 5000 : 50), expect["close"].get<bool>());
  }
}

TEST_P(HttpCases, AreAnsweredAsRecorded) {
  const json cases = test::read_json(test::fixtures_root() / "server/http_cases.json")["cases"];
  int n = 0;
  for (const json& one : cases) {
    if (one["config"] != GetParam()) continue;
    SCOPED_TRACE(one["name"].get<std::string>());
    check_case(one);
    ++n;
  }
  EXPECT_GT(n, 0);
}

INSTANTIATE_TEST_SUITE_P(Configurations, HttpCases, testing::Values("open", "keys", "cors", "strict"));

}  // namespace
}  // namespace parlance
