// From how a cache was asked for to how it is kept, by what this model's keys and values are like.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "assistant/remark.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "engine/context.h"
#include "engine/text_model.h"
#include "kv/cache_probe.h"

namespace parlance {

// Where a model's probe is kept: in $XDG_CACHE_HOME/parlance, else ~/.cache/parlance; none where there is no
// such place.
std::optional<std::filesystem::path> probe_path(const TextModel& model);

// What is kept of the model, if it is whole.
std::optional<CacheProbe> known_probe(const TextModel& model);

// The same, or else, and where it lacks one of these formats, the model is probed now and the result kept.
// Errors: as of probe_cache().
Result<CacheProbe> probe_of(const TextModel& model, std::span<const KvFormat> formats,
                            const Cancellation& cancellation = {});

// By a probe: formats of layers where a goal is to be met, and the equaliser. Nothing changes for floats.
KvPolicy settled(const CacheProbe& probe, const TextModel& model, const SessionOptions& options);

// The same with the model's probe, which is made where it is not known; a remark where it finds that the
// cache harms the model, or where it cannot be made.
void settle_cache(const TextModel& model, SessionOptions& options, const OnRemark& on_remark);

}  // namespace parlance
