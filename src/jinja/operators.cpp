#include "jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/checked.h"
#include "jinja/print.h"
#include "jinja/text_format.h"
#include "jinja/text_search.h"

namespace parlance::jinja {

namespace {

const char* symbol(BinaryOperator operation) {
  switch (operation) {
    case BinaryOperator::add:
      return "+";
    case BinaryOperator::subtract:
      return "-";
    case BinaryOperator::multiply:
      return "*";
    case BinaryOperator::divide:
      return "/";
    case BinaryOperator::floor_divide:
      return "//";
    case BinaryOperator::modulo:
      return "%";
    case BinaryOperator::power:
      return "**";
  }
  return "?";
}

tl::unexpected<Error> too_large(BinaryOperator operation) {
  return fail(ErrorCode::unsupported, "the result of '{}' does not fit into 64 bits", symbol(operation));
}

tl::unexpected<Error> division_by_zero(BinaryOperator operation) {
  return fail(ErrorCode::invalid_argument, "division by zero in '{}'", symbol(operation));
}

std::optional<int64_t> integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (;;) {
    if (exponent & 1) {
      const auto product = checked_mul(result, base);
      if (!product) return std::nullopt;
      result = *product;
    }
    exponent >>= 1;
    if (exponent == 0) return result;
    const auto square = checked_mul(base, base);
    if (!square) return std::nullopt;
    base = *square;
  }
}

Result<Value> float_power(double a, double b) {
  if (a == 0.0 && b < 0.0) return division_by_zero(BinaryOperator::power);
  if (a < 0.0 && std::isfinite(a) && std::isfinite(b) && b != std::trunc(b)) {
    return fail(ErrorCode::unsupported,
                "a negative number to a fractional power is complex, which is not supported");
  }
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
    return fail(ErrorCode::invalid_argument, "the result of '**' is too large for a float");
  }
  return Value::real(result);
}

// Quotient and remainder rounded down, as floats.
std::pair<double, double> floor_division(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0.0) {
    if ((b < 0.0) != (remainder < 0.0)) {
      remainder += b;
      quotient -= 1.0;
    }
  } else {
    remainder = std::copysign(0.0, b);
  }
  if (quotient == 0.0) return {std::copysign(0.0, a / b), remainder};
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5) whole += 1.0;
  return {whole, remainder};
}

double true_division(int64_t a, int64_t b) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (a >= -kExact && a <= kExact && b >= -kExact && b <= kExact) {
    return static_cast<double>(a) / static_cast<double>(b);
  }
  return static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b));
}

Result<Value> apply_integers(BinaryOperator operation, int64_t a, int64_t b) {
  std::optional<int64_t> result;
  switch (operation) {
    case BinaryOperator::add:
      result = checked_add(a, b);
      break;
    case BinaryOperator::multiply:
      result = checked_mul(a, b);
      break;
    case BinaryOperator::subtract:
      if (int64_t difference; !__builtin_sub_overflow(a, b, &difference)) result = difference;
      break;
    case BinaryOperator::power:
      if (b < 0) return float_power(static_cast<double>(a), static_cast<double>(b));
      result = integer_power(a, b);
      break;
    case BinaryOperator::divide:
      if (b == 0) return division_by_zero(operation);
      return Value::real(true_division(a, b));
    case BinaryOperator::floor_divide:
    case BinaryOperator::modulo: {
      if (b == 0) return division_by_zero(operation);
      if (b == -1) {  // the one quotient that can overflow
        if (operation == BinaryOperator::modulo) return Value::integer(0);
        if (a != INT64_MIN) result = -a;
        break;
      }
      const bool adjusts = a % b != 0 && (a % b < 0) != (b < 0);
      result = operation == BinaryOperator::modulo ? a % b + (adjusts ? b : 0) : a / b - (adjusts ? 1 : 0);
      break;
    }
  }
  if (!result) return too_large(operation);
  return Value::integer(*result);
}

