// What an answer must look like: a JSON schema, a regular expression, a choice of texts, a grammar.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "grammar/grammar.h"
#include "server/fields.h"

namespace parlance {

// The grammar that a request asks for; null where it asks for none. `tool_choice`: with a call that must be
// made, there can be no other form. Errors name the field, of a schema the place in it ("/properties/a").
ApiResult<std::shared_ptr<const Grammar>> read_answer_format(const Body& body,
                                                             const std::string& tool_choice);

}  // namespace parlance
