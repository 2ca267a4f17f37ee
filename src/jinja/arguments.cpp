#include "jinja/arguments.h"

#include <algorithm>

namespace parlance::jinja {

Result<void> bind_arguments(std::string_view function, const CallArguments& arguments,
                            const std::string_view* names, size_t n_names, size_t required,
                            const Value** bound) {
  if (arguments.positional.size() > n_names) {
    return fail(ErrorCode::invalid_argument, "{} takes at most {} argument(s), {} were given", function,
                n_names, arguments.positional.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) bound[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = static_cast<size_t>(std::find(names, names + n_names, name) - names);
    if (found == n_names) {
      return fail(ErrorCode::invalid_argument, "{} has no parameter '{}'", function, name.substr(0, 80));
    }
    if (bound[found]) return fail(ErrorCode::invalid_argument, "{} was given '{}' twice", function, name);
    bound[found] = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!bound[i]) return fail(ErrorCode::invalid_argument, "{} needs an argument '{}'", function, names[i]);
  }
  return {};
}

Result<void> expect_no_arguments(std::string_view function, const CallArguments& arguments) {
  if (arguments.positional.empty() && arguments.named.empty()) return {};
  return fail(ErrorCode::invalid_argument, "{} takes no arguments, {} were given", function,
              arguments.positional.size() + arguments.named.size());
}

Result<int64_t> integer_or(std::string_view function, const Value* argument, int64_t fallback) {
  if (!argument) return fallback;
  if (const auto whole = argument->whole()) return *whole;
  return wrong_type(function, "an integer", *argument);
}

Result<std::string_view> string_or(std::string_view function, const Value* argument,
                                   std::string_view fallback) {
  if (!argument) return fallback;
  if (const std::string* string = argument->string()) return std::string_view(*string);
  return wrong_type(function, "a string", *argument);
}

bool truth_or(const Value* argument, bool fallback) {
  return argument ? is_true(*argument) : fallback;
}

tl::unexpected<Error> wrong_type(std::string_view function, std::string_view expected, const Value& found) {
  if (found.is_undefined()) {
    return fail(ErrorCode::invalid_argument, "{} expects {}, and {}", function, expected,
                undefined_message(found));
  }
  const bool is_too_large = found.pointee<const BigInteger>() != nullptr;
  return fail(is_too_large ? ErrorCode::unsupported : ErrorCode::invalid_argument,
              "{} expects {}, found '{}'", function, expected, type_name(found));
}

}  // namespace parlance::jinja
