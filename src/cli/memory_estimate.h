// The memory that a model will need at several lengths of context.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/text_model.h"
#include "quant/kv_format.h"

namespace parlance {

struct MemoryEstimate {
  int64_t n_ctx;
  size_t workspace_bytes;  // activations of the largest batch
  size_t state_bytes;      // of recurrent layers, with as many snapshots as a session keeps
  // Keys and values in each format, both in the same one; empty where the format does not fit the model's
  // heads.
  std::array<std::optional<size_t>, kKvFormatCount> cache_bytes;
};

// For short to full contexts. The workspace is measured by a dry run, nothing is computed.
Result<std::vector<MemoryEstimate>> estimate_memory(const TextModel& text);

}  // namespace parlance
