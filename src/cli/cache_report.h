// What a probe says of a model's cache, for people and for scripts.
#pragma once

#include "cli/terminal/console.h"
#include "engine/text_model.h"
#include "json/json.h"
#include "kv/cache_probe.h"

namespace parlance {

// What each preset chooses: bits, and how far predictions are expected to lie from exact ones.
void print_chosen_caches(const Console& io, const TextModel& model, const CacheProbe& probe);

// Each format's errors by layer, or by head.
void print_format_losses(const Console& io, const CacheProbe& probe, bool by_head);

Json to_json(const TextModel& model, const CacheProbe& probe);

}  // namespace parlance
