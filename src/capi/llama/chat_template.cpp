// Conversations as the text that a model was trained on: any template, read by the interpreter for Jinja.
#include <ctime>

#include "capi/llama/abi.h"
#include "capi/llama/report.h"
#include "capi/llama/text_out.h"
#include "chat/prompt.h"
#include "jinja/template.h"

namespace parlance::capi {

namespace {

// What may be given by name in place of a template.
constexpr const char* kChatMlName = "chatml";
constexpr std::string_view kChatMlTemplate =
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}";

std::string or_empty(const char* text) {
  return text ? text : "";
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

// No vocabulary is given, so texts begin without the token that llama_tokenize() puts there.
int32_t llama_chat_apply_template(const char* tmpl, const llama_chat_message* chat, size_t n_msg,
                                  bool add_ass, char* buf, int32_t length) {
  return llama_answer(__func__, -1, [&]() -> Result<int32_t> {
    if (!chat && n_msg > 0) return fail(ErrorCode::invalid_argument, "{} messages at NULL", n_msg);
    if (n_msg > INT32_MAX) return fail(ErrorCode::invalid_argument, "{} messages are too many", n_msg);
    std::vector<Message> messages;
    for (size_t i = 0; i < n_msg; ++i)
      messages.push_back({or_empty(chat[i].role), or_empty(chat[i].content)});
    const std::string_view source = tmpl ? tmpl : kChatMlName;
    PARLANCE_TRY(const ChatTemplate chat_template,
                 ChatTemplate::parse(source == kChatMlName ? kChatMlTemplate : source));
    PARLANCE_TRY(const std::string text, render_prompt(chat_template, messages,
                                                       {.add_generation_prompt = add_ass,
                                                        .enable_thinking = true,
                                                        .bos_token = {},
                                                        .eos_token = {},
                                                        .now_unix_s = std::time(nullptr)}));
    const size_t room = buf && length > 0 ? static_cast<size_t>(length) : 0;
    std::copy_n(text.data(), std::min(room, text.size()), buf);
    if (text.size() < room) buf[text.size()] = '\0';
    return static_cast<int32_t>(std::min<size_t>(text.size(), INT32_MAX));
  });
}

int32_t llama_chat_builtin_templates(const char** output, size_t len) {
  if (output && len > 0) output[0] = kChatMlName;
  return 1;
}
