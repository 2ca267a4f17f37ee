// The ways of keeping keys and values that `parlance eval kv` compares.
#pragma once

#include <vector>

#include "eval/cache_quality.h"

namespace parlance {

// f16, then formats alone and mixed, encoders, windows and presets, as far as they fit the model's heads;
// named by the options that ask for them.
std::vector<CacheCase> cache_cases(const KvLayout& layout);

}  // namespace parlance
