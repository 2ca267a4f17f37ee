#include "jinja/access.h"

#include <algorithm>

#include "jinja/ast.h"
#include "jinja/methods.h"
#include "text/unicode.h"

namespace parlance::jinja {

namespace {

Value undefined_attribute(const Value& object, const TextPtr& name) {
  if (is_mutating_method(object, name->bytes)) {
    return Value::undefined(name, object.dict() ? "immutable dict" : "immutable list");
  }
  return Value::undefined(name, type_name(object));
}

std::optional<Value> loop_attribute(const Loop& loop, std::string_view name) {
  const std::vector<Value>& items = loop.items();
  const auto integer = [](size_t value) { return Value::integer(static_cast<int64_t>(value)); };
  if (name == "index") return integer(loop.index0 + 1);
  if (name == "index0") return integer(loop.index0);
  if (name == "revindex") return integer(items.size() - loop.index0);
  if (name == "revindex0") return integer(items.size() - loop.index0 - 1);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "last") return Value::boolean(loop.index0 + 1 == items.size());
  if (name == "length") return integer(items.size());
  if (name == "depth") return integer(loop.depth0 + 1);
  if (name == "depth0") return integer(loop.depth0);
  if (name == "previtem") return loop.index0 > 0 ? items[loop.index0 - 1] : Value();
  if (name == "nextitem") return loop.index0 + 1 < items.size() ? items[loop.index0 + 1] : Value();
  return std::nullopt;
}

std::optional<Value> macro_attribute(Context& context, const Macro& macro, std::string_view name) {
  const ast::MacroDefinition& definition = *macro.definition;
  if (name == "name") {
    return definition.name ? Value(Value::Data(definition.name)) : Value::none();
  }
  if (name == "arguments") {
    std::vector<Value> names;
    for (const ast::Parameter& parameter : definition.parameters)
      names.push_back(Value(Value::Data(parameter.name)));
    return make_sequence(&context.budget, std::move(names), Sequence::Kind::tuple);
  }
  if (name == "caller") return Value::boolean(definition.uses_caller);
  if (name == "catch_kwargs") return Value::boolean(definition.uses_kwargs);
  if (name == "catch_varargs") return Value::boolean(definition.uses_varargs);
  return std::nullopt;
}

// The characters whose numbers are start, start + step, ... before stop (behind it when step is negative).
std::string slice_text(std::string_view text, int64_t start, int64_t stop, int64_t step) {
  std::string result;
  if (step == 1) {
    if (start >= stop) return result;
    const size_t begin = offset_of_code_point(text, static_cast<size_t>(start));
    return std::string(
        text.substr(begin, offset_of_code_point(text.substr(begin), static_cast<size_t>(stop - start))));
  }
  int64_t wanted = start;
  if (step > 0) {
    int64_t number = 0;
    for (size_t at = 0; at < text.size() && wanted < stop; ++number) {
      const size_t begin = at;
      next_code_point(text, at);
      if (number != wanted) continue;
      result += text.substr(begin, at - begin);
      if (step > stop - wanted) break;
      wanted += step;
    }
  } else {
    int64_t number = static_cast<int64_t>(count_code_points(text)) - 1;
    for (size_t at = text.size(); at > 0 && wanted > stop; --number) {
      const size_t end = at;
      previous_code_point(text, at);
      if (number != wanted) continue;
      result += text.substr(at, end - at);
      if (step < stop - wanted) break;
      wanted += step;
    }
  }
  return result;
}

struct Bounds {
  int64_t start, stop, step;
};

Result<std::optional<int64_t>> slice_bound(const Value* value) {
  if (!value || value->is_none()) return std::nullopt;
  if (const auto whole = value->whole()) return *whole;
  return fail(ErrorCode::invalid_argument, "the bounds of a slice are integers, found '{}'",
              type_name(*value));
}

// Python's slice.indices: bounds inside a sequence of `size`, for walking in steps.
Result<Bounds> slice_bounds(int64_t size, const Value* start, const Value* stop, const Value* step) {
  PARLANCE_TRY(const auto step_given, slice_bound(step));
  PARLANCE_TRY(const auto start_given, slice_bound(start));
  PARLANCE_TRY(const auto stop_given, slice_bound(stop));
  Bounds bounds{0, size, step_given.value_or(1)};
  if (bounds.step == 0) return fail(ErrorCode::invalid_argument, "the step of a slice cannot be 0");
  const bool is_backward = bounds.step < 0;
  const auto clamp = [&](std::optional<int64_t> given, int64_t fallback) {
    if (!given) return fallback;
    const int64_t lowest = is_backward ? -1 : 0, highest = is_backward ? size - 1 : size;
    if (*given < 0) return std::max(*given < -size ? lowest : *given + size, lowest);
    return std::min(*given, highest);
  };
  bounds.start = clamp(start_given, is_backward ? size - 1 : 0);
  bounds.stop = clamp(stop_given, is_backward ? -1 : size);
  return bounds;
}

}  // namespace

std::optional<size_t> resolve_index(int64_t index, size_t size) {
  const int64_t count = static_cast<int64_t>(size);
  if (index < -count || index >= count) return std::nullopt;
  return static_cast<size_t>(index < 0 ? index + count : index);
}

