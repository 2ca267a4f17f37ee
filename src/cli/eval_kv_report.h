// What parlance eval kv prints.
#pragma once

#include <vector>

#include "cli/terminal/console.h"
#include "eval/cache_quality.h"
#include "json/json.h"

namespace parlance {

void print_cache_quality(const Console& io, const std::vector<CacheQuality>& results);
Json to_json(const std::vector<CacheQuality>& results);

}  // namespace parlance
