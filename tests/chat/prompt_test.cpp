#include "chat/prompt.h"

#include "chat/own_templates.h"
#include "gtest/gtest.h"

namespace parlance {
namespace {

ChatTemplate parsed(std::string_view source) {
  auto result = ChatTemplate::parse(source);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return *std::move(result);
}

std::string prompt(const ChatTemplate& chat_template, const std::vector<Message>& messages,
                   const PromptOptions& options = {}) {
  const auto result = render_prompt(chat_template, messages, options);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
  return result.value_or("");
}

const char* const kPlain =
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}</>{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}";

TEST(Prompt, PassesMessagesAndOptions) {
  PromptOptions options;
  options.eos_token = "<eos>";
  options.now_unix_s = 1721995200;
  const auto chat_template = parsed(
      "{{ messages | tojson }}{{ add_generation_prompt }}{{ enable_thinking }}{{ eos_token }}{{ tools is "
      "none }}"
      "{{ strftime_now('%Y') }}");
  EXPECT_EQ(prompt(chat_template, {{"user", "Hi"}}, options),
            "[{\"role\": \"user\", \"content\": \"Hi\"}]TrueFalse<eos>True2024");
}

TEST(Prompt, ThinkingAsAsked) {
  const auto chat_template = parsed(test::kThinking);
  PromptOptions options;
  const std::string begin = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
  EXPECT_EQ(prompt(chat_template, {{"user", "Hi"}}, options), begin + "<think>\n\n</think>\n\n");
  options.enable_thinking = true;
  EXPECT_EQ(prompt(chat_template, {{"user", "Hi"}}, options), begin);
  options.enable_thinking.reset();
  EXPECT_EQ(prompt(chat_template, {{"user", "Hi"}}, options), begin) << "as the template has it";
  EXPECT_EQ(prompt(parsed("{{ enable_thinking is defined }}"), {{"user", "Hi"}}, options), "False");
}

// ---- System messages ----

TEST(PromptSystem, IsKeptWhereTheTemplateTakesIt) {
  EXPECT_EQ(prompt(parsed(kPlain), {{"system", "Be brief."}, {"user", "Hi"}}),
            "[system]Be brief.</>[user]Hi</>[assistant]");
}

TEST(PromptSystem, MovesToTheFirstUserMessageWhereItIsRefused) {
  EXPECT_EQ(prompt(parsed(test::kNoSystem),
                   {{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Yes?"}, {"user", "Bye"}}),
            "<start_of_turn>user\nBe brief.\nHi<end_of_turn>\n<start_of_turn>model\nYes?<end_of_turn>\n"
            "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n");
}

TEST(PromptSystem, MovesWhereItWouldBeLost) {
  const auto chat_template =
      parsed("{% for m in messages if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endfor %}");
  EXPECT_EQ(prompt(chat_template, {{"system", "Be brief."}, {"user", "Hi"}}), "[user]Be brief.\nHi");
}

TEST(PromptSystem, IsNotLostWhenItIsPrintedInAnotherForm) {
  const auto chat_template =
      parsed("{% for m in messages %}[{{ m.role }}]{{ m.content | tojson }}{% endfor %}");
  EXPECT_EQ(prompt(chat_template, {{"system", "one\ntwo"}, {"user", "Hi"}}),
            "[system]\"one\\ntwo\"[user]\"Hi\"");
}

TEST(PromptSystem, BecomesAUserMessageWhenThereIsNone) {
  EXPECT_EQ(prompt(parsed(test::kNoSystem), {{"system", "Be brief."}}),
            "<start_of_turn>user\nBe brief.<end_of_turn>\n<start_of_turn>model\n");
}

TEST(PromptSystem, OtherRefusalsKeepTheirMessage) {
  const auto result =
      render_prompt(parsed(test::kNoSystem), {{"system", "s"}, {"assistant", "a"}, {"assistant", "b"}}, {});
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("System role not supported"), std::string::npos)
      << result.error().message;
  const auto other = render_prompt(parsed(test::kNoSystem), {{"user", "a"}, {"user", "b"}}, {});
  ASSERT_FALSE(other.has_value());
  EXPECT_NE(other.error().message.find("alternate"), std::string::npos) << other.error().message;
}

// ---- Continuing an answer ----

TEST(PromptPrefill, LeavesTheLastAnswerOpen) {
  EXPECT_EQ(prompt(parsed(kPlain), {{"user", "Hi"}, {"assistant", "Well, "}}),
            "[user]Hi</>[assistant]Well, ");
}

TEST(PromptPrefill, KeepsItsEndAsItIs) {
  const auto chat_template = parsed(test::kDated);
  const std::string text = prompt(chat_template, {{"user", "Hi"}, {"assistant", " Well,\n "}});
  EXPECT_TRUE(text.ends_with("assistant<|end_header_id|>\n\nWell,\n ")) << text;
}

TEST(PromptPrefill, TurnsThinkingOff) {
  PromptOptions options;
  options.enable_thinking = true;
  EXPECT_EQ(prompt(parsed(test::kThinking), {{"user", "Hi"}, {"assistant", "Well"}}, options),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\nWell");
}

TEST(PromptPrefill, WithAFoldedSystemMessage) {
  EXPECT_EQ(prompt(parsed(test::kNoSystem), {{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Well"}}),
            "<start_of_turn>user\nBe brief.\nHi<end_of_turn>\n<start_of_turn>model\nWell");
}

TEST(PromptPrefill, WhateverTheContentsAre) {
  const auto chat_template = parsed(kPlain);
  for (const char* content : {"", "</>", "MARK0MARK", "[assistant]", "é🙂"}) {
    EXPECT_EQ(prompt(chat_template, {{"user", content}, {"assistant", content}}),
              std::string("[user]") + content + "</>[assistant]" + content);
  }
}

TEST(PromptPrefill, IsClosedWhenNoAnswerIsAskedFor) {
  PromptOptions options;
  options.add_generation_prompt = false;
  EXPECT_EQ(prompt(parsed(kPlain), {{"user", "Hi"}, {"assistant", "Well"}}, options),
            "[user]Hi</>[assistant]Well</>");
}

TEST(PromptPrefill, ATemplateThatDropsItIsAnError) {
  const auto chat_template = parsed("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}");
  const auto result = render_prompt(chat_template, {{"user", "Hi"}, {"assistant", "Well"}}, {});
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("assistant"), std::string::npos) << result.error().message;
}

TEST(PromptPrefill, AnAnswerThatCallsToolsIsComplete) {
  Message answer{"assistant", "Wait."};
  answer.tool_calls_json = R"([{"function": {"name": "f", "arguments": {}}}])";
  EXPECT_EQ(prompt(parsed(kPlain), {{"user", "Hi"}, answer}), "[user]Hi</>[assistant]Wait.</>[assistant]");
}

// ---- Special tokens ----

TEST(PromptBos, IsRemovedOnceIfTheTokenizerAddsIt) {
  const auto chat_template = parsed("{{ bos_token }}{{ messages[0].content }}");
  PromptOptions options;
  options.bos_token = "<s>";
  EXPECT_EQ(prompt(chat_template, {{"user", "<s>Hi"}}, options), "<s><s>Hi");
  options.tokenizer_adds_bos = true;
  EXPECT_EQ(prompt(chat_template, {{"user", "<s>Hi"}}, options), "<s>Hi");
  options.bos_token = "";
  EXPECT_EQ(prompt(chat_template, {{"user", "Hi"}}, options), "Hi");
}

// ---- What the caller hands in ----

TEST(PromptInput, InvalidUtf8ReadsAsReplacementCharacters) {
  const auto chat_template = parsed(kPlain);
  const struct {
    const char* bytes;
    const char* text;
  } cases[] = {
      {"a\xff"
       "b",
       "a\uFFFDb"},
      {"\xc3", "\uFFFD"},
      {"\xe2\x82", "\uFFFD"},
      {"\xe2\x82"
       "a",
       "\uFFFDa"},
      {"\xc0\x80", "\uFFFD\uFFFD"},
      {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xf0\x9f\x99\x82", "\U0001F642"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(prompt(chat_template, {{"user", bytes}}), std::string("[user]") + text + "</>[assistant]");
    EXPECT_EQ(prompt(chat_template, {{"user", "x"}, {"assistant", bytes}}),
              std::string("[user]x</>[assistant]") + text);
    EXPECT_EQ(prompt(chat_template, {{bytes, "x"}}), std::string("[") + text + "]x</>[assistant]");
  }
}

TEST(PromptInput, ToolsCallsAndReasoning) {
  const auto chat_template = parsed(
      "{{ tools[0].function.name }}{% for m in messages %}|{{ m.role }}:{{ m.reasoning_content }}:"
      "{{ m.tool_calls[0].function.arguments | tojson if m.tool_calls }}:{{ m.tool_call_id }}{% endfor %}{{ "
      "extra }}");
  PromptOptions options;
  options.tools_json = R"([{"type": "function", "function": {"name": "time"}}])";
  options.variables_json = R"({"extra": "more"})";
  Message call{"assistant", "", "Let me look."};
  call.tool_calls_json = R"([{"id": "1", "function": {"name": "time", "arguments": {"b": 1, "a": 2}}}])";
  Message answer{"tool", "12:30"};
  answer.tool_call_id = "1";
  EXPECT_EQ(prompt(chat_template, {{"user", "?"}, call, answer}, options),
            "time|user:::|assistant:Let me look.:{\"b\": 1, \"a\": 2}:|tool:::1more");
}

TEST(PromptInput, BadJsonNamesWhatItWasGivenFor) {
  const auto chat_template = parsed(kPlain);
  PromptOptions options;
  options.tools_json = "[{]";
  EXPECT_NE(render_prompt(chat_template, {}, options).error().message.find("tools"), std::string::npos);
  options.tools_json = "";
  options.variables_json = "[1]";
  EXPECT_NE(render_prompt(chat_template, {}, options).error().message.find("variables"), std::string::npos);
  Message call{"assistant", ""};
  call.tool_calls_json = "nope";
  EXPECT_NE(render_prompt(chat_template, {call}, {}).error().message.find("tool calls"), std::string::npos);
}

TEST(PromptInput, NoMessagesAtAll) {
  EXPECT_EQ(prompt(parsed(kPlain), {}), "[assistant]");
}

}  // namespace
}  // namespace parlance
