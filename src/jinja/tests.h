// `value is test(arguments)`.
#pragma once

#include <string_view>

#include "jinja/arguments.h"
#include "jinja/context.h"
#include "jinja/value.h"

namespace parlance::jinja {

struct Test {
  std::string_view name;
  Result<bool> (*call)(Context& context, const Value& input, const CallArguments& arguments);
};

// Null when there is no such test.
const Test* find_test(std::string_view name);

}  // namespace parlance::jinja
