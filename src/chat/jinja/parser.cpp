#include "chat/jinja/parser.h"

#include <algorithm>
#include <initializer_list>

#include "chat/jinja/filters.h"
#include "chat/jinja/tests.h"

namespace parlance::jinja {

namespace {

using ast::Block;
using ast::ExpressionPtr;
using ast::Statement;
using Parsed = Result<ExpressionPtr>;

// Binding strength of binary operators, weakest first.
enum Level { kOr, kAnd, kNot, kCompare, kSum, kConcatenate, kProduct, kPower, kUnary };

struct BinaryToken {
  std::string_view symbol;
  Level level;
  BinaryOperator operation;
};
constexpr BinaryToken kBinaryTokens[] = {
    {"+", kSum, BinaryOperator::add},
    {"-", kSum, BinaryOperator::subtract},
    {"*", kProduct, BinaryOperator::multiply},
    {"/", kProduct, BinaryOperator::divide},
    {"//", kProduct, BinaryOperator::floor_divide},
    {"%", kProduct, BinaryOperator::modulo},
    {"**", kPower, BinaryOperator::power},
};

struct CompareToken {
  std::string_view symbol;
  CompareOperator operation;
};
constexpr CompareToken kCompareTokens[] = {
    {"==", CompareOperator::equal},  {"!=", CompareOperator::not_equal},
    {"<", CompareOperator::less},    {"<=", CompareOperator::less_equal},
    {">", CompareOperator::greater}, {">=", CompareOperator::greater_equal},
};

// Tags of Jinja that load other templates, translate or change state, which chat templates have no use for.
constexpr std::string_view kUnsupportedTags[] = {"autoescape", "block",  "debug",   "do",    "extends",
                                                 "from",       "import", "include", "print", "trans"};

class Parser {
 public:
  Parser(std::string_view source, const TemplateLimits& limits)
      : source_(source), lexer_(source), max_depth_(limits.max_depth) {
    current_ = lexer_.next();
    following_ = lexer_.next();
  }

  Result<Block> parse() {
    PARLANCE_TRY(Block body, parse_block({}));
    return body;
  }

 private:
  // ---- Tokens ----

  Token take() {
    Token taken = std::move(current_);
    current_ = std::move(following_);
    if (current_.type != Token::Type::end && current_.type != Token::Type::error) following_ = lexer_.next();
    return taken;
  }

  bool take_symbol(std::string_view symbol) {
    if (!current_.is_symbol(symbol)) return false;
    take();
    return true;
  }

  bool take_name(std::string_view name) {
    if (!current_.is_name(name)) return false;
    take();
    return true;
  }

  Result<void> expect_symbol(std::string_view symbol) {
    if (take_symbol(symbol)) return {};
    return unexpected(fmt::format("'{}'", symbol));
  }

  Result<void> expect_name(std::string_view name) {
    if (take_name(name)) return {};
    return unexpected(fmt::format("'{}'", name));
  }

  Result<void> expect_type(Token::Type type, std::string_view what) {
    if (current_.type != type) return unexpected(what);
    take();
    return {};
  }

  Result<TextPtr> expect_identifier(std::string_view what) {
    if (current_.type != Token::Type::name) return unexpected(what);
    return make_name(take().text);
  }

  static TextPtr make_name(std::string_view name) {
    return std::make_shared<const Text>(std::string(name), false, nullptr);
  }

  // ---- Errors ----

  tl::unexpected<Error> error_at(Position position, ErrorCode code, const std::string& message) const {
    return fail(code, "{}: {}", describe_position(source_, position), message);
  }

  tl::unexpected<Error> unexpected(std::string_view wanted) const {
    if (current_.type == Token::Type::error) return tl::unexpected<Error>(lexer_.error());
    return error_at(current_.position, ErrorCode::corrupt_file,
                    fmt::format("expected {}, found {}", wanted, describe(current_)));
  }

  tl::unexpected<Error> too_deep(Position position) const {
    return error_at(position, ErrorCode::unsupported,
                    fmt::format("the template is nested deeper than the limit of {}", max_depth_));
  }

  // Counts the recursion of the parser itself.
  struct Nesting {
    explicit Nesting(Parser& parser) : depth(parser.depth_) { ++depth; }
    ~Nesting() { --depth; }
    size_t& depth;
  };

  // ---- Heights ----