std::pair<size_t, size_t> resolve_range(int64_t start, int64_t stop, size_t size) {
  const int64_t count = static_cast<int64_t>(size);
  const auto clamp = [count](int64_t index) {
    if (index < 0) return index < -count ? 0 : index + count;
    return std::min(index, count);
  };
  return {static_cast<size_t>(clamp(start)), static_cast<size_t>(clamp(stop))};
}

bool looks_ahead(std::string_view loop_attribute) {
  return loop_attribute == "last" || loop_attribute == "nextitem" || loop_attribute == "length" ||
         loop_attribute == "revindex" || loop_attribute == "revindex0";
}

Result<Value> get_attribute_only(Context& context, const Value& object, const TextPtr& name) {
  if (object.is_undefined()) return undefined_error(object);
  if (const Namespace* names = object.pointee<Namespace>()) {
    const auto found = names->attributes.find(name->bytes);
    return found != names->attributes.end() ? found->second : undefined_attribute(object, name);
  }
  std::optional<Value> attribute;
  if (const Loop* loop = object.pointee<Loop>()) {
    if (looks_ahead(name->bytes) && !loop->is_complete()) {
      return fail(ErrorCode::unsupported, "'{}' of a loop with a condition is supported as loop.{} only",
                  name->bytes, name->bytes);
    }
    attribute = loop_attribute(*loop, name->bytes);
  }
  if (const Macro* macro = object.pointee<const Macro>())
    attribute = macro_attribute(context, *macro, name->bytes);
  if (const Sequence* sequence = object.sequence(); sequence && sequence->kind == Sequence::Kind::group) {
    if (name->bytes == "grouper") attribute = sequence->items[0];
    if (name->bytes == "list") attribute = sequence->items[1];
  }
  if (attribute) return *attribute;
  PARLANCE_TRY(const Method* method, find_method(object, name->bytes));
  if (!method) return undefined_attribute(object, name);
  return Value(Value::Data(std::make_shared<const BoundMethod>(BoundMethod{object, method})));
}

Result<Value> get_attribute(Context& context, const Value& object, const TextPtr& name) {
  const Dict* dict = object.dict();
  if (!dict) return get_attribute_only(context, object, name);
  // A key that is also the name of a method is reached with brackets.
  if (is_mutating_method(object, name->bytes)) return undefined_attribute(object, name);
  PARLANCE_TRY(const Method* method, find_method(object, name->bytes));
  if (method) return Value(Value::Data(std::make_shared<const BoundMethod>(BoundMethod{object, method})));
  const Value* item = dict->find(name->bytes);
  return item ? *item : undefined_attribute(object, name);
}

Result<Value> get_item(Context& context, const Value& object, const Value& index) {
  Budget& budget = context.budget;
  if (object.is_undefined()) return undefined_error(object);
  const auto whole = index.whole();
  if (const Dict* dict = object.dict()) {
    if (const std::string* key = index.string()) budget.spend_on_bytes(key->size());
    if (check_hashable(index)) {
      if (const Value* item = dict->find(index)) return *item;
    }
  } else if (const Sequence* sequence = object.sequence(); sequence && whole && !sequence->is_view()) {
    if (const auto position = resolve_index(*whole, sequence->items.size()))
      return sequence->items[*position];
  } else if (const std::string* string = object.string(); string && whole) {
    budget.spend_on_bytes(string->size());
    if (const auto position = resolve_index(*whole, count_code_points(*string))) {
      const size_t begin = offset_of_code_point(*string, *position);
      size_t end = begin;
      next_code_point(*string, end);
      return make_text(&budget, string->substr(begin, end - begin), object.is_markup());
    }
  }
  if (index.pointee<const BigInteger>() && (object.sequence() || object.string())) {
    return fail(ErrorCode::unsupported, "an index of more than 64 bits is not supported");
  }
  const auto* name = std::get_if<TextPtr>(&index.data());
  if (!name) return Value::undefined(nullptr, type_name(object));
  return get_attribute_only(context, object, *name);
}

Result<Value> get_slice(Context& context, const Value& object, const Value* start, const Value* stop,
                        const Value* step) {
  Budget& budget = context.budget;
  if (object.is_undefined()) return undefined_error(object);
  if (const std::string* string = object.string()) {
    PARLANCE_TRY(const Bounds bounds,
                 slice_bounds(static_cast<int64_t>(count_code_points(*string)), start, stop, step));
    budget.spend_on_characters(string->size());
    return make_text(&budget, slice_text(*string, bounds.start, bounds.stop, bounds.step),
                     object.is_markup());
  }
  const Sequence* sequence = object.sequence();
  if (!sequence || sequence->is_view()) {
    return fail(ErrorCode::invalid_argument, "'{}' cannot be sliced", type_name(object));
  }
  PARLANCE_TRY(const Bounds bounds,
               slice_bounds(static_cast<int64_t>(sequence->items.size()), start, stop, step));
  std::vector<Value> items;
  for (int64_t i = bounds.start; bounds.step > 0 ? i < bounds.stop : i > bounds.stop;) {
    items.push_back(sequence->items[static_cast<size_t>(i)]);
    if (bounds.step > 0 ? bounds.step > bounds.stop - i : bounds.step < bounds.stop - i) break;
    i += bounds.step;
  }
  budget.spend(items.size());
  return make_sequence(&budget, std::move(items),
                       sequence->kind == Sequence::Kind::group ? Sequence::Kind::tuple : sequence->kind);
}

}  // namespace parlance::jinja
