// Arguments of calls, and how builtins take them: by position or by name, as a Python signature would.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "jinja/value.h"

namespace parlance::jinja {

struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;
  Value unpacked;  // the dict of `**dict`, which owns those names
};

// Assigns the arguments to parameter names; null where none was given. The first `required` must be.
Result<void> bind_arguments(std::string_view function, const CallArguments& arguments,
                            const std::string_view* names, size_t n_names, size_t required,
                            const Value** bound);

template <size_t N>
Result<std::array<const Value*, N>> bind_arguments(std::string_view function, const CallArguments& arguments,
                                                   const std::string_view (&names)[N], size_t required = 0) {
  std::array<const Value*, N> bound{};
  PARLANCE_CHECK(bind_arguments(function, arguments, names, N, required, bound.data()));
  return bound;
}

// For what takes none.
Result<void> expect_no_arguments(std::string_view function, const CallArguments& arguments);

// One argument as a type. A null pointer gives the default.
Result<int64_t> integer_or(std::string_view function, const Value* argument, int64_t fallback);
Result<std::string_view> string_or(std::string_view function, const Value* argument,
                                   std::string_view fallback);
bool truth_or(const Value* argument, bool fallback);

// The error that an argument of the wrong type gives.
tl::unexpected<Error> wrong_type(std::string_view function, std::string_view expected, const Value& found);

}  // namespace parlance::jinja
