// How answers are made, as callers of either generation of the C struct say it.
#pragma once

#include <cstdint>
#include <optional>

#include "elizainference.h"

namespace parlance::capi {

// Zeros and nulls leave it to the library.
struct LlmConfig {
  int32_t max_tokens = 0;
  float temperature = 0, top_p = 0;
  int32_t top_k = 0;
  float repeat_penalty = 0;
  int32_t draft_min = 0, draft_max = 0;
  const char* drafter_path = nullptr;
  const char* gbnf_grammar = nullptr;
  bool disables_thinking = false;
  int32_t n_gpu_layers = -1;
  const char* cache_type_k = nullptr;
  const char* cache_type_v = nullptr;
};

// eliza_inference_llm_stream_open() of every profile. None: the caller's config is NULL.
void* open_llm_stream(EliInferenceContext* ctx, const std::optional<LlmConfig>& config,
                      char** out_error) noexcept;

}  // namespace parlance::capi
