#include <cmath>

#include "jinja/filters.h"
#include "jinja/numbers.h"

namespace parlance::jinja {

namespace {

Result<Value> abs_filter(Context&, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'abs'", arguments));
  if (const auto whole = input.whole()) {
    if (*whole == INT64_MIN)
      return fail(ErrorCode::unsupported, "the result of 'abs' does not fit into 64 bits");
    return Value::integer(std::abs(*whole));
  }
  if (const double* real = input.real()) return Value::real(std::fabs(*real));
  return wrong_type("filter 'abs'", "a number", input);
}

Result<Value> truncated(double value) {
  if (!std::isfinite(value))
    return fail(ErrorCode::invalid_argument, "filter 'int' cannot convert {}", value);
  if (value <= -0x1p63 || value >= 0x1p63) {
    return fail(ErrorCode::unsupported, "the result of 'int' does not fit into 64 bits");
  }
  return Value::integer(static_cast<int64_t>(value));
}

Result<Value> int_filter(Context&, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'int'", arguments, {"default", "base"}));
  PARLANCE_TRY(const int64_t base, integer_or("filter 'int'", bound[1], 10));
  if (input.is_undefined()) return undefined_error(input);
  if (const auto whole = input.whole()) return Value::integer(*whole);
  if (const double* real = input.real()) {
    if (!std::isnan(*real)) return truncated(*real);
  } else if (input.pointee<const BigInteger>()) {
    return input;
  } else if (const std::string* string = input.string()) {
    PARLANCE_TRY(const auto integer, parse_integer(*string, base));
    if (integer) return Value::integer(*integer);
    PARLANCE_TRY(const auto real, parse_float(*string));
    if (real && !std::isnan(*real)) return truncated(*real);
  }
  return bound[0] ? *bound[0] : Value::integer(0);
}

Result<Value> float_filter(Context&, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'float'", arguments, {"default"}));
  if (input.is_undefined()) return undefined_error(input);
  if (const auto whole = input.whole()) return Value::real(static_cast<double>(*whole));
  if (input.real()) return input;
  const auto* big = input.pointee<const BigInteger>();
  if (const std::string* string = big ? &big->digits : input.string()) {
    PARLANCE_TRY(const auto real, parse_float(*string));
    if (real) return Value::real(*real);
  }
  return bound[0] ? *bound[0] : Value::real(0.0);
}

// Half to even, to a multiple of 10 to the power n_zeros.
Result<Value> round_integer(int64_t value, int64_t n_zeros) {
  if (n_zeros <= 0) return Value::integer(value);
  if (n_zeros > 18)
    return fail(ErrorCode::unsupported, "filter 'round' to 10 to the power {} is not supported", n_zeros);
  int64_t unit = 1;
  for (int64_t i = 0; i < n_zeros; ++i) unit *= 10;
  int64_t quotient = value / unit;
  const int64_t remainder = std::abs(value % unit);
  if (remainder > unit / 2 || (remainder == unit / 2 && quotient % 2 != 0)) quotient += value < 0 ? -1 : 1;
  int64_t result;
  if (__builtin_mul_overflow(quotient, unit, &result)) {
    return fail(ErrorCode::unsupported, "the result of 'round' does not fit into 64 bits");
  }
  return Value::integer(result);
}

Result<Value> round_filter(Context&, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'round'", arguments, {"precision", "method"}));
  PARLANCE_TRY(const int64_t precision, integer_or("filter 'round'", bound[0], 0));
  PARLANCE_TRY(const std::string_view method, string_or("filter 'round'", bound[1], "common"));
  if (method != "common" && method != "ceil" && method != "floor") {
    return fail(ErrorCode::invalid_argument, "filter 'round' knows the methods common, ceil and floor");
  }
  const auto whole = input.whole();
  if (!whole && !input.real()) return wrong_type("filter 'round'", "a number", input);
  if (method == "common" && whole) return round_integer(*whole, precision < -100 ? 100 : -precision);
  const double value = whole ? static_cast<double>(*whole) : *input.real();
  if (precision < 0 || precision > 22) {
    return fail(ErrorCode::unsupported, "filter 'round' supports 0 to 22 decimals here, found {}", precision);
  }
  if (method == "common") return Value::real(round_to(value, static_cast<int>(precision)));
  if (!std::isfinite(value))
    return fail(ErrorCode::invalid_argument, "filter 'round' cannot convert {}", value);
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double whole_units = method == "ceil" ? std::ceil(value * unit) : std::floor(value * unit);
  return Value::real((whole_units + 0.0) / unit);  // an integer in Python, which has no negative zero
}

constexpr Filter kNumberFilters[] = {
    {"abs", abs_filter}, {"float", float_filter}, {"int", int_filter}, {"round", round_filter}};

}  // namespace

std::span<const Filter> number_filters() {
  return kNumberFilters;
}

}  // namespace parlance::jinja
