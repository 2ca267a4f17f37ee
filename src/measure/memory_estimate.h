// The memory that a model will need at several lengths of context.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text_model.h"
#include "quant/kv_format.h"

namespace parlance {

// A way of keeping keys and values: a preset (kv/policy.h), or a format for both.
struct CacheChoiceCost {
  std::string_view preset;  // empty: the format
  KvFormat format;
  double bits_per_value;
  size_t bytes_per_token;
  int64_t n_ctx_that_fits;  // positions whose cache fits beside the model in the memory that is free now
};

struct MemoryEstimate {
  int64_t n_ctx;
  size_t workspace_bytes;  // activations of the largest batch
  size_t state_bytes;      // of recurrent layers, with as many snapshots as a session keeps
  // Keys and values in each format, both in the same one; empty where the format does not fit the model's
  // heads.
  std::array<std::optional<size_t>, kKvFormatCount> cache_bytes;
};

// Presets first, then formats, as far as they fit the model's heads; none for models without attention.
// Presets are what the model's probe makes of them where it is known, else what they are without; auto is
// nothing without.
std::vector<CacheChoiceCost> cache_costs(const TextModel& text, size_t workspace_bytes);

// For short to full contexts. The workspace is measured by a dry run, nothing is computed.
Result<std::vector<MemoryEstimate>> estimate_memory(const TextModel& text);

}  // namespace parlance
