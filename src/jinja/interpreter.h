// Runs a parsed template.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "jinja/arguments.h"
#include "jinja/ast.h"
#include "jinja/context.h"
#include "jinja/parser.h"
#include "jinja/value.h"
#include "jinja/writer.h"

namespace parlance::jinja {

class Interpreter {
 public:
  // `variables`: a dict with strings as keys.
  Interpreter(const Program& program, Value variables, const TemplateLimits& limits, int64_t now_unix_s);
  Result<std::string> run();

 private:
  using FramePtr = std::shared_ptr<Frame>;
  // How a block ended.
  enum class Flow { normal, broken, continued };

  // ---- Statements (execute.cpp) ----
  Result<Flow> execute(const ast::Block& block, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::Data& data, Position position, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::Output& output, Position position, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::If& node, Position position, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::For& node, Position position, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::Set& node, Position position, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::SetBlock& node, Position position, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::MacroDefinition& node, Position position, const FramePtr& frame,
                       Writer& out);
  Result<Flow> execute(const ast::CallBlock& node, Position position, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::FilterBlock& node, Position position, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::With& node, Position position, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::Break& node, Position position, const FramePtr& frame, Writer& out);
  Result<Flow> execute(const ast::Continue& node, Position position, const FramePtr& frame, Writer& out);

  Result<Flow> run_loop(const ast::For& node, Position position, const FramePtr& frame, const Value& iterable,
                        size_t depth0, Writer& out);
  // Asks the condition of a loop until `n` elements are selected, or all were asked about.
  Result<void> select_items(Loop& loop, size_t n);
  Result<void> assign(const ast::Target& target, const Value& value, const FramePtr& frame);
  // The text that a block writes, or how it left the loop around it instead.
  struct Captured {
    Flow flow;
    Value text;
  };
  Result<Captured> capture(const ast::Block& block, Position position, const FramePtr& frame);

  // ---- Expressions (evaluate.cpp) ----
  Result<Value> evaluate(const ast::Expression& expression, const FramePtr& frame);
  Result<Value> evaluate(const ast::Literal& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Name& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::SequenceDisplay& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::DictDisplay& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Unary& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Binary& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Logical& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Comparison& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Concatenation& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Conditional& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Attribute& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Item& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Slice& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::Call& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::FilterCall& node, Position position, const FramePtr& frame);
  Result<Value> evaluate(const ast::TestCall& node, Position position, const FramePtr& frame);

  Result<CallArguments> evaluate_arguments(const ast::Arguments& arguments, Position position,
                                           const FramePtr& frame);
  // `caller`: the body of a call block, which the macro may call.
  Result<Value> evaluate_call(const ast::Call& node, Position position, const FramePtr& frame,
                              const Value* caller);
  Result<Value> call(const Value& callee, const CallArguments& arguments, Position position,
                     const Value* caller);
  Result<Value> call_macro(const Macro& macro, const CallArguments& arguments, Position position,
                           const Value* caller);
  Result<void> bind_parameters(const Macro& macro, const CallArguments& arguments, Position position,
                               const Value* caller, const FramePtr& frame);
  Result<Value> call_loop(const Loop& loop, const CallArguments& arguments, Position position);
  Result<Value> apply_filter(const ast::FilterCall& node, const Value& input, Position position,
                             const FramePtr& frame);
  // A chain of filters, the first of which takes `text`.
  Result<Value> apply_filters(const ast::Expression& chain, const Value& text, const FramePtr& frame);

  // ---- Errors and limits ----
  tl::unexpected<Error> error_at(Position position, const Error& error) const;
  // The same result, its error with the place in the template in front of it.
  template <class T>
  Result<T> at(Position position, Result<T> result) const {
    if (!result) return error_at(position, result.error());
    return result;
  }
  Result<void> check_budget(Position position) const;

  // Nested expressions and statements that one level of TemplateLimits::max_depth stands for: a call of a
  // macro takes several.
  static constexpr size_t kNestingPerLevel = 4;

  // Counts the nesting of statements, expressions and calls, which is that of the stack.
  class Nesting {
   public:
    explicit Nesting(Interpreter& interpreter) : depth_(interpreter.depth_) {
      if (++depth_ > interpreter.max_depth_) interpreter.context_.budget.exhaust_depth();
    }
    ~Nesting() { --depth_; }

   private:
    size_t& depth_;
  };

  const Program& program_;
  Context context_;
  const Value variables_;
  const size_t max_depth_;
  size_t depth_ = 0;
};

}  // namespace parlance::jinja
