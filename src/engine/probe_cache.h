// Finds out what compressing its keys and values would do to a model.
#pragma once

#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "engine/text_model.h"
#include "kv/cache_probe.h"

namespace parlance {

// What is worth computing to find out how a model attends: texts of several kinds, and a question about them.
// As a chat, where the model has a form for it: many models attend to how a chat begins as to nothing else.
std::string_view probe_text();

// Of a prompt with this text what is computed: its beginning, and its end.
std::vector<Token> probe_tokens(const TextModel& model, std::span<const Token> prompt);

// Formats that presets choose from; every probe tries them.
std::span<const KvFormat> usual_cache_formats();

// Computes some 500 tokens with an exact cache, and tries the usual formats and these on a sample
// of its keys and values, as far as they fit the model's heads. Errors: a model without attention or with too
// short a context; as of Session::create() and append().
Result<CacheProbe> probe_cache(const TextModel& model, std::span<const Token> tokens,
                               std::span<const KvFormat> more, const Cancellation& cancellation = {});

}  // namespace parlance
