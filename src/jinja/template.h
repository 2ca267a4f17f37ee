// Chat templates: an interpreter for the part of Jinja that published models use, bounded in steps, depth and
// output so that a template from a file can neither hang nor fill memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace parlance {

namespace jinja {
class Value;
}

struct TemplateLimits {
  size_t max_steps = 2'000'000;         // nodes evaluated, elements visited, KiB of text handled
  size_t max_output_bytes = 16u << 20;  // of the rendered text, and again of all values alive at one time
  size_t max_depth = 200;  // nesting of the source, of values, and (times four) of the evaluation
  size_t max_source_bytes = 1u << 20;
};

class ChatTemplate {
 public:
  // A parsed template, or an error with line and column.
  static Result<ChatTemplate> parse(std::string_view source, const TemplateLimits& limits = {});

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // Renders with the variables of a JSON object (messages, tools, add_generation_prompt, bos_token, …).
  // Errors: raise_exception() of the template with its message, an exceeded limit, an operation on the wrong
  // type. `now_unix_s` is what strftime_now() formats (UTC).
  Result<std::string> render(std::string_view variables_json, int64_t now_unix_s) const;
  // The same with variables that are values already: a dict.
  Result<std::string> render(const jinja::Value& variables, int64_t now_unix_s) const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace parlance
