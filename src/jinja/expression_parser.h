// Expressions, by precedence climbing.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/ast.h"
#include "jinja/token_reader.h"

namespace parlance::jinja {

class ExpressionParser : protected TokenReader {
 protected:
  using Parsed = Result<ast::ExpressionPtr>;
  using TokenReader::TokenReader;

  // `with_conditional`: whether `a if b else c` may stand here.
  Parsed parse_expression(bool with_conditional = true);
  // One expression, or several with commas between them. `end` is a name that ends them.
  Parsed parse_tuple(bool with_conditional, std::string_view end, bool may_be_empty);
  // Behind the `|`. A null input stands for the text of a block.
  Parsed parse_filter(ast::ExpressionPtr input);

  // ---- Heights of nodes: the evaluation recurses as deep ----

  static void raise(uint32_t& height, const ast::ExpressionPtr& child) {
    if (child) height = std::max(height, child->height);
  }
  static void raise(uint32_t& height, const std::vector<ast::ExpressionPtr>& children) {
    for (const ast::ExpressionPtr& child : children) raise(height, child);
  }
  static void raise(uint32_t& height, const ast::Block& block) {
    for (const ast::Statement& statement : block) height = std::max(height, statement.height);
  }
  static void raise(uint32_t& height, const ast::Arguments& arguments) {
    raise(height, arguments.positional);
    for (const auto& [name, value] : arguments.named) raise(height, value);
    raise(height, arguments.unpacked_list);
    raise(height, arguments.unpacked_dict);
  }
  static void raise(uint32_t& height, const ast::MacroDefinition& macro) {
    for (const ast::Parameter& parameter : macro.parameters) raise(height, parameter.fallback);
    raise(height, macro.body);
  }

  // The height of a node above these children.
  template <class... Children>
  static uint32_t above(const Children&... children) {
    uint32_t height = 0;
    (raise(height, children), ...);
    return height + 1;
  }

  // In `make({position, above(a, b), Node{std::move(a), std::move(b)}})` the braces order the evaluation:
  // children are measured before they are moved.
  Parsed make(ast::Expression expression) const {
    if (expression.height > max_depth_) return too_deep(expression.position);
    return std::make_unique<const ast::Expression>(std::move(expression));
  }
  Result<ast::Statement> make(ast::Statement statement) const {
    if (statement.height > max_depth_) return too_deep(statement.position);
    return statement;
  }

  std::vector<ast::MacroDefinition*> macros_;  // whose bodies are being read

 private:
  // Binding strength of binary operators, weakest first.
  enum Level { kOr, kAnd, kNot, kCompare, kSum, kConcatenate, kProduct, kPower, kUnary };
  struct BinaryToken {
    std::string_view symbol;
    Level level;
    BinaryOperator operation;
  };
  static const BinaryToken kBinaryTokens[];

  Parsed parse_binary(Level weakest);
  Parsed parse_logical(Position position, bool is_and, ast::ExpressionPtr left);
  const BinaryToken* binary_token() const;
  std::optional<CompareOperator> compare_operator() const;
  Parsed parse_comparison(Position position, ast::ExpressionPtr first);
  Parsed parse_concatenation(Position position, ast::ExpressionPtr first);
  // A sign binds weaker than what follows a dot or a bracket, and stronger than a filter.
  Parsed parse_unary(bool with_filters);
  Parsed literal(Position position, Value value);
  Parsed parse_primary();
  Parsed parse_list(Position position);
  Parsed parse_dict(Position position);
  Parsed parse_postfix(ast::ExpressionPtr object);
  Parsed parse_subscript(ast::ExpressionPtr object);
  Result<ast::Arguments> parse_arguments();
  Parsed parse_call(ast::ExpressionPtr callee);
  Parsed parse_filters_and_tests(ast::ExpressionPtr value);
  // Filters and tests of extensions have names with dots.
  Result<std::string> parse_dotted_name(std::string_view what);
  Parsed parse_test(ast::ExpressionPtr input);
  // Whether the argument of a test follows without parentheses: `is divisibleby 3`.
  bool starts_operand() const;
};

}  // namespace parlance::jinja
