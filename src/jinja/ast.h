// A parsed template: expressions and statements as plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jinja/lexer.h"
#include "jinja/operators.h"
#include "jinja/value.h"

namespace parlance::jinja {

struct Filter;  // filters.h
struct Test;    // tests.h

namespace ast {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct Arguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr unpacked_list;  // *list
  ExpressionPtr unpacked_dict;  // **dict
};

// ---- Expressions ----

struct Literal {
  Value value;
};
struct Name {
  TextPtr name;
};
struct SequenceDisplay {
  Sequence::Kind kind;  // list or tuple
  std::vector<ExpressionPtr> items;
};
struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
struct Unary {
  enum class Operator { negate, plus, logical_not } operation;
  ExpressionPtr operand;
};
struct Binary {
  BinaryOperator operation;
  ExpressionPtr left, right;
};
struct Logical {
  bool is_and;
  ExpressionPtr left, right;
};
struct Comparison {  // a < b <= c
  ExpressionPtr first;
  std::vector<std::pair<CompareOperator, ExpressionPtr>> rest;
};
struct Concatenation {  // a ~ b ~ c
  std::vector<ExpressionPtr> parts;
};
struct Conditional {
  ExpressionPtr condition, then, otherwise;  // otherwise: may be null
};
struct Attribute {
  ExpressionPtr object;
  TextPtr name;
};
struct Item {
  ExpressionPtr object, index;
};
struct Slice {
  ExpressionPtr object, start, stop, step;  // the last three may be null
};
struct Call {
  ExpressionPtr callee;
  Arguments arguments;
};
struct FilterCall {
  ExpressionPtr input;   // null: the text of the block that the filter belongs to
  const Filter* filter;  // null: unknown, an error where it is reached
  std::string name;
  Arguments arguments;
};
struct TestCall {
  ExpressionPtr input;
  const Test* test;  // null: unknown
  std::string name;
  Arguments arguments;
  bool is_negated;
};

struct Expression {
  Position position;
  uint32_t height;  // nesting below: 1 for a leaf
  std::variant<Literal, Name, SequenceDisplay, DictDisplay, Unary, Binary, Logical, Comparison, Concatenation,
               Conditional, Attribute, Item, Slice, Call, FilterCall, TestCall>
      node;
};

// ---- Statements ----

struct Statement;
using Block = std::vector<Statement>;

// What is assigned to: a name, an attribute of a namespace, or several.
struct Target {
  TextPtr name;               // null: a tuple
  TextPtr attribute;          // of the namespace `name`; null: the name itself
  std::vector<Target> items;  // of a tuple
  Position position = 0;
};

struct Parameter {
  TextPtr name;
  ExpressionPtr fallback;  // may be null
};

struct Data {
  std::string_view text;
};
struct Output {
  ExpressionPtr value;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Block>> branches;
  Block otherwise;
};
struct For {
  Target target;
  ExpressionPtr iterable;
  ExpressionPtr condition;  // `if` of the loop; may be null
  bool is_recursive;
  Block body, otherwise;
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr filter;  // a chain of FilterCalls that ends in the text of the block; may be null
  Block body;
};
struct MacroDefinition {
  TextPtr name;  // null: the body of a call block
  std::vector<Parameter> parameters;
  Block body;
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};
struct CallBlock {
  MacroDefinition caller;
  ExpressionPtr call;
};
struct FilterBlock {
  ExpressionPtr filter;
  Block body;
};
struct With {
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  Block body;
};
struct Break {};
struct Continue {};

struct Statement {
  Position position;
  uint32_t height;
  std::variant<Data, Output, If, For, Set, SetBlock, MacroDefinition, CallBlock, FilterBlock, With, Break,
               Continue>
      node;
};

}  // namespace ast
}  // namespace parlance::jinja
