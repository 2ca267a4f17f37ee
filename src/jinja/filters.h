// `value | filter(arguments)`.
#pragma once

#include <span>
#include <string_view>

#include "jinja/arguments.h"
#include "jinja/context.h"
#include "jinja/value.h"

namespace parlance::jinja {

struct Filter {
  std::string_view name;
  Result<Value> (*call)(Context& context, const Value& input, const CallArguments& arguments);
};

// Null when there is no such filter.
const Filter* find_filter(std::string_view name);

// The filters by what they work on, one source file each.
std::span<const Filter> text_filters();
std::span<const Filter> number_filters();
std::span<const Filter> sequence_filters();
std::span<const Filter> selection_filters();

}  // namespace parlance::jinja
