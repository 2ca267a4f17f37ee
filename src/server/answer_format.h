// What an answer must look like: a JSON schema, a regular expression, a choice of texts, a grammar.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/text_model.h"
#include "grammar/token_masks.h"
#include "server/fields.h"
#include "server/grammar_cache.h"

namespace parlance {

// The grammar that a request asks for; null where it asks for none. With a call that must be made there can
// be no other form. Errors name the field, of a schema the place in it ("/properties/a").
ApiResult<std::shared_ptr<TokenMasks>> read_answer_format(GrammarCache& grammars, const TextModel& model,
                                                          const Body& body, bool is_call_forced = false);

// What is wrong with a text that was to be compiled; of a schema, the place in it is named.
ApiError grammar_error(const Error& error, const std::string& param, bool is_schema);

}  // namespace parlance
