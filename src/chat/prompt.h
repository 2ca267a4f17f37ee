// A conversation as the text that a model was trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jinja/template.h"

namespace parlance {

struct Message {
  std::string role;                    // "system", "user", "assistant", "tool"
  std::string content;                 // UTF-8
  std::string reasoning_content = {};  // what an assistant thought before it answered; empty: not known
  std::string tool_calls_json = {};    // an array, as in the OpenAI API; empty: none
  std::string tool_call_id = {};       // of the call that a "tool" message answers; empty: not known
  std::string name = {};               // of who speaks; empty: not known
};

struct PromptOptions {
  bool add_generation_prompt = true;
  std::optional<bool> enable_thinking = false;  // none: as the template has it where nobody says
  std::string bos_token;                        // text of the special tokens, as the template expects them
  std::string eos_token;
  bool tokenizer_adds_bos = false;  // then a bos at the start of the rendered text is removed
  int64_t now_unix_s = 0;
  std::string tools_json = {};  // an array of tool definitions; empty: none
  std::string variables_json =
      {};  // an object with more variables for the template; they win over the others
};

// The rendered conversation. A template that refuses or ignores a system message gets its text in front of
// the first user message instead. Where a generation prompt is asked for, a trailing assistant message is
// left open, to be continued, and thinking is off. Bytes that are not UTF-8 read as U+FFFD. Errors: the
// template's own, JSON that cannot be read, a template that ignores the message to be continued.
Result<std::string> render_prompt(const ChatTemplate& chat_template, const std::vector<Message>& messages,
                                  const PromptOptions& options);

}  // namespace parlance
