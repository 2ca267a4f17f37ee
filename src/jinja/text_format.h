// Text with placeholders, in Python's two notations.
#pragma once

#include "jinja/arguments.h"
#include "jinja/value.h"

namespace parlance::jinja {

// '%s and %03d' % (a, b), '%(name)s' % {...}: `arguments` is a tuple, a dict or a single value.
Result<Value> format_percent(Budget& budget, const Value& format, const Value& arguments);

// '{} and {name!r}'.format(a, name=b): fields by position or name, conversions !s and !r. Format
// specifications behind a colon, attributes and items of fields are not supported.
Result<Value> format_braces(Budget& budget, const Value& format, const CallArguments& arguments);

}  // namespace parlance::jinja
