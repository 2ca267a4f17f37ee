// How values read as text: Python's str() and repr(), and JSON.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "jinja/value.h"
#include "jinja/writer.h"

namespace parlance::jinja {

// str(value): what `{{ value }}` prints. Undefined prints as nothing. What has no text worth printing (a
// generator, a range, a function) sets the writer's error.
void write_str(Writer& writer, const Value& value);
// repr(value): as it stands inside a printed list.
void write_repr(Writer& writer, const Value& value);

Result<std::string> to_str(Budget& budget, const Value& value);

// The shortest decimal that reads back as the same double, in Python's notation: 1.0, 1e-05, 1e+16, inf, nan.
std::string float_repr(double value);

// `&`, `<`, `>` and quotes as HTML entities.
void write_escaped(Writer& writer, std::string_view text);
// str(value), escaped for HTML unless it is markup already.
Result<Value> escape_html(Budget& budget, const Value& value);

struct JsonStyle {
  std::optional<std::string> indent;  // of one level; empty: on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
  bool ascii_only = false;
};
// As Python's json.dumps. An error for values that JSON has no form for.
void write_json(Writer& writer, const Value& value, const JsonStyle& style);

}  // namespace parlance::jinja
