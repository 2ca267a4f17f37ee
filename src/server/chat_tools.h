// Tools in chats: how a model is told of them, and how it writes calls.
#pragma once

#include <string>
#include <vector>

#include "chat/answer_reader.h"
#include "chat/prompt.h"
#include "engine/text_model.h"
#include "json/json.h"

namespace parlance {

// What the model's template makes of a tool says which words the model was trained on; none: it makes nothing
// of tools.
ToolFamily tool_family_of(const TextModel& model);

// For templates that make nothing of them: the tools and how to call one (hermes), behind the system message.
void describe_tools(const std::string& tools_json, std::vector<Message>& messages);

// Each tool with those of its parameters that are texts.
std::vector<std::string> text_parameters(const Json& tool);

}  // namespace parlance
