// Which format each layer's keys and values are kept in, by what a probe has found.
#pragma once

#include "kv/cache.h"
#include "kv/cache_probe.h"
#include "kv/policy.h"

namespace parlance {

// How far the model's predictions are expected to lie from those with an exact cache on an ordinary text:
// nats, on average. Of what the model is sure of, far less. An estimate, right within a factor of a few;
// infinite where a format was not tried. `is_equalised`: whether keys will be.
double predicted_divergence(const CacheProbe& probe, const KvLayout& layout, bool is_equalised);

// From the first on, answers suffer; from the second on, hardly one is what it was.
inline constexpr double kHarmsModel = 0.05, kBreaksModel = 0.2;

// Formats for every layer of a layout whose policy has a goal, of those that were tried and f16: from the
// smallest on, the one that takes the most error away for its bits, until the goal's divergence or its bits
// are reached. The policy comes back without a goal.
KvPolicy choose_formats(const CacheProbe& probe, const KvLayout& layout, bool is_equalised);

// Bits of a value, on average over layers, keys and values.
double bits_per_value(const KvLayout& layout);

}  // namespace parlance