  static void raise(uint32_t& height, const ExpressionPtr& child) {
    if (child) height = std::max(height, child->height);
  }
  static void raise(uint32_t& height, const std::vector<ExpressionPtr>& children) {
    for (const ExpressionPtr& child : children) raise(height, child);
  }
  static void raise(uint32_t& height, const Block& block) {
    for (const Statement& statement : block) height = std::max(height, statement.height);
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
  Result<Statement> make(Statement statement) const {
    if (statement.height > max_depth_) return too_deep(statement.position);
    return statement;
  }

  // ---- Expressions ----

  Parsed parse_expression(bool with_conditional = true) {
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
      PARLANCE_TRY(then,
                   make({position, above(condition, then, otherwise),
                         ast::Conditional{std::move(condition), std::move(then), std::move(otherwise)}}));
    }
    return then;
  }

  Parsed parse_binary(Level weakest) {
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

  Parsed parse_logical(Position position, bool is_and, ExpressionPtr left) {
    PARLANCE_TRY(ExpressionPtr right, parse_binary(is_and ? kNot : kAnd));
    return make({position, above(left, right), ast::Logical{is_and, std::move(left), std::move(right)}});
  }

  const BinaryToken* binary_token() const {
    if (current_.type != Token::Type::symbol) return nullptr;
    for (const BinaryToken& token : kBinaryTokens) {
      if (current_.text == token.symbol) return &token;
    }
    return nullptr;
  }

  std::optional<CompareOperator> compare_operator() const {
    if (current_.is_name("in")) return CompareOperator::in;
    if (current_.is_name("not") && following_.is_name("in")) return CompareOperator::not_in;
    if (current_.type != Token::Type::symbol) return std::nullopt;
    for (const CompareToken& token : kCompareTokens) {
      if (current_.text == token.symbol) return token.operation;
    }
    return std::nullopt;
  }

  Parsed parse_comparison(Position position, ExpressionPtr first) {
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

  Parsed parse_concatenation(Position position, ExpressionPtr first) {
    ast::Concatenation concatenation;
    concatenation.parts.push_back(std::move(first));
    while (take_symbol("~")) {
      PARLANCE_TRY(ExpressionPtr part, parse_binary(kProduct));
      concatenation.parts.push_back(std::move(part));
    }
    return make({position, above(concatenation.parts), std::move(concatenation)});
  }

  // A sign binds weaker than what follows a dot or a bracket, and stronger than a filter.
  Parsed parse_unary(bool with_filters) {
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

  Parsed literal(Position position, Value value) {
    return make({position, 1, ast::Literal{std::move(value)}});
  }

  Parsed parse_primary() {
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

  // One expression, or several with commas between them. `end` is a name that ends them.
  Parsed parse_tuple(bool with_conditional, std::string_view end, bool may_be_empty) {
    const Position position = current_.position;
    std::vector<ExpressionPtr> items;
    bool is_tuple = false;
    for (;;) {
      const bool at_end = current_.type == Token::Type::output_end ||
                          current_.type == Token::Type::block_end || current_.is_symbol(")") ||
                          (!end.empty() && current_.is_name(end));
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

  Parsed parse_list(Position position) {
    std::vector<ExpressionPtr> items;
    while (!current_.is_symbol("]")) {
      PARLANCE_TRY(ExpressionPtr item, parse_expression());
      items.push_back(std::move(item));
      if (!take_symbol(",")) break;
    }
    PARLANCE_CHECK(expect_symbol("]"));
    return make({position, above(items), ast::SequenceDisplay{Sequence::Kind::list, std::move(items)}});
  }

  Parsed parse_dict(Position position) {
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

  Parsed parse_postfix(ExpressionPtr object) {
    for (;;) {
      const Position position = current_.position;
      if (current_.is_symbol(".")) {
        take();
        if (current_.type == Token::Type::integer) {
          PARLANCE_TRY(ExpressionPtr index, literal(current_.position, Value::integer(current_.integer)));
          take();
          PARLANCE_TRY(
              object, make({position, above(object, index), ast::Item{std::move(object), std::move(index)}}));
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

  Parsed parse_subscript(ExpressionPtr object) {
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
      return error_at(current_.position, ErrorCode::unsupported,
                      "an index of several parts is not supported");
    }
    PARLANCE_CHECK(expect_symbol("]"));
    return make({position, above(object, parts[0]), ast::Item{std::move(object), std::move(parts[0])}});
  }

  Result<ast::Arguments> parse_arguments() {
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

  Parsed parse_call(ExpressionPtr callee) {
    const Position position = current_.position;
    PARLANCE_TRY(ast::Arguments arguments, parse_arguments());
    return make({position, above(callee, arguments), ast::Call{std::move(callee), std::move(arguments)}});
  }

  Parsed parse_filters_and_tests(ExpressionPtr value) {
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

  // Filters and tests of extensions have names with dots.
  Result<std::string> parse_dotted_name(std::string_view what) {
    if (current_.type != Token::Type::name) return unexpected(what);
    std::string name(take().text);
    while (take_symbol(".")) {
      if (current_.type != Token::Type::name) return unexpected(what);
      name += '.';
      name += take().text;
    }
    return name;
  }

  // Behind the `|`. A null input stands for the text of a block.
  Parsed parse_filter(ExpressionPtr input) {
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

  Parsed parse_test(ExpressionPtr input) {
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

  // Whether the argument of a test follows without parentheses: `is divisibleby 3`.
  bool starts_operand() const {
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

  // ---- Targets ----

  Result<ast::Target> parse_single_target() {
    const Nesting nesting(*this);
    if (depth_ > max_depth_) return too_deep(current_.position);
    const Position position = current_.position;
    if (take_symbol("(")) {
      PARLANCE_TRY(ast::Target target, parse_target({}));
      PARLANCE_CHECK(expect_symbol(")"));
      return target;
    }
    for (const std::string_view constant : {"true", "True", "false", "False", "none", "None"}) {
      if (current_.is_name(constant)) {
        return error_at(position, ErrorCode::corrupt_file, fmt::format("cannot assign to '{}'", constant));
      }
    }
    PARLANCE_TRY(TextPtr name, expect_identifier("the name of a variable"));
    return ast::Target{std::move(name), nullptr, {}, position};
  }

  // One target or several with commas between them, up to the name `end`.
  Result<ast::Target> parse_target(std::string_view end) {
    ast::Target tuple;
    tuple.position = current_.position;
    bool is_tuple = false;
    for (;;) {
      if (current_.is_symbol(")") || current_.is_symbol("=") || current_.type == Token::Type::block_end ||
          (!end.empty() && current_.is_name(end))) {
        break;
      }
      PARLANCE_TRY(ast::Target item, parse_single_target());
      tuple.items.push_back(std::move(item));
      if (!take_symbol(",")) break;
      is_tuple = true;
    }
    if (is_tuple) return tuple;
    if (tuple.items.empty()) return unexpected("the name of a variable");
    ast::Target single = std::move(tuple.items.front());
    return single;
  }

  // ---- Statements ----

  // Statements up to a tag of one of these names, which is left to be read behind its `{%`. Without names: up
  // to the end of the template.
  Result<Block> parse_block(std::initializer_list<std::string_view> ends) {
    const Nesting nesting(*this);
    if (depth_ > max_depth_) return too_deep(current_.position);
    Block block;
    for (;;) {
      const Position position = current_.position;
      switch (current_.type) {
        case Token::Type::data:
          block.push_back(Statement{position, 1, ast::Data{take().text}});
          break;
        case Token::Type::output_begin: {
          take();
          PARLANCE_TRY(ExpressionPtr value, parse_tuple(true, {}, false));
          PARLANCE_CHECK(expect_type(Token::Type::output_end, "'}}' or an operator"));
          PARLANCE_TRY(Statement made, make({position, above(value), ast::Output{std::move(value)}}));
          block.push_back(std::move(made));
          break;
        }
        case Token::Type::block_begin: {
          take();
          if (std::any_of(ends.begin(), ends.end(),
                          [&](std::string_view end) { return current_.is_name(end); })) {
            return block;
          }
          PARLANCE_TRY(Statement made, parse_statement());
          block.push_back(std::move(made));
          PARLANCE_CHECK(expect_type(Token::Type::block_end, "'%}' or an operator"));
          break;
        }
        case Token::Type::end:
          if (open_tags_.empty()) return block;
          return error_at(position, ErrorCode::corrupt_file,
                          fmt::format("the tag '{}' of {} is not closed", open_tags_.back().first,
                                      describe_position(source_, open_tags_.back().second)));
        default:
          return unexpected("a tag or text");
      }
    }
  }

  Result<Statement> parse_statement() {
    if (current_.type != Token::Type::name) return unexpected("the name of a tag");
    const Position position = current_.position;
    const std::string_view tag = take().text;
    if (tag == "set") return parse_set(position);
    if (tag == "break" || tag == "continue") return parse_jump(position, tag);
    open_tags_.emplace_back(tag, position);
    Result<Statement> result = parse_closed_statement(position, tag);
    if (result) open_tags_.pop_back();
    return result;
  }

  Result<Statement> parse_closed_statement(Position position, std::string_view tag) {
    if (tag == "if") return parse_if(position);
    if (tag == "for") return parse_for(position);
    if (tag == "macro") return parse_macro(position);
    if (tag == "call") return parse_call_block(position);
    if (tag == "filter") return parse_filter_block(position);
    if (tag == "with") return parse_with(position);
    if (tag == "generation") return parse_generation(position);
    for (const std::string_view unsupported : kUnsupportedTags) {
      if (tag == unsupported) {
        return error_at(position, ErrorCode::unsupported, fmt::format("the tag '{}' is not supported", tag));
      }
    }
    open_tags_.pop_back();
    std::string message = fmt::format("unexpected tag '{}'", tag.substr(0, 60));
    if (!open_tags_.empty()) {
      message += fmt::format(" inside the tag '{}' of {}", open_tags_.back().first,
                             describe_position(source_, open_tags_.back().second));
    }
    return error_at(position, ErrorCode::corrupt_file, message);
  }

  // A body behind its tag, to and with the tag that closes it.
  Result<Block> parse_body(std::string_view end) {
    take_symbol(":");
    PARLANCE_CHECK(expect_type(Token::Type::block_end, "'%}'"));
    PARLANCE_TRY(Block body, parse_block({end}));
    PARLANCE_CHECK(expect_name(end));
    return body;
  }

  Result<Statement> parse_jump(Position position, std::string_view tag) {
    if (loop_depth_ == 0) {
      return error_at(position, ErrorCode::corrupt_file, fmt::format("'{}' outside of a loop", tag));
    }
    if (tag == "break") return Statement{position, 1, ast::Break{}};
    return Statement{position, 1, ast::Continue{}};
  }

  Result<Statement> parse_if(Position position) {
    ast::If node;
    for (;;) {
      PARLANCE_TRY(ExpressionPtr condition, parse_tuple(/*with_conditional=*/false, {}, false));
      take_symbol(":");
      PARLANCE_CHECK(expect_type(Token::Type::block_end, "'%}' or an operator"));
      PARLANCE_TRY(Block body, parse_block({"elif", "else", "endif"}));
      node.branches.emplace_back(std::move(condition), std::move(body));
      if (take_name("elif")) continue;
      if (take_name("else")) {
        PARLANCE_TRY(node.otherwise, parse_body("endif"));
      } else {
        PARLANCE_CHECK(expect_name("endif"));
      }
      break;
    }
    uint32_t height = above(node.otherwise);
    for (const auto& [condition, body] : node.branches) height = std::max(height, above(condition, body));
    return make({position, height, std::move(node)});
  }

  Result<Statement> parse_for(Position position) {
    ast::For node;
    PARLANCE_TRY(node.target, parse_target("in"));
    PARLANCE_CHECK(expect_name("in"));
    PARLANCE_TRY(node.iterable, parse_tuple(/*with_conditional=*/false, "recursive", false));
    if (take_name("if")) {
      PARLANCE_TRY(node.condition, parse_expression());
    }
    node.is_recursive = take_name("recursive");
    take_symbol(":");
    PARLANCE_CHECK(expect_type(Token::Type::block_end, "'%}' or an operator"));
    ++loop_depth_;
    PARLANCE_TRY(node.body, parse_block({"else", "endfor"}));
    --loop_depth_;
    if (take_name("else")) {
      PARLANCE_TRY(node.otherwise, parse_body("endfor"));
    } else {
      PARLANCE_CHECK(expect_name("endfor"));
    }
    return make({position, above(node.iterable, node.condition, node.body, node.otherwise), std::move(node)});
  }

  Result<Statement> parse_set(Position position) {
    ast::Target target;
    if (current_.type == Token::Type::name && following_.is_symbol(".")) {
      target.position = current_.position;
      PARLANCE_TRY(target.name, expect_identifier("the name of a namespace"));
      take();
      PARLANCE_TRY(target.attribute, expect_identifier("the name of an attribute"));
    } else {
      PARLANCE_TRY(target, parse_target({}));
    }
    if (take_symbol("=")) {
      ast::Set node{std::move(target), nullptr};
      PARLANCE_TRY(node.value, parse_tuple(true, {}, false));
      return make({position, above(node.value), std::move(node)});
    }
    ast::SetBlock node{std::move(target), nullptr, {}};
    while (take_symbol("|")) {
      PARLANCE_TRY(node.filter, parse_filter(std::move(node.filter)));
    }
    open_tags_.emplace_back("set", position);
    PARLANCE_TRY(node.body, parse_body("endset"));
    open_tags_.pop_back();
    return make({position, above(node.filter, node.body), std::move(node)});
  }

  Result<void> parse_parameters(ast::MacroDefinition& macro) {
    PARLANCE_CHECK(expect_symbol("("));
    while (!current_.is_symbol(")")) {
      if (!macro.parameters.empty()) PARLANCE_CHECK(expect_symbol(","));
      const Position position = current_.position;
      ast::Parameter parameter;
      PARLANCE_TRY(parameter.name, expect_identifier("the name of a parameter"));
      if (take_symbol("=")) {
        PARLANCE_TRY(parameter.fallback, parse_expression());
      } else if (!macro.parameters.empty() && macro.parameters.back().fallback) {
        return error_at(position, ErrorCode::corrupt_file,
                        "a parameter without a default follows one that has a default");
      }
      macro.parameters.push_back(std::move(parameter));
    }
    return expect_symbol(")");
  }

  // The body is one of its own: a `break` in it cannot end a loop around it.
  Result<void> parse_macro_body(ast::MacroDefinition& macro, std::string_view end) {
    const size_t outer_loops = std::exchange(loop_depth_, 0);
    macros_.push_back(&macro);
    PARLANCE_TRY(macro.body, parse_body(end));
    macros_.pop_back();
    loop_depth_ = outer_loops;
    for (const ast::Parameter& parameter : macro.parameters) {
      const std::string& name = parameter.name->bytes;
      if (name == "caller") macro.uses_caller = false;
      if (name == "varargs") macro.uses_varargs = false;
      if (name == "kwargs") macro.uses_kwargs = false;
    }
    return {};
  }

  Result<Statement> parse_macro(Position position) {
    ast::MacroDefinition macro;
    PARLANCE_TRY(macro.name, expect_identifier("the name of a macro"));
    PARLANCE_CHECK(parse_parameters(macro));
    PARLANCE_CHECK(parse_macro_body(macro, "endmacro"));
    return make({position, above(macro), std::move(macro)});
  }

  Result<Statement> parse_call_block(Position position) {
    ast::CallBlock node;
    if (current_.is_symbol("(")) PARLANCE_CHECK(parse_parameters(node.caller));
    const Position call_position = current_.position;
    PARLANCE_TRY(node.call, parse_expression());
    if (!std::holds_alternative<ast::Call>(node.call->node)) {
      return error_at(call_position, ErrorCode::corrupt_file, "expected the call of a macro");
    }
    PARLANCE_CHECK(parse_macro_body(node.caller, "endcall"));
    return make({position, above(node.caller, node.call), std::move(node)});
  }

  Result<Statement> parse_filter_block(Position position) {
    ast::FilterBlock node;
    do {
      PARLANCE_TRY(node.filter, parse_filter(std::move(node.filter)));
    } while (take_symbol("|"));
    PARLANCE_TRY(node.body, parse_body("endfilter"));
    return make({position, above(node.filter, node.body), std::move(node)});
  }

  Result<Statement> parse_with(Position position) {
    ast::With node;
    uint32_t height = 1;
    while (current_.type != Token::Type::block_end) {
      if (!node.assignments.empty()) PARLANCE_CHECK(expect_symbol(","));
      PARLANCE_TRY(ast::Target target, parse_single_target());
      PARLANCE_CHECK(expect_symbol("="));
      PARLANCE_TRY(ExpressionPtr value, parse_expression());
      height = std::max(height, above(value));
      node.assignments.emplace_back(std::move(target), std::move(value));
    }
    PARLANCE_TRY(node.body, parse_body("endwith"));
    return make({position, std::max(height, above(node.body)), std::move(node)});
  }

  // What trainers mark as the assistant's words; rendering passes it through, in a scope of its own.
  Result<Statement> parse_generation(Position position) {
    ast::With node;
    PARLANCE_TRY(node.body, parse_body("endgeneration"));
    return make({position, above(node.body), std::move(node)});
  }

  const std::string_view source_;
  Lexer lexer_;
  Token current_, following_;
  const size_t max_depth_;
  size_t depth_ = 0;
  size_t loop_depth_ = 0;                                         // loops around, up to the next macro
  std::vector<std::pair<std::string_view, Position>> open_tags_;  // to be closed, outermost first
  std::vector<ast::MacroDefinition*> macros_;                     // whose bodies are being read
};

}  // namespace

Result<std::unique_ptr<const Program>> parse(std::string_view source, const TemplateLimits& limits) {
  auto program = std::make_unique<Program>();
  program->source = normalise_source(source);
  PARLANCE_TRY(program->body, Parser(program->source, limits).parse());
  return program;
}

}  // namespace parlance::jinja
