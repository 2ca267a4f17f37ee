// Any bytes as a template, and as its variables: rendering ends, with a text or an error, within its limits.
//
// An input is a template, or a template, a line of five equal signs, and variables as JSON.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "chat/prompt.h"
#include "jinja/template.h"

namespace {

constexpr std::string_view kSeparator = "\n=====\n";

constexpr std::string_view kVariables = R"({
  "messages": [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": " Hi <there> \n", "parts": [1, 2.5, null, true, "é🙂"]},
    {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello!",
     "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, {"b": "c"}]}}}]},
    {"role": "user", "content": "Bye"}
  ],
  "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
  "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "n": 18446744073709551616, "x": -7, "f": 0.5
})";

parlance::TemplateLimits small_limits() {
  parlance::TemplateLimits limits;
  limits.max_steps = 20'000;
  limits.max_output_bytes = 1u << 16;
  return limits;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find(kSeparator);
  const bool has_variables = end != std::string_view::npos;
  const auto chat_template = parlance::ChatTemplate::parse(input.substr(0, end), small_limits());
  if (!chat_template) return 0;
  const auto text = chat_template->render(has_variables ? input.substr(end + kSeparator.size()) : kVariables,
                                          1'700'000'000);
  if (text && text->size() > small_limits().max_output_bytes) std::abort();

  // The same template behind a conversation whose last answer is the input itself.
  parlance::PromptOptions options;
  options.bos_token = "<s>";
  options.tokenizer_adds_bos = true;
  (void)parlance::render_prompt(
      *chat_template,
      {{"system", "Be brief."}, {"user", "Hi"}, {"assistant", std::string(input.substr(0, 64))}}, options);
  return 0;
}
