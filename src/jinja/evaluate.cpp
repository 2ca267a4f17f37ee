// Expressions.
#include <algorithm>

#include "jinja/access.h"
#include "jinja/filters.h"
#include "jinja/globals.h"
#include "jinja/interpreter.h"
#include "jinja/methods.h"
#include "jinja/print.h"
#include "jinja/tests.h"

namespace parlance::jinja {

Result<Value> Interpreter::evaluate(const ast::Expression& expression, const FramePtr& frame) {
  const Nesting nesting(*this);
  context_.budget.spend(1);
  PARLANCE_CHECK(check_budget(expression.position));
  Result<Value> value = std::visit(
      [&](const auto& node) { return evaluate(node, expression.position, frame); }, expression.node);
  if (value) PARLANCE_CHECK(check_budget(expression.position));
  return value;
}

Result<Value> Interpreter::evaluate(const ast::Literal& node, Position, const FramePtr&) {
  return node.value;
}

// Scopes from the inside out, then the caller's variables, then the globals.
Result<Value> Interpreter::evaluate(const ast::Name& node, Position position, const FramePtr& frame) {
  const std::string& name = node.name->bytes;
  if (const Value* value = frame->find(name)) return *value;
  if (const Value* value = variables_.dict()->find(name)) return *value;
  PARLANCE_TRY(const Function* function, at(position, find_global(name)));
  if (function) return Value(Value::Data(function));
  return Value::undefined(node.name);
}

Result<Value> Interpreter::evaluate(const ast::SequenceDisplay& node, Position, const FramePtr& frame) {
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const auto& item : node.items) {
    PARLANCE_TRY(Value value, evaluate(*item, frame));
    items.push_back(std::move(value));
  }
  return make_sequence(&context_.budget, std::move(items), node.kind);
}

Result<Value> Interpreter::evaluate(const ast::DictDisplay& node, Position position, const FramePtr& frame) {
  std::vector<Dict::Entry> entries;
  entries.reserve(node.entries.size());
  for (const auto& [key_expression, value_expression] : node.entries) {
    PARLANCE_TRY(Value key, evaluate(*key_expression, frame));
    PARLANCE_TRY(Value value, evaluate(*value_expression, frame));
    PARLANCE_CHECK(at(position, check_hashable(key)));
    if (const std::string* string = key.string()) context_.budget.spend_on_bytes(16 * string->size());
    entries.emplace_back(std::move(key), std::move(value));
  }
  return make_dict(&context_.budget, std::move(entries));
}

Result<Value> Interpreter::evaluate(const ast::Unary& node, Position position, const FramePtr& frame) {
  PARLANCE_TRY(const Value operand, evaluate(*node.operand, frame));
  switch (node.operation) {
    case ast::Unary::Operator::negate:
      return at(position, negate(operand));
    case ast::Unary::Operator::plus:
      return at(position, plus(operand));
    case ast::Unary::Operator::logical_not:
      break;
  }
  return Value::boolean(!is_true(operand));
}

Result<Value> Interpreter::evaluate(const ast::Binary& node, Position position, const FramePtr& frame) {
  PARLANCE_TRY(const Value left, evaluate(*node.left, frame));
  PARLANCE_TRY(const Value right, evaluate(*node.right, frame));
  return at(position, apply(context_.budget, node.operation, left, right));
}

Result<Value> Interpreter::evaluate(const ast::Logical& node, Position, const FramePtr& frame) {
  PARLANCE_TRY(Value left, evaluate(*node.left, frame));
  if (is_true(left) != node.is_and) return left;
  return evaluate(*node.right, frame);
}

