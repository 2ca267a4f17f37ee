#include "jinja/attribute_path.h"

#include <algorithm>

#include "jinja/access.h"
#include "jinja/arguments.h"
#include "jinja/numbers.h"
#include "text/letter_case.h"
#include "text/unicode.h"

namespace parlance::jinja {

Result<AttributePath> AttributePath::parse(Context& context, const Value* attribute) {
  AttributePath path;
  if (!attribute || attribute->is_none()) return path;
  if (attribute->whole()) {
    path.parts_.push_back(*attribute);
    return path;
  }
  if (!attribute->string()) return wrong_type("an attribute", "a string or an integer", *attribute);
  std::string_view rest = *attribute->string();
  for (;;) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool is_index =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_index) {
      PARLANCE_TRY(const auto index, parse_integer(part));
      path.parts_.push_back(Value::integer(*index));
    } else {
      path.parts_.push_back(make_text(&context.budget, std::string(part)));
    }
    if (dot == std::string_view::npos || context.budget.exhausted()) return path;
    rest.remove_prefix(dot + 1);
  }
}

Result<Value> AttributePath::get(Context& context, const Value& item, const Value* fallback) const {
  context.budget.spend(1 + parts_.size());
  Value value = item;
  for (const Value& part : parts_) {
    PARLANCE_TRY(value, get_item(context, value, part));
    if (fallback && value.is_undefined()) value = *fallback;
  }
  return value;
}

Value without_case(Context& context, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.string()) return value;
  context.budget.spend_on_characters(value.string()->size());
  return make_text(&context.budget, lower(*value.string()), value.is_markup());
}

}  // namespace parlance::jinja
