// A conversation as the text that a model was trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/template.h"

namespace parlance {

struct Message {
  std::string role;     // "system", "user", "assistant", "tool"
  std::string content;  // UTF-8
};

struct PromptOptions {
  bool add_generation_prompt = true;
  bool enable_thinking = false;
  std::string bos_token;  // text of the special tokens, as the template expects them
  std::string eos_token;
  bool tokenizer_adds_bos = false;  // then a bos at the start of the rendered text is removed
  int64_t now_unix_s = 0;
};

// The rendered conversation. A template that refuses a system message gets its text in front of the first
// user message instead; a trailing assistant message is left open, to be continued.
Result<std::string> render_prompt(const ChatTemplate& chat_template, const std::vector<Message>& messages,
                                  const PromptOptions& options);

}  // namespace parlance
