// Finds out what compressing its keys and values would do to a model.
#pragma once

#include <span>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "engine/text_model.h"
#include "kv/cache_probe.h"

namespace parlance {

// The text that is computed, in the model's tokens.
std::vector<Token> probe_tokens(const TextModel& model);

// Formats that presets choose from; every probe tries them.
std::span<const KvFormat> usual_cache_formats();

// Computes a text of some 500 tokens with an exact cache, and tries the usual formats and these on a sample
// of its keys and values, as far as they fit the model's heads. Errors: a model without attention or with too
// short a context; as of Session::create() and append().
Result<CacheProbe> probe_cache(const TextModel& model, std::span<const KvFormat> more,
                               const Cancellation& cancellation = {});

}  // namespace parlance
