// Calls of tools as a grammar: names that there are, and arguments that keep their tool's schema.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"

namespace parlance {

// How a model writes a call.
enum class CallNotation : uint8_t {
  marked_json,  // <tool_call>\n{"name": "f", "arguments": {…}}\n</tool_call>
  marked_xml,   // <tool_call>\n<function=f>\n<parameter=p>\nvalue\n</parameter>\n</function>\n</tool_call>
  bare_json,    // {"name": "f", "parameters": {…}}, and nothing else
};

struct CallableTool {
  std::string name;
  std::string parameters;  // the JSON schema of its arguments
};

struct ToolCalls {
  CallNotation notation = CallNotation::marked_json;
  std::vector<CallableTool> tools;  // none: any text but the mark of a call
  bool is_one = false;              // at most; else up to sixteen
  bool is_required = false;         // at least one, and nothing beside them; else words may come, too
  // The vocabulary has the marks as tokens of their own, which may stand in their place.
  bool has_mark_tokens = false;
};

// Errors: of a schema, as of Grammar::from_json_schema().
Result<std::shared_ptr<const Grammar>> grammar_of(const ToolCalls& calls);

}  // namespace parlance
