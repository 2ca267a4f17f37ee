// Statements.
#include "jinja/filters.h"
#include "jinja/interpreter.h"
#include "jinja/print.h"

namespace parlance::jinja {

Interpreter::Interpreter(const Program& program, Value variables, const TemplateLimits& limits,
                         int64_t now_unix_s)
    : program_(program),
      context_(limits, now_unix_s),
      variables_(std::move(variables)),
      max_depth_(kNestingPerLevel * limits.max_depth) {}

Result<std::string> Interpreter::run() {
  Writer out(context_.budget, Writer::Purpose::output);
  PARLANCE_CHECK(execute(program_.body, std::make_shared<Frame>(nullptr), out));
  return out.finish();
}

tl::unexpected<Error> Interpreter::error_at(Position position, const Error& error) const {
  return fail(error.code, "{}: {}", describe_position(program_.source, position), error.message);
}

Result<void> Interpreter::check_budget(Position position) const {
  if (!context_.budget.exhausted()) return {};
  return error_at(position, context_.budget.error().value());
}

Result<Interpreter::Flow> Interpreter::execute(const ast::Block& block, const FramePtr& frame, Writer& out) {
  const Nesting nesting(*this);
  for (const ast::Statement& statement : block) {
    context_.budget.spend(1);
    PARLANCE_CHECK(check_budget(statement.position));
    PARLANCE_TRY(const Flow flow,
                 std::visit([&](const auto& node) { return execute(node, statement.position, frame, out); },
                            statement.node));
    PARLANCE_CHECK(check_budget(statement.position));
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Result<Interpreter::Flow> Interpreter::execute(const ast::Data& data, Position, const FramePtr&,
                                               Writer& out) {
  out.append(data.text);
  return Flow::normal;
}

Result<Interpreter::Flow> Interpreter::execute(const ast::Output& output, Position position,
                                               const FramePtr& frame, Writer& out) {
  PARLANCE_TRY(const Value value, evaluate(*output.value, frame));
  if (const std::string* string = value.string()) {
    out.append(*string);
  } else {
    PARLANCE_TRY(const std::string text, at(position, to_str(context_.budget, value)));
    out.append(text);
  }
  return Flow::normal;
}

Result<Interpreter::Flow> Interpreter::execute(const ast::If& node, Position, const FramePtr& frame,
                                               Writer& out) {
  for (const auto& [condition, body] : node.branches) {
    PARLANCE_TRY(const Value value, evaluate(*condition, frame));
    if (is_true(value)) return execute(body, frame, out);
  }
  return execute(node.otherwise, frame, out);
}

// ---- Loops ----

Result<Interpreter::Flow> Interpreter::execute(const ast::For& node, Position position, const FramePtr& frame,
                                               Writer& out) {
  PARLANCE_TRY(const Value iterable, evaluate(*node.iterable, frame));
  return run_loop(node, position, frame, iterable, 0, out);
}

Result<void> Interpreter::select_items(Loop& loop, size_t n) {
  if (!loop.node_with_condition || !loop.frame) return {};
  // The condition sees the names of the loop's target, but not its `loop`.
  const ast::For& node = *loop.node_with_condition;
  while (loop.selected.size() < n && loop.n_asked < loop.source->items.size()) {
    const Value item = loop.source->items[loop.n_asked++];
    const auto scope = std::make_shared<Frame>(loop.frame);
    PARLANCE_CHECK(assign(node.target, item, scope));
    PARLANCE_TRY(const Value holds, evaluate(*node.condition, scope));
    if (is_true(holds)) loop.selected.push_back(item);
  }
  return {};
}

Result<Interpreter::Flow> Interpreter::run_loop(const ast::For& node, Position position,
                                                const FramePtr& frame, const Value& iterable, size_t depth0,
                                                Writer& out) {
  const Nesting nesting(*this);
  PARLANCE_CHECK(check_budget(position));
  const auto loop = std::make_shared<Loop>();
  PARLANCE_TRY(loop->source, at(position, elements_of(context_.budget, iterable)));
  loop->depth0 = depth0;
  if (node.is_recursive || node.condition) {
    context_.keep(frame);
    loop->frame = frame;
  }
  if (node.is_recursive) loop->recursive = &node;
  if (node.condition) loop->node_with_condition = &node;
  // As in Jinja, `else` runs when no iteration came to its end, be it for `continue` or `break`.
  bool has_completed = false;
  for (;; ++loop->index0) {
    context_.budget.spend(1);
    PARLANCE_CHECK(check_budget(position));
    PARLANCE_CHECK(select_items(*loop, loop->index0 + 1));
    if (loop->index0 == loop->items().size()) break;
    const auto scope = std::make_shared<Frame>(frame);
    PARLANCE_CHECK(assign(node.target, loop->items()[loop->index0], scope));
    scope->set("loop", Value(Value::Data(loop)));
    PARLANCE_TRY(const Flow flow, execute(node.body, scope, out));
    if (flow == Flow::normal) has_completed = true;
    if (flow == Flow::broken) break;
  }
  if (has_completed) return Flow::normal;
  return execute(node.otherwise, std::make_shared<Frame>(frame), out);
}

Result<Interpreter::Flow> Interpreter::execute(const ast::Break&, Position, const FramePtr&, Writer&) {
  return Flow::broken;
}

Result<Interpreter::Flow> Interpreter::execute(const ast::Continue&, Position, const FramePtr&, Writer&) {
  return Flow::continued;
}

// ---- Assignment ----

Result<void> Interpreter::assign(const ast::Target& target, const Value& value, const FramePtr& frame) {
  if (target.attribute) {
    const Value* object = frame->find(target.name->bytes);
    if (!object) object = variables_.dict()->find(target.name->bytes);
    Namespace* names = object ? object->pointee<Namespace>() : nullptr;
    if (!names) {
      return error_at(target.position, {ErrorCode::invalid_argument,
                                        fmt::format("'{}' is no namespace; only its attributes can be set",
                                                    target.name->bytes)});
    }
    const std::string& attribute = target.attribute->bytes;
    if (!names->attributes.contains(attribute)) context_.budget.reserve(sizeof(Value) + attribute.size());
    names->attributes.insert_or_assign(attribute, value);
    return {};
  }
  if (target.name) {
    frame->set(target.name->bytes, value);
    return {};
  }
  PARLANCE_TRY(const SequencePtr parts, at(target.position, elements_of(context_.budget, value)));
  if (parts->items.size() != target.items.size()) {
    return error_at(target.position,
                    {ErrorCode::invalid_argument, fmt::format("{} values cannot be assigned to {} names",
                                                              parts->items.size(), target.items.size())});
  }
  for (size_t i = 0; i < target.items.size(); ++i) {
    PARLANCE_CHECK(assign(target.items[i], parts->items[i], frame));
  }
  return {};
}

Result<Interpreter::Flow> Interpreter::execute(const ast::Set& node, Position, const FramePtr& frame,
                                               Writer&) {
  PARLANCE_TRY(const Value value, evaluate(*node.value, frame));
  PARLANCE_CHECK(assign(node.target, value, frame));
  return Flow::normal;
}

Result<Interpreter::Captured> Interpreter::capture(const ast::Block& block, Position position,
                                                   const FramePtr& frame) {
  Writer writer(context_.budget);
  PARLANCE_TRY(const Flow flow, execute(block, frame, writer));
  PARLANCE_TRY(Value text, at(position, writer.finish_text()));
  return Captured{flow, std::move(text)};
}

Result<Interpreter::Flow> Interpreter::execute(const ast::SetBlock& node, Position position,
                                               const FramePtr& frame, Writer&) {
  PARLANCE_TRY(Captured captured, capture(node.body, position, std::make_shared<Frame>(frame)));
  if (captured.flow != Flow::normal) return captured.flow;
  if (node.filter) {
    PARLANCE_TRY(captured.text, apply_filters(*node.filter, captured.text, frame));
  }
  PARLANCE_CHECK(assign(node.target, captured.text, frame));
  return Flow::normal;
}

Result<Interpreter::Flow> Interpreter::execute(const ast::FilterBlock& node, Position position,
                                               const FramePtr& frame, Writer& out) {
  PARLANCE_TRY(const Captured captured, capture(node.body, position, std::make_shared<Frame>(frame)));
  if (captured.flow != Flow::normal) return captured.flow;
  PARLANCE_TRY(const Value value, apply_filters(*node.filter, captured.text, frame));
  PARLANCE_TRY(const std::string text, at(position, to_str(context_.budget, value)));
  out.append(text);
  return Flow::normal;
}

Result<Interpreter::Flow> Interpreter::execute(const ast::With& node, Position, const FramePtr& frame,
                                               Writer& out) {
  const auto scope = std::make_shared<Frame>(frame);
  for (const auto& [target, expression] : node.assignments) {
    PARLANCE_TRY(const Value value, evaluate(*expression, frame));
    PARLANCE_CHECK(assign(target, value, scope));
  }
  return execute(node.body, scope, out);
}

// ---- Macros ----

Result<Interpreter::Flow> Interpreter::execute(const ast::MacroDefinition& node, Position,
                                               const FramePtr& frame, Writer&) {
  context_.keep(frame);
  frame->set(node.name->bytes, Value(Value::Data(std::make_shared<const Macro>(Macro{&node, frame}))));
  return Flow::normal;
}

Result<Interpreter::Flow> Interpreter::execute(const ast::CallBlock& node, Position, const FramePtr& frame,
                                               Writer& out) {
  context_.keep(frame);
  const Value caller(Value::Data(std::make_shared<const Macro>(Macro{&node.caller, frame})));
  PARLANCE_TRY(const Value text,
               evaluate_call(std::get<ast::Call>(node.call->node), node.call->position, frame, &caller));
  PARLANCE_TRY(const std::string string, at(node.call->position, to_str(context_.budget, text)));
  out.append(string);
  return Flow::normal;
}

}  // namespace parlance::jinja