Result<Value> Interpreter::evaluate(const ast::Comparison& node, Position position, const FramePtr& frame) {
  PARLANCE_TRY(Value left, evaluate(*node.first, frame));
  for (const auto& [operation, operand] : node.rest) {
    PARLANCE_TRY(Value right, evaluate(*operand, frame));
    PARLANCE_TRY(const bool holds, at(position, compare(context_.budget, operation, left, right)));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::evaluate(const ast::Concatenation& node, Position position,
                                    const FramePtr& frame) {
  Writer writer(context_.budget);
  for (const auto& part : node.parts) {
    PARLANCE_TRY(const Value value, evaluate(*part, frame));
    write_str(writer, value);
  }
  return at(position, writer.finish_text());
}

Result<Value> Interpreter::evaluate(const ast::Conditional& node, Position, const FramePtr& frame) {
  PARLANCE_TRY(const Value condition, evaluate(*node.condition, frame));
  if (is_true(condition)) return evaluate(*node.then, frame);
  return node.otherwise ? evaluate(*node.otherwise, frame) : Value();
}

Result<Value> Interpreter::evaluate(const ast::Attribute& node, Position position, const FramePtr& frame) {
  PARLANCE_TRY(const Value object, evaluate(*node.object, frame));
  if (Loop* loop = object.pointee<Loop>(); loop && looks_ahead(node.name->bytes)) {
    const bool needs_next_only = node.name->bytes == "last" || node.name->bytes == "nextitem";
    PARLANCE_CHECK(select_items(*loop, needs_next_only ? loop->index0 + 2 : SIZE_MAX));
  }
  return at(position, get_attribute(context_, object, node.name));
}

Result<Value> Interpreter::evaluate(const ast::Item& node, Position position, const FramePtr& frame) {
  PARLANCE_TRY(const Value object, evaluate(*node.object, frame));
  PARLANCE_TRY(const Value index, evaluate(*node.index, frame));
  return at(position, get_item(context_, object, index));
}

Result<Value> Interpreter::evaluate(const ast::Slice& node, Position position, const FramePtr& frame) {
  PARLANCE_TRY(const Value object, evaluate(*node.object, frame));
  Value bounds[3];
  const Value* given[3] = {};
  const ast::ExpressionPtr* parts[3] = {&node.start, &node.stop, &node.step};
  for (size_t i = 0; i < 3; ++i) {
    if (!*parts[i]) continue;
    PARLANCE_TRY(bounds[i], evaluate(**parts[i], frame));
    given[i] = &bounds[i];
  }
  return at(position, get_slice(context_, object, given[0], given[1], given[2]));
}

Result<Value> Interpreter::evaluate(const ast::FilterCall& node, Position position, const FramePtr& frame) {
  PARLANCE_TRY(const Value input, evaluate(*node.input, frame));
  return apply_filter(node, input, position, frame);
}

Result<Value> Interpreter::apply_filter(const ast::FilterCall& node, const Value& input, Position position,
                                        const FramePtr& frame) {
  if (!node.filter) {
    return error_at(position,
                    {ErrorCode::unsupported, fmt::format("the filter '{}' is not known", node.name)});
  }
  PARLANCE_TRY(const CallArguments arguments, evaluate_arguments(node.arguments, position, frame));
  return at(position, node.filter->call(context_, input, arguments));
}

Result<Value> Interpreter::apply_filters(const ast::Expression& chain, const Value& text,
                                         const FramePtr& frame) {
  const auto& node = std::get<ast::FilterCall>(chain.node);
  if (!node.input) return apply_filter(node, text, chain.position, frame);
  PARLANCE_TRY(const Value input, apply_filters(*node.input, text, frame));
  return apply_filter(node, input, chain.position, frame);
}

Result<Value> Interpreter::evaluate(const ast::TestCall& node, Position position, const FramePtr& frame) {
  PARLANCE_TRY(const Value input, evaluate(*node.input, frame));
  if (!node.test) {
    return error_at(position, {ErrorCode::unsupported, fmt::format("the test '{}' is not known", node.name)});
  }
  PARLANCE_TRY(const CallArguments arguments, evaluate_arguments(node.arguments, position, frame));
  PARLANCE_TRY(const bool holds, at(position, node.test->call(context_, input, arguments)));
  return Value::boolean(holds != node.is_negated);
}

// ---- Calls ----

Result<CallArguments> Interpreter::evaluate_arguments(const ast::Arguments& arguments, Position position,
                                                      const FramePtr& frame) {
  CallArguments result;
  for (const auto& argument : arguments.positional) {
    PARLANCE_TRY(Value value, evaluate(*argument, frame));
    result.positional.push_back(std::move(value));
  }
  for (const auto& [name, argument] : arguments.named) {
    PARLANCE_TRY(Value value, evaluate(*argument, frame));
    result.named.emplace_back(name, std::move(value));
  }
  if (arguments.unpacked_list) {
    PARLANCE_TRY(const Value list, evaluate(*arguments.unpacked_list, frame));
    PARLANCE_TRY(const SequencePtr elements, at(position, elements_of(context_.budget, list)));
    context_.budget.spend(elements->items.size());
    result.positional.insert(result.positional.end(), elements->items.begin(), elements->items.end());
  }
  if (arguments.unpacked_dict) {
    PARLANCE_TRY(result.unpacked, evaluate(*arguments.unpacked_dict, frame));
    const Dict* dict = result.unpacked.dict();
    if (!dict) return error_at(position, wrong_type("'**'", "a dict", result.unpacked).value());
    context_.budget.spend(dict->entries.size());
    for (const auto& [key, value] : dict->entries) {
      if (!key.string()) return error_at(position, wrong_type("'**'", "names as keys", key).value());
      result.named.emplace_back(*key.string(), value);
    }
  }
  return result;
}

Result<Value> Interpreter::evaluate(const ast::Call& node, Position position, const FramePtr& frame) {
  return evaluate_call(node, position, frame, nullptr);
}

Result<Value> Interpreter::evaluate_call(const ast::Call& node, Position position, const FramePtr& frame,
                                         const Value* caller) {
  PARLANCE_TRY(const Value callee, evaluate(*node.callee, frame));
  PARLANCE_TRY(const CallArguments arguments, evaluate_arguments(node.arguments, position, frame));
  return call(callee, arguments, position, caller);
}

Result<Value> Interpreter::call(const Value& callee, const CallArguments& arguments, Position position,
                                const Value* caller) {
  if (const Macro* macro = callee.pointee<const Macro>())
    return call_macro(*macro, arguments, position, caller);
  if (callee.is_undefined()) return error_at(position, undefined_error(callee).value());
  if (caller) {
    return error_at(position, {ErrorCode::invalid_argument,
                               fmt::format("a call block needs a macro, found '{}'", type_name(callee))});
  }
  if (const auto* method = callee.pointee<const BoundMethod>()) {
    return at(position, method->method->call(context_, method->self, arguments));
  }
  if (const auto* function = std::get_if<const Function*>(&callee.data())) {
    return at(position, (*function)->call(context_, arguments));
  }
  if (const Loop* loop = callee.pointee<Loop>()) return call_loop(*loop, arguments, position);
  return error_at(position,
                  {ErrorCode::invalid_argument, fmt::format("'{}' cannot be called", type_name(callee))});
}

Result<Value> Interpreter::call_macro(const Macro& macro, const CallArguments& arguments, Position position,
                                      const Value* caller) {
  const Nesting nesting(*this);
  PARLANCE_CHECK(check_budget(position));
  const auto frame = std::make_shared<Frame>(macro.frame);
  PARLANCE_CHECK(bind_parameters(macro, arguments, position, caller, frame));
  PARLANCE_TRY(const Captured captured, capture(macro.definition->body, position, frame));
  return captured.text;
}

Result<void> Interpreter::bind_parameters(const Macro& macro, const CallArguments& arguments,
                                          Position position, const Value* caller, const FramePtr& frame) {
  const ast::MacroDefinition& definition = *macro.definition;
  const auto& parameters = definition.parameters;
  const std::string name = definition.name ? definition.name->bytes.substr(0, 80) : "caller";
  const auto wrong = [&](const std::string& what) {
    return error_at(position, {ErrorCode::invalid_argument, fmt::format("macro '{}' {}", name, what)});
  };
  const size_t n_positional = std::min(arguments.positional.size(), parameters.size());
  context_.budget.spend(parameters.size() + arguments.named.size() * parameters.size() / 16);

  // All that was given is bound before the first default is evaluated, which may refer to it.
  std::vector<bool> is_given(parameters.size(), false);
  for (size_t i = 0; i < parameters.size(); ++i) {
    is_given[i] = i < n_positional;
    const TextPtr& parameter = parameters[i].name;
    frame->set(parameter->bytes, is_given[i] ? arguments.positional[i] : Value::undefined(parameter));
  }
  std::vector<Dict::Entry> other_named;
  bool takes_caller = definition.uses_caller && caller != nullptr;
  if (takes_caller) frame->set("caller", *caller);
  const auto bind_named = [&](std::string_view given, const Value& value) {
    for (size_t i = n_positional; i < parameters.size(); ++i) {
      if (parameters[i].name->bytes != given) continue;
      if (is_given[i]) return false;
      is_given[i] = true;
      frame->set(parameters[i].name->bytes, value);
      return true;
    }
    if (definition.uses_caller && given == "caller") {
      takes_caller = true;
      frame->set("caller", value);
      return true;
    }
    if (!definition.uses_kwargs) return false;
    other_named.emplace_back(make_text(&context_.budget, std::string(given)), value);
    return true;
  };
  for (const auto& [given, value] : arguments.named) {
    if (!bind_named(given, value))
      return wrong(fmt::format("takes no argument '{}' here", given.substr(0, 80)));
  }
  if (caller && !definition.uses_caller && !bind_named("caller", *caller)) {
    return wrong("does not call the block it was given");
  }
  if (definition.uses_caller && !takes_caller) {
    frame->set("caller", Value::undefined(std::make_shared<const Text>("caller", false, nullptr)));
  }
  if (definition.uses_kwargs) frame->set("kwargs", make_dict(&context_.budget, std::move(other_named)));
  if (definition.uses_varargs) {
    const auto rest = arguments.positional.begin() + static_cast<ptrdiff_t>(n_positional);
    frame->set("varargs",
               make_sequence(&context_.budget, std::vector<Value>(rest, arguments.positional.end()),
                             Sequence::Kind::tuple));
  } else if (arguments.positional.size() > parameters.size()) {
    return wrong(fmt::format("takes at most {} argument(s), {} were given", parameters.size(),
                             arguments.positional.size()));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (is_given[i] || !parameters[i].fallback) continue;
    PARLANCE_TRY(Value value, evaluate(*parameters[i].fallback, frame));
    frame->set(parameters[i].name->bytes, std::move(value));
  }
  return {};
}

// A recursive loop, over other elements, one level deeper.
Result<Value> Interpreter::call_loop(const Loop& loop, const CallArguments& arguments, Position position) {
  if (!loop.recursive) {
    return error_at(position,
                    {ErrorCode::invalid_argument, "a loop can be called when it is marked 'recursive'"});
  }
  PARLANCE_TRY(const auto bound, at(position, bind_arguments("loop()", arguments, {"iterable"}, 1)));
  Writer writer(context_.budget);
  PARLANCE_CHECK(run_loop(*loop.recursive, position, loop.frame, *bound[0], loop.depth0 + 1, writer));
  return at(position, writer.finish_text());
}

}  // namespace parlance::jinja
