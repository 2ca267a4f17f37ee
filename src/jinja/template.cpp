#include "jinja/template.h"

#include <limits>
#include <utility>

#include "jinja/interpreter.h"
#include "jinja/parser.h"
#include "jinja/variables.h"
#include "text/unicode.h"

namespace parlance {

struct ChatTemplate::Impl {
  TemplateLimits limits;
  std::unique_ptr<const jinja::Program> program;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

namespace {

tl::unexpected<Error> in_template(const Error& error) {
  return fail(error.code, "chat template, {}", error.message);
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, const TemplateLimits& limits) {
  if (source.size() > limits.max_source_bytes ||
      source.size() > std::numeric_limits<jinja::Position>::max()) {
    return fail(ErrorCode::unsupported, "chat template of {} bytes, the limit is {}; give a shorter one",
                source.size(), limits.max_source_bytes);
  }
  if (const size_t invalid = find_invalid_utf8(source); invalid != std::string_view::npos) {
    return fail(ErrorCode::corrupt_file, "chat template, byte {}: not valid UTF-8; save it as UTF-8",
                invalid);
  }
  auto program = jinja::parse(source, limits);
  if (!program) return in_template(program.error());
  return ChatTemplate(std::make_unique<Impl>(Impl{limits, *std::move(program)}));
}

Result<std::string> ChatTemplate::render(std::string_view variables_json, int64_t now_unix_s) const {
  auto variables = jinja::parse_json(variables_json, impl_->limits.max_depth);
  if (!variables) {
    return fail(variables.error().code, "variables of the chat template, {}", variables.error().message);
  }
  return render(*variables, now_unix_s);
}

Result<std::string> ChatTemplate::render(const jinja::Value& variables, int64_t now_unix_s) const {
  if (!variables.dict()) {
    return fail(ErrorCode::invalid_argument,
                "variables of the chat template: expected a JSON object, found '{}'",
                jinja::type_name(variables));
  }
  auto text = jinja::Interpreter(*impl_->program, variables, impl_->limits, now_unix_s).run();
  if (!text) return in_template(text.error());
  return text;
}

}  // namespace parlance
