// Tools in chats: how a model is told of them, and how it writes calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chat/answer_reader.h"
#include "chat/prompt.h"
#include "engine/text_model.h"
#include "grammar/token_masks.h"
#include "json/json.h"
#include "server/fields.h"
#include "server/grammar_cache.h"

namespace parlance {

// What the model's template makes of a tool says which words the model was trained on; none: it makes nothing
// of tools.
ToolFamily tool_family_of(const TextModel& model);

// For templates that make nothing of them: the tools and how to call one (hermes), behind the system message.
void describe_tools(const std::string& tools_json, std::vector<Message>& messages);

struct OfferedTool {
  std::string name;
  std::string parameters;          // the schema of its arguments, which are an object
  bool is_strict = false;          // the schema must be kept
  std::string where;               // "tools[0]"
  std::vector<std::string> texts;  // parameters that are texts
};

// Errors name the field.
ApiResult<std::vector<OfferedTool>> read_tools(const Json& tools);

// What `tool_choice` says.
enum class ToolChoice : uint8_t {
  none,
  free,      // "auto"
  required,  // at least one call
  named,     // of one tool
};

// Leaves those that may be called in `offered`. Errors: none of that name, none at all where one is required.
ApiResult<ToolChoice> read_tool_choice(const Body& body, std::vector<OfferedTool>& offered);

// What an answer with calls of these tools looks like; without tools, one without calls. Null: like any text.
// A schema that cannot be kept leaves its tool any arguments, which is noted, or is an error where it is
// strict.
struct CallTerms {
  ToolFamily family = ToolFamily::hermes;
  ToolChoice choice = ToolChoice::free;
  bool is_one = false;
  bool holds_free =
      true;  // calls that nobody asked for are held to the tools as well; strict ones always are
};
ApiResult<std::shared_ptr<TokenMasks>> read_call_grammar(GrammarCache& grammars, const TextModel& model,
                                                         std::vector<OfferedTool> offered,
                                                         const CallTerms& terms,
                                                         std::vector<std::string>& notes);

}  // namespace parlance
