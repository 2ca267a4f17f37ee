// Arithmetic, comparison, membership and formatting with Python's rules.
#pragma once

#include "base/result.h"
#include "jinja/value.h"

namespace parlance::jinja {

enum class BinaryOperator { add, subtract, multiply, divide, floor_divide, modulo, power };
enum class CompareOperator { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };

Result<Value> apply(Budget& budget, BinaryOperator operation, const Value& a, const Value& b);
Result<Value> negate(const Value& value);
Result<Value> plus(const Value& value);
Result<bool> compare(Budget& budget, CompareOperator operation, const Value& a, const Value& b);
Result<bool> contains(Budget& budget, const Value& container, const Value& item);

}  // namespace parlance::jinja
