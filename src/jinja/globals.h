// Functions that every template can call.
#pragma once

#include <string_view>

#include "jinja/arguments.h"
#include "jinja/context.h"
#include "jinja/value.h"

namespace parlance::jinja {

struct Function {
  std::string_view name;
  Result<Value> (*call)(Context& context, const CallArguments& arguments);
};

// Null when there is no such global. An error for those of Jinja that this interpreter lacks.
Result<const Function*> find_global(std::string_view name);

}  // namespace parlance::jinja
