#include "chat/answer_reader.h"

#include <random>

#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;

struct ReadAnswer {
  std::string words, thoughts;
  std::vector<std::pair<std::string, std::string>> calls;  // name, arguments
  bool operator==(const ReadAnswer&) const = default;
};

void take(ReadAnswer& answer, const std::vector<ReadPiece>& pieces) {
  for (const ReadPiece& piece : pieces) {
    switch (piece.kind) {
      case ReadPiece::Kind::words:
        answer.words += piece.text;
        break;
      case ReadPiece::Kind::thoughts:
        answer.thoughts += piece.text;
        break;
      case ReadPiece::Kind::call:
        answer.calls.emplace_back(piece.text, "");
        break;
      case ReadPiece::Kind::arguments:
        ASSERT_FALSE(answer.calls.empty());
        answer.calls.back().second += piece.text;
        break;
    }
  }
}

ReadAnswer read_in(const AnswerReaderOptions& options, const std::vector<std::string_view>& parts) {
  AnswerReader reader(options);
  ReadAnswer answer;
  for (const std::string_view part : parts) take(answer, reader.push(part));
  take(answer, reader.finish());
  return answer;
}

// Whole, byte by byte, cut at every place and at many sets of places.
ReadAnswer read_every_way(const AnswerReaderOptions& options, const std::string& text) {
  const std::string_view all = text;
  const ReadAnswer whole = read_in(options, {all});
  std::vector<std::string_view> bytes;
  for (size_t i = 0; i < all.size(); ++i) bytes.push_back(all.substr(i, 1));
  EXPECT_EQ(read_in(options, bytes), whole) << text;
  for (size_t i = 0; i <= all.size(); ++i) {
    EXPECT_EQ(read_in(options, {all.substr(0, i), all.substr(i)}), whole) << text << " cut at " << i;
  }
  std::mt19937 random(7);
  for (int n = 0; n < 100; ++n) {
    std::vector<std::string_view> parts;
    for (size_t at = 0; at < all.size();) {
      const size_t length = 1 + random() % 12;
      parts.push_back(all.substr(at, length));
      at += length;
    }
    EXPECT_EQ(read_in(options, parts), whole) << text;
  }
  return whole;
}

ToolFamily family_from(const std::string& name) {
  if (name == "qwen-xml") return ToolFamily::qwen_xml;
  return name == "llama-json" ? ToolFamily::llama_json : ToolFamily::hermes;
}

TEST(AnswerReader, FindsRecordedCallsHoweverTheTextIsCut) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const json fixture = test::read_json(test::fixtures_root() / "server/tool_parse.json");
  std::map<std::string, std::vector<std::string>> tools;
  for (const auto& [name, schema] : fixture["tools"].items()) {
    tools[name];
    for (const auto& [parameter, of] : schema["properties"].items()) {
      if (of["type"] == "string") tools[name].push_back(parameter);
    }
  }
  for (const json& one : fixture["cases"]) {
    const std::string text = one["text"];
    SCOPED_TRACE(text);
    const bool is_xml = one["family"] == "qwen-xml";
    const ReadAnswer read = read_every_way({.family = family_from(one["family"]), .tools = tools}, text);
    EXPECT_EQ(read.words, one["content"].is_null() ? "" : one["content"].get<std::string>());
    ASSERT_EQ(read.calls.size(), one["tool_calls"].size());
    for (size_t i = 0; i < read.calls.size(); ++i) {
      const std::string arguments = one["tool_calls"][i]["arguments"];
      EXPECT_EQ(read.calls[i].first, one["tool_calls"][i]["name"]);
      if (is_xml) {
        EXPECT_EQ(json::parse(read.calls[i].second), json::parse(arguments));
      } else {
        EXPECT_EQ(read.calls[i].second, arguments);
      }
    }
  }
}

TEST(AnswerReader, FindsRecordedThoughtsHoweverTheTextIsCut) {
  PARLANCE_REQUIRE_FIXTURES("server");
  const json fixture = test::read_json(test::fixtures_root() / "server/tool_parse.json");
  for (const json& one : fixture["reasoning"]) {
    const std::string text = one["text"];
    SCOPED_TRACE(text);
    const ReadAnswer read = read_every_way({.begins_in_thoughts = one["begins_open"]}, text);
    EXPECT_EQ(read.words, one["rest"]);
    EXPECT_EQ(read.thoughts, one["reasoning"].is_null() ? "" : one["reasoning"].get<std::string>());
  }
}

TEST(AnswerReader, CallsAreNotLookedForInThoughts) {
  const AnswerReaderOptions options{.family = ToolFamily::hermes, .tools = {{"now", {}}}};
  const ReadAnswer read = read_every_way(
      options, "<think>\n<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>\n</think>\n\nno");
  EXPECT_EQ(read.calls.size(), 0u);
  EXPECT_EQ(read.words, "no");
}

TEST(JsonBytes, TakesWhatIsJsonAndNothingElse) {
  const auto n_taken = [](std::string_view text) {
    JsonBytes json;
    size_t n = 0;
    while (n < text.size() && json.push(text[n])) ++n;
    return n;
  };
  for (const std::string_view good :
       {R"({"a":[1,-0.5e+3,true,null,"\u00e9\n"],"b":{}})", "[]", R"("x")", "[[],[{}]]"}) {
    EXPECT_EQ(n_taken(good), good.size()) << good;
  }
  EXPECT_EQ(n_taken("[1,]"), 3u);
  EXPECT_EQ(n_taken("{\"a\" 1}"), 5u);
  EXPECT_EQ(n_taken("[01]"), 2u);
  EXPECT_EQ(n_taken("[1.]"), 3u);
  EXPECT_EQ(n_taken("[tru]"), 4u);
  EXPECT_EQ(n_taken("{} "), 2u);
  EXPECT_EQ(n_taken(std::string(100, '[')), JsonBytes::kMostDepth);
}

}  // namespace
}  // namespace parlance
