// Calls of tools as grammars: what each notation lets through, and what it stops.
#include "grammar/tool_calls.h"

#include "grammar/following.h"
#include "gtest/gtest.h"

namespace parlance {
namespace {

const CallableTool kWeather = {
    "weather",
    R"({"type":"object","properties":{"city":{"type":"string"},"days":{"$ref":"#/$defs/days"}},"required":["city"],"$defs":{"days":{"type":"integer","minimum":1,"maximum":9}}})"};
const CallableTool kNow = {"now", R"({"type":"object","additionalProperties":false})"};
const CallableTool kPaint = {
    "paint", R"({"type":"object","properties":{"colour":{"type":"string","enum":["red","green"]}}})"};

class CallGrammars : public testing::Test {
 protected:
  void compile(ToolCalls calls) {
    if (calls.tools.empty()) calls.tools = {kWeather, kNow};
    auto grammar = grammar_of(calls);
    ASSERT_TRUE(grammar) << grammar.error().message;
    grammar_ = *std::move(grammar);
  }
  void expect(bool is_taken, std::initializer_list<const char*> texts) const {
    for (const char* text : texts) EXPECT_EQ(test::follows(grammar_, text), is_taken) << text;
  }

  std::shared_ptr<const Grammar> grammar_;
};

constexpr const char* kCallOfWeather =
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Bonn\", \"days\": 3}}\n</tool_call>";
constexpr const char* kCallOfNow = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";

TEST_F(CallGrammars, OfMarkedJsonTakeCallsAlone) {
  compile({.notation = CallNotation::marked_json, .tools = {}, .is_required = true});
  const std::string weather = kCallOfWeather, now = kCallOfNow;
  const std::string both = "\n\n" + weather + "\n" + now, near = now + now;
  expect(true, {kCallOfWeather, kCallOfNow, both.c_str(), near.c_str()});
  expect(true, {"<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>"});
  expect(
      false,
      {"", "Hello", "<tool_call>", ("I call " + now).c_str(), (now + " and so on").c_str(),
       "<tool_call>\n{\"name\": \"other\", \"arguments\": {}}\n</tool_call>",
       "<tool_call>\n{\"name\": \"now\", \"arguments\": {\"a\": 1}}\n</tool_call>",
       "<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>",
       "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": 5}}\n</tool_call>",
       "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"a\", \"days\": 10}}\n</tool_call>"});
  std::string many;
  for (int i = 0; i < 16; ++i) many += now;
  expect(true, {many.c_str()});
  expect(false, {(many + now).c_str()});
  compile({.notation = CallNotation::marked_json, .tools = {}, .is_one = true, .is_required = true});
  expect(true, {kCallOfNow});
  expect(false, {near.c_str()});
}

TEST_F(CallGrammars, OfWordsLetAnythingStandBesideThem) {
  compile({.notation = CallNotation::marked_json, .tools = {}});
  const std::string now = kCallOfNow;
  const std::string between = "First " + now + " then " + now + " done", begun = "<tool_call <tool_ca";
  expect(true, {"", "Hello", "a < b, <tool>", "<<tool_call", kCallOfNow, between.c_str(), begun.c_str()});
  expect(false, {"<tool_call>", "I say <tool_call> now",
                 "so <<tool_call>\n{\"name\": \"other\", \"arguments\": {}}\n</tool_call>"});
  compile({.notation = CallNotation::marked_json, .tools = {}, .is_one = true});
  expect(true, {("Well " + now).c_str()});
  expect(false, {between.c_str()});
}

TEST(WordsWithoutCalls, AreAnyThatDoNotBeginOne) {
  const auto grammar =
      grammar_of({.notation = CallNotation::marked_json, .tools = {}, .has_mark_tokens = true});
  ASSERT_TRUE(grammar) << grammar.error().message;
  for (const char* text : {"", "Hello", "<tool_call", "<<tool_cal> <tool_call", "a <tool_caller>"})
    EXPECT_TRUE(test::follows(*grammar, text)) << text;
  for (const char* text : {"<tool_call>", "so <<tool_call>", "<tool_call<tool_call>{"})
    EXPECT_FALSE(test::follows(*grammar, text)) << text;
}

TEST_F(CallGrammars, OfXmlHaveTextsAsTheyAreAndOtherValuesInJson) {
  compile({.notation = CallNotation::marked_xml, .tools = {kWeather, kPaint}, .is_required = true});
  const std::string head = "<tool_call>\n<function=weather>\n<parameter=city>",
                    tail = "</function>\n</tool_call>";
  const auto city = [&](const std::string& value) { return head + "\n" + value + "\n</parameter>\n" + tail; };
  expect(true,
         {city("Bonn").c_str(), city("two\nlines </parameter> \"quoted\"").c_str(),
          (head + "\n</parameter>\n" + tail).c_str(),
          (head + "\nBonn\n</parameter>\n<parameter=days>\n3\n</parameter>\n" + tail).c_str(),
          "<tool_call>\n<function=paint>\n<parameter=colour>\nred\n</parameter>\n</function>\n</tool_call>",
          "<tool_call>\n<function=paint>\n</function>\n</tool_call>"});
  expect(
      false,
      {("<tool_call>\n<function=weather>\n" + tail).c_str(),
       (head + "\nBonn\n</parameter>\n<parameter=days>\nthree\n</parameter>\n" + tail).c_str(),
       "<tool_call>\n<function=paint>\n<parameter=colour>\nblue\n</parameter>\n</function>\n</tool_call>"});
}

TEST_F(CallGrammars, OfBareJsonAreTheWholeAnswer) {
  compile({.notation = CallNotation::bare_json, .tools = {}, .is_required = true});
  expect(true, {"{\"name\": \"now\", \"parameters\": {}}"});
  expect(false, {"", "Hello", "{\"name\": \"now\", \"parameters\": {}} and so on", kCallOfNow});
  compile({.notation = CallNotation::bare_json, .tools = {}});
  expect(true, {"", "Hello {", "{\"name\": \"now\", \"parameters\": {}}"});
  expect(false, {"{", " {\"name\"", "{\"name\": \"other\", \"parameters\": {}}"});
}

TEST(ToolSchemas, ThatCannotBeKeptAreErrors) {
  for (const CallNotation notation :
       {CallNotation::marked_json, CallNotation::marked_xml, CallNotation::bare_json}) {
    const auto grammar = grammar_of(
        {.notation = notation,
         .tools = {{"f", R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}})"}}});
    ASSERT_FALSE(grammar);
    EXPECT_EQ(grammar.error().code, ErrorCode::unsupported);
  }
}

}  // namespace
}  // namespace parlance