Result<Value> apply_floats(BinaryOperator operation, double a, double b) {
  switch (operation) {
    case BinaryOperator::add:
      return Value::real(a + b);
    case BinaryOperator::subtract:
      return Value::real(a - b);
    case BinaryOperator::multiply:
      return Value::real(a * b);
    case BinaryOperator::power:
      return float_power(a, b);
    default:
      break;
  }
  if (b == 0.0) return division_by_zero(operation);
  if (operation == BinaryOperator::divide) return Value::real(a / b);
  const auto [quotient, remainder] = floor_division(a, b);
  return Value::real(operation == BinaryOperator::modulo ? remainder : quotient);
}

// Text that came through `safe` stays safe: what is added to it is escaped.
Result<Value> concatenate_text(Budget& budget, const Value& a, const Value& b) {
  if (a.is_markup() == b.is_markup()) {
    Writer writer(budget);
    writer.append(*a.string());
    writer.append(*b.string());
    return writer.finish_text(a.is_markup());
  }
  PARLANCE_TRY(const Value left, escape_html(budget, a));
  PARLANCE_TRY(const Value right, escape_html(budget, b));
  return concatenate_text(budget, left, right);
}

Result<Value> concatenate_sequences(Budget& budget, const Sequence& a, const Sequence& b) {
  budget.spend(a.items.size() + b.items.size());
  if (!budget.has_room((a.items.size() + b.items.size()) * sizeof(Value))) return budget.error();
  std::vector<Value> items;
  items.reserve(a.items.size() + b.items.size());
  items.insert(items.end(), a.items.begin(), a.items.end());
  items.insert(items.end(), b.items.begin(), b.items.end());
  return make_sequence(&budget, std::move(items),
                       a.is_tuple() ? Sequence::Kind::tuple : Sequence::Kind::list);
}

bool can_concatenate(const Sequence& sequence) {
  return sequence.kind == Sequence::Kind::list || sequence.is_tuple();
}

Result<Value> repeat(Budget& budget, const Value& value, int64_t times) {
  const size_t n = times > 0 ? static_cast<size_t>(times) : 0;
  if (const std::string* string = value.string()) {
    const auto bytes = checked_mul(string->size(), n);
    if (!budget.has_room(bytes.value_or(SIZE_MAX))) return budget.error();
    std::string text;
    text.reserve(*bytes);
    for (size_t i = 0; i < (string->empty() ? 0 : n); ++i) text += *string;
    return make_text(&budget, std::move(text), value.is_markup());
  }
  const Sequence& sequence = *value.sequence();
  const auto count = checked_mul(sequence.items.size(), n);
  const auto bytes = checked_mul(count.value_or(SIZE_MAX), sizeof(Value));
  if (!budget.has_room(bytes.value_or(SIZE_MAX))) return budget.error();
  budget.spend(*count);
  std::vector<Value> items;
  items.reserve(*count);
  for (size_t i = 0; i < (sequence.items.empty() ? 0 : n); ++i) {
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return make_sequence(&budget, std::move(items),
                       sequence.is_tuple() ? Sequence::Kind::tuple : Sequence::Kind::list);
}

bool can_repeat(const Value& value) {
  return value.string() || (value.sequence() && can_concatenate(*value.sequence()));
}

tl::unexpected<Error> wrong_operand(const Value& value, const char* operation) {
  if (value.is_undefined()) return undefined_error(value);
  const bool is_too_large = value.pointee<const BigInteger>() != nullptr;
  return fail(is_too_large ? ErrorCode::unsupported : ErrorCode::invalid_argument,
              "unary '{}' is not supported for '{}'", operation, type_name(value));
}

}  // namespace

