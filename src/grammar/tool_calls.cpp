#include "grammar/tool_calls.h"

#include <array>
#include <optional>

#include "grammar/json_schema.h"
#include "grammar/rules.h"
#include "json/json.h"

namespace parlance {

namespace {

constexpr std::string_view kCall = "<tool_call>", kCallEnd = "</tool_call>";
constexpr std::string_view kParameterEnd = "\n</parameter>";
constexpr std::string_view kAnyValue = "true";
constexpr uint32_t kMostCalls = 16;

class CallCompiler {
 public:
  explicit CallCompiler(const ToolCalls& calls) : calls_(calls) {}

  Result<std::shared_ptr<const Grammar>> compile() {
    if (calls_.tools.empty()) {
      const RuleId root = rules_.add_rule("words");
      add_words(rules_.of(root));
      return rules_.compile(root, Parameter::json_schema);
    }
    const RuleId call = rules_.add_rule("a call");
    const auto [start, end] = rules_.of(call);
    for (const CallableTool& tool : calls_.tools) PARLANCE_CHECK(add_tool(tool, start, end));
    const RuleId root = rules_.add_rule("calls");
    if (calls_.notation == CallNotation::bare_json) {
      add_bare(call, rules_.of(root));
    } else if (calls_.is_required) {
      add_calls(call, rules_.of(root));
    } else {
      add_words_and_calls(call, rules_.of(root));
    }
    return rules_.compile(root, Parameter::json_schema);
  }

 private:
  using State = AutomatonState;

  // A mark, as bytes or as its token.
  void add_mark(std::string_view mark, State from, State to) {
    rules_.text(from, mark, to);
    add_mark_token(mark, from, to);
  }
  void add_mark_token(std::string_view mark, State from, State to) {
    if (calls_.has_mark_tokens) rules_.token(from, {.text = std::string(mark)}, to);
  }

  State after_text(State from, std::string_view text) {
    const State to = rules_.add_state();
    rules_.text(from, text, to);
    return to;
  }
  State after_line_break_or_none(State from) {
    const State to = rules_.add_state();
    rules_.jump(from, to);
    rules_.byte_range(from, '\n', '\n', to);
    return to;
  }

  // Any bytes up to the first time that a mark has come, whose last byte leads to `behind`; none: it may not
  // come. The states are those in between: in state k, the first k bytes of the mark have come.
  std::vector<State> add_bytes_until(std::string_view mark, State from, std::optional<State> behind) {
    std::vector<State> states = {from};
    while (states.size() < mark.size()) states.push_back(rules_.add_state());
    std::vector<std::array<size_t, 256>> next(mark.size());  // Knuth, Morris and Pratt
    size_t fallback = 0;
    for (size_t k = 0; k < mark.size(); ++k) {
      const auto byte = static_cast<uint8_t>(mark[k]);
      if (k > 0) {
        next[k] = next[fallback];
        fallback = next[fallback][byte];
      }
      next[k][byte] = k + 1;
    }
    for (size_t k = 0; k < mark.size(); ++k) {
      for (size_t first = 0; first < 256;) {
        const size_t to = next[k][first];
        size_t last = first;
        while (last < 255 && next[k][last + 1] == to) ++last;
        const auto target = to == mark.size() ? behind : std::optional(states[to]);
        if (target)
          rules_.byte_range(states[k], static_cast<uint8_t>(first), static_cast<uint8_t>(last), *target);
        first = last + 1;
      }
    }
    return states;
  }

  // Calls alone. Line breaks may stand between them, and before the first one, behind thoughts.
  void add_calls(RuleId call, Rules::Ends root) {
    const RuleId marked = rules_.add_rule("a call with its mark");
    const auto [start, end] = rules_.of(marked);
    const State behind_mark = rules_.add_state();
    add_mark(kCall, after_line_break_or_none(start), behind_mark);
    rules_.call(behind_mark, call, end);
    const State first = after_line_break_or_none(root.start);
    const State more = rules_.add_state();
    rules_.call(first, marked, more);
    rules_.jump(more, root.end);
    if (!calls_.is_one) rules_.call(more, rules_.add_repeat(marked, 1, kMostCalls - 1), root.end);
  }

  void add_words(Rules::Ends root) {
    const State words = rules_.add_state();
    rules_.jump(root.start, words);
    for (const State state : add_bytes_until(kCall, words, std::nullopt)) rules_.jump(state, root.end);
  }

  void add_words_and_calls(RuleId call, Rules::Ends root) {
    const State words = rules_.add_state(), behind_mark = rules_.add_state();
    rules_.jump(root.start, words);
    for (const State state : add_bytes_until(kCall, words, behind_mark)) {
      rules_.jump(state, root.end);
      add_mark_token(kCall, state, behind_mark);
    }
    rules_.call(behind_mark, call, calls_.is_one ? root.end : words);
  }

