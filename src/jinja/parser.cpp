#include "jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "jinja/expression_parser.h"

namespace parlance::jinja {

namespace {

using ast::Block;
using ast::ExpressionPtr;
using ast::Statement;

// Tags of Jinja that load other templates, translate or change state, which chat templates have no use for.
constexpr std::string_view kUnsupportedTags[] = {"autoescape", "block",  "debug",   "do",    "extends",
                                                 "from",       "import", "include", "print", "trans"};

class StatementParser : private ExpressionParser {
 public:
  StatementParser(std::string_view source, const TemplateLimits& limits) : ExpressionParser(source, limits) {}

  Result<Block> parse() { return parse_block({}); }

 private:
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

  size_t loop_depth_ = 0;                                         // loops around, up to the next macro
  std::vector<std::pair<std::string_view, Position>> open_tags_;  // to be closed, outermost first
};

}  // namespace

Result<std::unique_ptr<const Program>> parse(std::string_view source, const TemplateLimits& limits) {
  auto program = std::make_unique<Program>();
  program->source = normalise_source(source);
  PARLANCE_TRY(program->body, StatementParser(program->source, limits).parse());
  return program;
}

}  // namespace parlance::jinja
