// Which format each layer's keys and values are kept in, by what a probe has found.
#pragma once

#include "kv/cache.h"
#include "kv/cache_probe.h"
#include "kv/policy.h"

namespace parlance {

// How far the model's predictions are expected to lie from those with an exact cache: nats, on average. An
// estimate, right within a factor of a few; infinite where a format was not tried. `is_equalised`: whether
// keys will be.
double predicted_divergence(const CacheProbe& probe, const KvLayout& layout, bool is_equalised);

// From here on, answers suffer visibly.
inline constexpr double kBreaksModel = 0.05;

// Formats for every layer of a layout whose policy has a goal, of those that were tried and f16: from the
// smallest on, the one that takes the most error away for its bits, until the goal's divergence or its bits
// are reached. First positions stay exact where their keys and values bring in a good part of the errors. The
// policy comes back without a goal.
KvPolicy choose_formats(const CacheProbe& probe, const KvLayout& layout, bool is_equalised);

// Bits of a value, on average over layers, keys and values.
double bits_per_value(const KvLayout& layout);

}  // namespace parlance