  // A call, or where none must be, what cannot be taken for the beginning of one.
  void add_bare(RuleId call, Rules::Ends root) {
    rules_.call(root.start, call, root.end);
    if (calls_.is_required) return;
    const State words = rules_.add_state();
    for (const auto& [first, last] : std::initializer_list<std::pair<uint8_t, uint8_t>>{
             {'!', 'z'}, {'|', 0xff}}) {  // neither a blank nor a brace
      rules_.byte_range(root.start, first, last, words);
    }
    rules_.byte_range(words, 0, 0xff, words);
    rules_.jump(words, root.end);
    rules_.jump(root.start, root.end);
  }

  // What stands behind the opening mark, or the whole call where there are none.
  Result<void> add_tool(const CallableTool& tool, State start, State end) {
    switch (calls_.notation) {
      case CallNotation::marked_json: {
        const State object = after_line_break_or_none(start), behind = rules_.add_state();
        PARLANCE_CHECK(add_object(tool, "arguments", object, behind));
        add_mark(kCallEnd, after_line_break_or_none(behind), end);
        return {};
      }
      case CallNotation::marked_xml:
        return add_xml(tool, start, end);
      case CallNotation::bare_json:
        return add_object(tool, "parameters", start, end);
    }
    return {};
  }

  Result<void> add_object(const CallableTool& tool, const char* member, State start, State end) {
    PARLANCE_TRY(const RuleId arguments, add_json_schema(tool.parameters, rules_));
    const State before = after_text(start, fmt::format(R"({{"name": "{}", "{}": )", tool.name, member));
    const State behind = rules_.add_state();
    rules_.call(before, arguments, behind);
    rules_.text(behind, "}", end);
    return {};
  }

  // Parameters in the schema's order; those that are not required may be left out.
  Result<void> add_xml(const CallableTool& tool, State start, State end) {
    PARLANCE_TRY(const Json schema, Json::parse(tool.parameters));
    State at = after_text(after_line_break_or_none(start), "<function=" + tool.name + ">\n");
    const auto properties = schema.member("properties");
    const auto members = properties ? properties->members() : std::nullopt;
    for (const auto& [name, property] : members.value_or(std::vector<std::pair<std::string, Json>>())) {
      const State behind = rules_.add_state();
      if (!is_required(schema, name)) rules_.jump(at, behind);
      PARLANCE_CHECK(add_parameter(schema, name, property, at, behind));
      at = behind;
    }
    add_mark(kCallEnd, after_line_break_or_none(after_text(at, "</function>")), end);
    return {};
  }

  static bool is_required(const Json& schema, const std::string& name) {
    const auto list = schema.member("required");
    const auto names = list ? list->elements() : std::nullopt;
    if (!names) return false;
    for (const Json& one : *names) {
      if (one.text() == name) return true;
    }
    return false;
  }

  // A text stands there as it is, any other value in JSON.
  Result<void> add_parameter(const Json& schema, const std::string& name, const Json& property, State start,
                             State end) {
    const State open = after_text(start, "<parameter=" + name + ">");
    const State behind = rules_.add_state();
    rules_.text(behind, "\n", end);
    const auto type = property.member("type");
    const auto list = property.member("enum");
    const auto words = list ? list->elements() : std::nullopt;
    if (type && type->text() == "string" && !words) {
      // The line break before the value may be that of the end, too: then the value is empty.
      const State first = after_text(open, "\n");
      const std::vector<State> states = add_bytes_until(kParameterEnd, rules_.add_state(), behind);
      rules_.jump(first, states[1]);
      return {};
    }
    const State value = after_text(open, "\n"), close = rules_.add_state();
    rules_.text(close, kParameterEnd, behind);
    if (type && type->text() == "string") {
      for (const Json& one : *words) {
        if (const auto text = one.text()) rules_.text(value, *text, close);
      }
      return {};
    }
    // References lead into the whole schema.
    Json own = property.is_object() ? property : Json::object();
    for (const char* definitions : {"$defs", "definitions"}) {
      if (const auto all = schema.member(definitions)) own.set(definitions, *all);
    }
    PARLANCE_TRY(const RuleId rule,
                 add_json_schema(property.is_object() ? own.line() : std::string(kAnyValue), rules_));
    rules_.call(value, rule, close);
    return {};
  }

  const ToolCalls& calls_;
  Rules rules_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> grammar_of(const ToolCalls& calls) {
  return CallCompiler(calls).compile();
}

}  // namespace parlance
