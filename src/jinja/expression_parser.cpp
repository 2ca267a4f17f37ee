#include "jinja/expression_parser.h"

#include <algorithm>

#include "jinja/filters.h"
#include "jinja/tests.h"

namespace parlance::jinja {

using ast::ExpressionPtr;

const ExpressionParser::BinaryToken ExpressionParser::kBinaryTokens[] = {
    {"+", kSum, BinaryOperator::add},
    {"-", kSum, BinaryOperator::subtract},
    {"*", kProduct, BinaryOperator::multiply},
    {"/", kProduct, BinaryOperator::divide},
    {"//", kProduct, BinaryOperator::floor_divide},
    {"%", kProduct, BinaryOperator::modulo},
    {"**", kPower, BinaryOperator::power},
};

namespace {

struct CompareToken {
  std::string_view symbol;
  CompareOperator operation;
};
constexpr CompareToken kCompareTokens[] = {
    {"==", CompareOperator::equal},  {"!=", CompareOperator::not_equal},
    {"<", CompareOperator::less},    {"<=", CompareOperator::less_equal},
    {">", CompareOperator::greater}, {">=", CompareOperator::greater_equal},
};

}  // namespace

Result<ExpressionPtr> ExpressionParser::parse_expression(bool with_conditional) {
  const Nesting nesting(*this);
  const Position position = current_.position;
  if (depth_ > max_depth_) return too_deep(position);
  PARLANCE_TRY(ExpressionPtr then, parse_binary(kOr));
  while (with_conditional && take_name("if")) {
    PARLANCE_TRY(ExpressionPtr condition, parse_binary(kOr));
    ExpressionPtr otherwise;
    if (take_name("else")) {
      PARLANCE_TRY(otherwise, parse_expression());
    }
    PARLANCE_TRY(then, make({position, above(condition, then, otherwise),
                             ast::Conditional{std::move(condition), std::move(then), std::move(otherwise)}}));
  }
  return then;
}

Result<ExpressionPtr> ExpressionParser::parse_binary(Level weakest) {
  ExpressionPtr left;
  if (weakest <= kNot && current_.is_name("not")) {
    const Nesting nesting(*this);
    const Position position = take().position;
    if (depth_ > max_depth_) return too_deep(position);
    PARLANCE_TRY(ExpressionPtr operand, parse_binary(kNot));
    PARLANCE_TRY(left, make({position, above(operand),
                             ast::Unary{ast::Unary::Operator::logical_not, std::move(operand)}}));
  } else {
    PARLANCE_TRY(left, parse_unary(/*with_filters=*/true));
  }
  for (;;) {
    const Position position = current_.position;
    if (weakest <= kOr && take_name("or")) {
      PARLANCE_TRY(left, parse_logical(position, false, std::move(left)));
    } else if (weakest <= kAnd && take_name("and")) {
      PARLANCE_TRY(left, parse_logical(position, true, std::move(left)));
    } else if (weakest <= kCompare && compare_operator()) {
      PARLANCE_TRY(left, parse_comparison(position, std::move(left)));
    } else if (weakest <= kConcatenate && current_.is_symbol("~")) {
      PARLANCE_TRY(left, parse_concatenation(position, std::move(left)));
    } else if (const BinaryToken* token = binary_token(); token && weakest <= token->level) {
      take();
      PARLANCE_TRY(ExpressionPtr right, parse_binary(static_cast<Level>(token->level + 1)));
      PARLANCE_TRY(left, make({position, above(left, right),
                               ast::Binary{token->operation, std::move(left), std::move(right)}}));
    } else {
      return left;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_logical(Position position, bool is_and, ExpressionPtr left) {
  PARLANCE_TRY(ExpressionPtr right, parse_binary(is_and ? kNot : kAnd));
  return make({position, above(left, right), ast::Logical{is_and, std::move(left), std::move(right)}});
}

const ExpressionParser::BinaryToken* ExpressionParser::binary_token() const {
  if (current_.type != Token::Type::symbol) return nullptr;
  for (const BinaryToken& token : kBinaryTokens) {
    if (current_.text == token.symbol) return &token;
  }
  return nullptr;
}

std::optional<CompareOperator> ExpressionParser::compare_operator() const {
  if (current_.is_name("in")) return CompareOperator::in;
  if (current_.is_name("not") && following_.is_name("in")) return CompareOperator::not_in;
  if (current_.type != Token::Type::symbol) return std::nullopt;
  for (const CompareToken& token : kCompareTokens) {
    if (current_.text == token.symbol) return token.operation;
  }
  return std::nullopt;
}

Result<ExpressionPtr> ExpressionParser::parse_comparison(Position position, ExpressionPtr first) {
  ast::Comparison comparison{std::move(first), {}};
  uint32_t height = above(comparison.first);
  while (const auto operation = compare_operator()) {
    take();
    if (*operation == CompareOperator::not_in) take();
    PARLANCE_TRY(ExpressionPtr operand, parse_binary(kSum));
    height = std::max(height, above(operand));
    comparison.rest.emplace_back(*operation, std::move(operand));
  }
  return make({position, height, std::move(comparison)});
}

Result<ExpressionPtr> ExpressionParser::parse_concatenation(Position position, ExpressionPtr first) {
  ast::Concatenation concatenation;
  concatenation.parts.push_back(std::move(first));
  while (take_symbol("~")) {
    PARLANCE_TRY(ExpressionPtr part, parse_binary(kProduct));
    concatenation.parts.push_back(std::move(part));
  }
  return make({position, above(concatenation.parts), std::move(concatenation)});
}

Result<ExpressionPtr> ExpressionParser::parse_unary(bool with_filters) {
  const Position position = current_.position;
  ExpressionPtr result;
  if (current_.is_symbol("-") || current_.is_symbol("+")) {
    const Nesting nesting(*this);
    if (depth_ > max_depth_) return too_deep(position);
    const auto operation = take().text == "-" ? ast::Unary::Operator::negate : ast::Unary::Operator::plus;
    PARLANCE_TRY(ExpressionPtr operand, parse_unary(/*with_filters=*/false));
    PARLANCE_TRY(result, make({position, above(operand), ast::Unary{operation, std::move(operand)}}));
  } else {
    PARLANCE_TRY(result, parse_primary());
  }
  PARLANCE_TRY(result, parse_postfix(std::move(result)));
  return with_filters ? parse_filters_and_tests(std::move(result)) : Parsed(std::move(result));
}

Result<ExpressionPtr> ExpressionParser::literal(Position position, Value value) {
  return make({position, 1, ast::Literal{std::move(value)}});
}

Result<ExpressionPtr> ExpressionParser::parse_primary() {
  const Position position = current_.position;
  switch (current_.type) {
    case Token::Type::name: {
      const std::string_view name = take().text;
      if (name == "true" || name == "True") return literal(position, Value::boolean(true));
      if (name == "false" || name == "False") return literal(position, Value::boolean(false));
      if (name == "none" || name == "None") return literal(position, Value::none());
      for (ast::MacroDefinition* macro : macros_) {
        macro->uses_caller |= name == "caller";
        macro->uses_varargs |= name == "varargs";
        macro->uses_kwargs |= name == "kwargs";
      }
      return make({position, 1, ast::Name{make_name(name)}});
    }
    case Token::Type::string: {
      std::string text;
      while (current_.type == Token::Type::string) text += take().string;
      return literal(position, make_text(nullptr, std::move(text)));
    }
    case Token::Type::integer:
      return literal(position, Value::integer(take().integer));
    case Token::Type::real:
      return literal(position, Value::real(take().real));
    default:
      break;
  }
  if (take_symbol("(")) {
    PARLANCE_TRY(ExpressionPtr inner, parse_tuple(true, {}, /*may_be_empty=*/true));
    PARLANCE_CHECK(expect_symbol(")"));
    return inner;
  }
  if (take_symbol("[")) return parse_list(position);
  if (take_symbol("{")) return parse_dict(position);
  return unexpected("an expression");
}

Result<ExpressionPtr> ExpressionParser::parse_tuple(bool with_conditional, std::string_view end,
                                                    bool may_be_empty) {
  const Position position = current_.position;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  for (;;) {
    const bool at_end = current_.type == Token::Type::output_end || current_.type == Token::Type::block_end ||
                        current_.is_symbol(")") || (!end.empty() && current_.is_name(end));
    if (at_end) break;
    PARLANCE_TRY(ExpressionPtr item, parse_expression(with_conditional));
    items.push_back(std::move(item));
    if (!take_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!items.empty()) return std::move(items.front());
    if (!may_be_empty) return unexpected("an expression");
  }
  return make({position, above(items), ast::SequenceDisplay{Sequence::Kind::tuple, std::move(items)}});
}

Result<ExpressionPtr> ExpressionParser::parse_list(Position position) {
  std::vector<ExpressionPtr> items;
  while (!current_.is_symbol("]")) {
    PARLANCE_TRY(ExpressionPtr item, parse_expression());
    items.push_back(std::move(item));
    if (!take_symbol(",")) break;
  }
  PARLANCE_CHECK(expect_symbol("]"));
  return make({position, above(items), ast::SequenceDisplay{Sequence::Kind::list, std::move(items)}});
}

Result<ExpressionPtr> ExpressionParser::parse_dict(Position position) {
  ast::DictDisplay dict;
  uint32_t height = 1;
  while (!current_.is_symbol("}")) {
    PARLANCE_TRY(ExpressionPtr key, parse_expression());
    PARLANCE_CHECK(expect_symbol(":"));
    PARLANCE_TRY(ExpressionPtr value, parse_expression());
    height = std::max(height, above(key, value));
    dict.entries.emplace_back(std::move(key), std::move(value));
    if (!take_symbol(",")) break;
  }
  PARLANCE_CHECK(expect_symbol("}"));
  return make({position, height, std::move(dict)});
}

Result<ExpressionPtr> ExpressionParser::parse_postfix(ExpressionPtr object) {
  for (;;) {
    const Position position = current_.position;
    if (current_.is_symbol(".")) {
      take();
      if (current_.type == Token::Type::integer) {
        PARLANCE_TRY(ExpressionPtr index, literal(current_.position, Value::integer(current_.integer)));
        take();
        PARLANCE_TRY(object,
                     make({position, above(object, index), ast::Item{std::move(object), std::move(index)}}));
        continue;
      }
      PARLANCE_TRY(TextPtr name, expect_identifier("a name or number behind '.'"));
      PARLANCE_TRY(object,
                   make({position, above(object), ast::Attribute{std::move(object), std::move(name)}}));
    } else if (current_.is_symbol("[")) {
      PARLANCE_TRY(object, parse_subscript(std::move(object)));
    } else if (current_.is_symbol("(")) {
      PARLANCE_TRY(object, parse_call(std::move(object)));
    } else {
      return object;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::parse_subscript(ExpressionPtr object) {
  const Position position = take().position;
  ExpressionPtr parts[3];
  bool is_slice = false;
  for (size_t part = 0; part < 3; ++part) {
    if (!current_.is_symbol(":") && !current_.is_symbol("]") && !current_.is_symbol(",")) {
      PARLANCE_TRY(parts[part], parse_expression());
    }
    if (part == 2 || !take_symbol(":")) break;
    is_slice = true;
  }
  if (is_slice && current_.is_symbol(",")) {
    return error_at(current_.position, ErrorCode::unsupported,
                    "slices of more than one dimension are not supported");
  }
  if (is_slice) {
    PARLANCE_CHECK(expect_symbol("]"));
    return make(
        {position, above(object, parts[0], parts[1], parts[2]),
         ast::Slice{std::move(object), std::move(parts[0]), std::move(parts[1]), std::move(parts[2])}});
  }
  if (!parts[0]) return unexpected("an index");
  if (current_.is_symbol(",")) {
    return error_at(current_.position, ErrorCode::unsupported, "an index of several parts is not supported");
  }
  PARLANCE_CHECK(expect_symbol("]"));
  return make({position, above(object, parts[0]), ast::Item{std::move(object), std::move(parts[0])}});
}

Result<ast::Arguments> ExpressionParser::parse_arguments() {
  PARLANCE_CHECK(expect_symbol("("));
  ast::Arguments arguments;
  while (!current_.is_symbol(")")) {
    const Position position = current_.position;
    bool is_in_order = !arguments.unpacked_dict;
    if (take_symbol("*")) {
      is_in_order = is_in_order && !arguments.unpacked_list;
      PARLANCE_TRY(arguments.unpacked_list, parse_expression());
    } else if (take_symbol("**")) {
      PARLANCE_TRY(arguments.unpacked_dict, parse_expression());
    } else if (current_.type == Token::Type::name && following_.is_symbol("=")) {
      std::string name(take().text);
      take();
      PARLANCE_TRY(ExpressionPtr value, parse_expression());
      arguments.named.emplace_back(std::move(name), std::move(value));
    } else {
      is_in_order = is_in_order && !arguments.unpacked_list && arguments.named.empty();
      PARLANCE_TRY(ExpressionPtr value, parse_expression());
      arguments.positional.push_back(std::move(value));
    }
    if (!is_in_order) {
      return error_at(position, ErrorCode::corrupt_file, "this argument cannot follow the ones before it");
    }
    if (!take_symbol(",")) break;
  }
  PARLANCE_CHECK(expect_symbol(")"));
  return arguments;
}

Result<ExpressionPtr> ExpressionParser::parse_call(ExpressionPtr callee) {
  const Position position = current_.position;
  PARLANCE_TRY(ast::Arguments arguments, parse_arguments());
  return make({position, above(callee, arguments), ast::Call{std::move(callee), std::move(arguments)}});
}

Result<ExpressionPtr> ExpressionParser::parse_filters_and_tests(ExpressionPtr value) {
  for (;;) {
    if (take_symbol("|")) {
      PARLANCE_TRY(value, parse_filter(std::move(value)));
    } else if (current_.is_name("is")) {
      PARLANCE_TRY(value, parse_test(std::move(value)));
    } else if (current_.is_symbol("(")) {
      PARLANCE_TRY(value, parse_call(std::move(value)));
    } else {
      return value;
    }
  }
}

Result<std::string> ExpressionParser::parse_dotted_name(std::string_view what) {
  if (current_.type != Token::Type::name) return unexpected(what);
  std::string name(take().text);
  while (take_symbol(".")) {
    if (current_.type != Token::Type::name) return unexpected(what);
    name += '.';
    name += take().text;
  }
  return name;
}

Result<ExpressionPtr> ExpressionParser::parse_filter(ExpressionPtr input) {
  const Position position = current_.position;
  PARLANCE_TRY(std::string name, parse_dotted_name("the name of a filter"));
  ast::Arguments arguments;
  if (current_.is_symbol("(")) {
    PARLANCE_TRY(arguments, parse_arguments());
  }
  const Filter* filter = find_filter(name);
  return make({position, above(input, arguments),
               ast::FilterCall{std::move(input), filter, std::move(name), std::move(arguments)}});
}

Result<ExpressionPtr> ExpressionParser::parse_test(ExpressionPtr input) {
  const Position position = take().position;
  const bool is_negated = take_name("not");
  PARLANCE_TRY(std::string name, parse_dotted_name("the name of a test"));
  ast::Arguments arguments;
  if (current_.is_symbol("(")) {
    PARLANCE_TRY(arguments, parse_arguments());
  } else if (starts_operand()) {
    if (current_.is_name("is")) {
      return error_at(current_.position, ErrorCode::corrupt_file, "tests cannot be chained with 'is'");
    }
    PARLANCE_TRY(ExpressionPtr argument, parse_primary());
    PARLANCE_TRY(argument, parse_postfix(std::move(argument)));
    arguments.positional.push_back(std::move(argument));
  }
  const Test* test = find_test(name);
  return make({position, above(input, arguments),
               ast::TestCall{std::move(input), test, std::move(name), std::move(arguments), is_negated}});
}

bool ExpressionParser::starts_operand() const {
  switch (current_.type) {
    case Token::Type::name:
      return !current_.is_name("else") && !current_.is_name("or") && !current_.is_name("and");
    case Token::Type::string:
    case Token::Type::integer:
    case Token::Type::real:
      return true;
    default:
      return current_.is_symbol("[") || current_.is_symbol("{");
  }
}

}  // namespace parlance::jinja
