// Methods of strings, lists and dicts.
#pragma once

#include <span>
#include <string_view>

#include "jinja/arguments.h"
#include "jinja/context.h"
#include "jinja/value.h"

namespace parlance::jinja {

struct Method {
  std::string_view name;
  Result<Value> (*call)(Context& context, const Value& self, const CallArguments& arguments);
};

// The method of a value, null when its type has none of this name. An error for a method that Python has and
// this interpreter does not.
Result<const Method*> find_method(const Value& self, std::string_view name);

// Methods that change a list or a dict: templates see them as undefined, as in the sandbox they are written
// for.
bool is_mutating_method(const Value& self, std::string_view name);

std::span<const Method> string_methods();

}  // namespace parlance::jinja
