// Parts of values: `object.name`, `object[index]`, `object[start:stop:step]`.
#pragma once

#include "base/result.h"
#include "jinja/context.h"
#include "jinja/value.h"

namespace parlance::jinja {

// A method or attribute, else the item of that name, else undefined. An error when the object is undefined.
Result<Value> get_attribute(Context& context, const Value& object, const TextPtr& name);
// Whether an attribute of `loop` tells of elements behind the current one.
bool looks_ahead(std::string_view loop_attribute);
// Only methods and attributes, not items (the filter `attr`).
Result<Value> get_attribute_only(Context& context, const Value& object, const TextPtr& name);
// The item at an index or key, else the attribute of that name, else undefined.
Result<Value> get_item(Context& context, const Value& object, const Value& index);
// Null: left out.
Result<Value> get_slice(Context& context, const Value& object, const Value* start, const Value* stop,
                        const Value* step);

// An index from the front or, when negative, from the end; empty when it is outside of `size`.
std::optional<size_t> resolve_index(int64_t index, size_t size);
// Start and end of a part given as Python gives it: negative values count from the end, both are clamped.
std::pair<size_t, size_t> resolve_range(int64_t start, int64_t stop, size_t size);

}  // namespace parlance::jinja