Result<Value> apply(Budget& budget, BinaryOperator operation, const Value& a, const Value& b) {
  const auto whole_a = a.whole(), whole_b = b.whole();
  if (whole_a && whole_b) return apply_integers(operation, *whole_a, *whole_b);
  const double *real_a = a.real(), *real_b = b.real();
  if ((whole_a || real_a) && (whole_b || real_b)) {
    return apply_floats(operation, real_a ? *real_a : static_cast<double>(*whole_a),
                        real_b ? *real_b : static_cast<double>(*whole_b));
  }
  if (operation == BinaryOperator::modulo && a.string()) return format_percent(budget, a, b);
  if (operation == BinaryOperator::add) {
    if (a.string() && b.string()) return concatenate_text(budget, a, b);
    const Sequence *left = a.sequence(), *right = b.sequence();
    if (left && right && can_concatenate(*left) && can_concatenate(*right) &&
        left->is_tuple() == right->is_tuple()) {
      return concatenate_sequences(budget, *left, *right);
    }
  }
  if (operation == BinaryOperator::multiply) {
    if (can_repeat(a) && whole_b) return repeat(budget, a, *whole_b);
    if (whole_a && can_repeat(b)) return repeat(budget, b, *whole_a);
  }
  return operand_error(symbol(operation), a, b);
}

Result<Value> negate(const Value& value) {
  if (const auto whole = value.whole()) {
    if (*whole == INT64_MIN) return too_large(BinaryOperator::subtract);
    return Value::integer(-*whole);
  }
  if (const double* real = value.real()) return Value::real(-*real);
  return wrong_operand(value, "-");
}

Result<Value> plus(const Value& value) {
  if (const auto whole = value.whole()) return Value::integer(*whole);
  if (value.real()) return value;
  return wrong_operand(value, "+");
}

Result<bool> contains(Budget& budget, const Value& container, const Value& item) {
  if (const std::string* string = container.string()) {
    const std::string* wanted = item.string();
    if (!wanted) {
      return fail(ErrorCode::invalid_argument,
                  "'in' with a string on the right needs a string on the left, found '{}'", type_name(item));
    }
    return Finder(budget, *wanted).find(*string) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) {
    PARLANCE_CHECK(check_hashable(item));
    if (const std::string* key = item.string()) budget.spend_on_bytes(key->size());
    return dict->find(item) != nullptr;
  }
  if (container.is_none() || container.pointee<Namespace>()) {
    return fail(ErrorCode::invalid_argument, "'in' needs a string, list or dict on the right, found '{}'",
                type_name(container));
  }
  if (Iterator* iterator = container.pointee<Iterator>()) {  // read as far as the item, and no further
    while (iterator->position < iterator->source->items.size()) {
      if (equal(budget, iterator->source->items[iterator->position++], item)) return true;
    }
    return false;
  }
  PARLANCE_TRY(const SequencePtr elements, elements_of(budget, container));
  return std::any_of(elements->items.begin(), elements->items.end(),
                     [&](const Value& element) { return equal(budget, element, item); });
}

Result<bool> compare(Budget& budget, CompareOperator operation, const Value& a, const Value& b) {
  switch (operation) {
    case CompareOperator::equal:
      return equal(budget, a, b);
    case CompareOperator::not_equal:
      return !equal(budget, a, b);
    case CompareOperator::in:
      return contains(budget, b, a);
    case CompareOperator::not_in: {
      PARLANCE_TRY(const bool found, contains(budget, b, a));
      return !found;
    }
    case CompareOperator::less: {
      PARLANCE_TRY(const auto ordering, order(budget, a, b, "<"));
      return ordering < 0;
    }
    case CompareOperator::less_equal: {
      PARLANCE_TRY(const auto ordering, order(budget, a, b, "<="));
      return ordering <= 0;
    }
    case CompareOperator::greater: {
      PARLANCE_TRY(const auto ordering, order(budget, a, b, ">"));
      return ordering > 0;
    }
    case CompareOperator::greater_equal: {
      PARLANCE_TRY(const auto ordering, order(budget, a, b, ">="));
      return ordering >= 0;
    }
  }
  return false;
}

}  // namespace parlance::jinja
