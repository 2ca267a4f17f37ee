// What parlance eval kv prints.
#pragma once

#include <vector>

#include "cli/eval_kv.h"
#include "cli/terminal/console.h"
#include "json/json.h"

namespace parlance {

void print_cache_quality(const Console& io, const std::vector<CacheQuality>& results);
Json to_json(const std::vector<CacheQuality>& results);

}  // namespace parlance
