#include "jinja/tests.h"

#include "jinja/filters.h"
#include "jinja/operators.h"
#include "jinja/print.h"
#include "text/letter_case.h"
#include "text/unicode.h"

namespace parlance::jinja {

namespace {

// A question about the value alone.
template <bool (*holds)(const Value&)>
Result<bool> property(Context&, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("this test", arguments));
  return holds(input);
}

bool is_defined(const Value& value) {
  return !value.is_undefined();
}
bool is_undefined(const Value& value) {
  return value.is_undefined();
}
bool is_none(const Value& value) {
  return value.is_none();
}
bool is_boolean(const Value& value) {
  return value.is_boolean();
}
bool is_exactly_true(const Value& value) {
  return value.is_boolean() && is_true(value);
}
bool is_exactly_false(const Value& value) {
  return value.is_boolean() && !is_true(value);
}
bool is_integer(const Value& value) {
  return value.integer() || value.pointee<const BigInteger>();
}
bool is_float(const Value& value) {
  return value.real() != nullptr;
}
bool is_any_number(const Value& value) {
  return is_integer(value) || is_boolean(value) || is_float(value);
}
bool is_string(const Value& value) {
  return value.string() != nullptr;
}
bool is_mapping(const Value& value) {
  return value.dict() != nullptr;
}
bool is_escaped(const Value& value) {
  return value.is_markup();
}

// Has a length and can be indexed.
bool is_sequence(const Value& value) {
  const Sequence* sequence = value.sequence();
  return value.string() || value.dict() || value.is_undefined() || (sequence && !sequence->is_view());
}

bool is_iterable(const Value& value) {
  return value.string() || value.dict() || value.sequence() || value.is_undefined() ||
         value.pointee<Iterator>() || value.pointee<Loop>();
}

bool is_callable(const Value& value) {
  return value.pointee<const Macro>() || value.pointee<const BoundMethod>() || value.pointee<Loop>() ||
         value.is_undefined() || std::holds_alternative<const Function*>(value.data());
}

Result<const Value*> only_argument(const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("this test", arguments, {"other"}, 1));
  return bound[0];
}

template <CompareOperator operation>
Result<bool> comparison(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const Value* other, only_argument(arguments));
  return compare(context.budget, operation, input, *other);
}

Result<Value> remainder(Context& context, const Value& input, const Value& divisor) {
  if (input.string()) return wrong_type("this test", "a number", input);
  return apply(context.budget, BinaryOperator::modulo, input, divisor);
}

Result<bool> odd(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("test 'odd'", arguments));
  PARLANCE_TRY(const Value rest, remainder(context, input, Value::integer(2)));
  return equal(context.budget, rest, Value::integer(1));
}

Result<bool> even(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("test 'even'", arguments));
  PARLANCE_TRY(const Value rest, remainder(context, input, Value::integer(2)));
  return equal(context.budget, rest, Value::integer(0));
}

Result<bool> divisible_by(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const Value* divisor, only_argument(arguments));
  PARLANCE_TRY(const Value rest, remainder(context, input, *divisor));
  return equal(context.budget, rest, Value::integer(0));
}

// Identity of objects. That of equal strings and large numbers depends on how Python happened to make them.
Result<bool> same_as(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const Value* other, only_argument(arguments));
  if (input.data().index() != other->data().index()) return false;
  if (input.is_none() || input.is_boolean()) return equal(context.budget, input, *other);
  if (const Sequence* sequence = input.sequence()) return sequence == other->sequence();
  if (const Dict* dict = input.dict()) return dict == other->dict();
  if (const Namespace* names = input.pointee<Namespace>()) return names == other->pointee<Namespace>();
  return fail(ErrorCode::unsupported,
              "test 'sameas' of two values of type '{}' is not supported; compare with '=='",
              type_name(input));
}

template <bool wants_upper>
Result<bool> is_case(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments(wants_upper ? "test 'upper'" : "test 'lower'", arguments));
  PARLANCE_TRY(const std::string text, to_str(context.budget, input));
  context.budget.spend_on_characters(text.size());
  return has_only_case(text, wants_upper);
}

template <class Row, const Row* (*find)(std::string_view)>
Result<bool> is_name_of(Context&, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("this test", arguments));
  return input.string() && find(*input.string()) != nullptr;
}

constexpr Test kTests[] = {
    {"!=", comparison<CompareOperator::not_equal>},
    {"<", comparison<CompareOperator::less>},
    {"<=", comparison<CompareOperator::less_equal>},
    {"==", comparison<CompareOperator::equal>},
    {">", comparison<CompareOperator::greater>},
    {">=", comparison<CompareOperator::greater_equal>},
    {"boolean", property<is_boolean>},
    {"callable", property<is_callable>},
    {"defined", property<is_defined>},
    {"divisibleby", divisible_by},
    {"eq", comparison<CompareOperator::equal>},
    {"equalto", comparison<CompareOperator::equal>},
    {"escaped", property<is_escaped>},
    {"even", even},
    {"false", property<is_exactly_false>},
    {"filter", is_name_of<Filter, find_filter>},
    {"float", property<is_float>},
    {"ge", comparison<CompareOperator::greater_equal>},
    {"greaterthan", comparison<CompareOperator::greater>},
    {"gt", comparison<CompareOperator::greater>},
    {"in", comparison<CompareOperator::in>},
    {"integer", property<is_integer>},
    {"iterable", property<is_iterable>},
    {"le", comparison<CompareOperator::less_equal>},
    {"lessthan", comparison<CompareOperator::less>},
    {"lower", is_case<false>},
    {"lt", comparison<CompareOperator::less>},
    {"mapping", property<is_mapping>},
    {"ne", comparison<CompareOperator::not_equal>},
    {"none", property<is_none>},
    {"number", property<is_any_number>},
    {"odd", odd},
    {"sameas", same_as},
    {"sequence", property<is_sequence>},
    {"string", property<is_string>},
    {"test", is_name_of<Test, find_test>},
    {"true", property<is_exactly_true>},
    {"undefined", property<is_undefined>},
    {"upper", is_case<true>},
};

}  // namespace

const Test* find_test(std::string_view name) {
  for (const Test& test : kTests) {
    if (test.name == name) return &test;
  }
  return nullptr;
}

}  // namespace parlance::jinja
