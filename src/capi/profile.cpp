// One profile of the library: compiled for each, with ELIZA_INFERENCE_ABI as its number.
#include "capi/profile.h"

#include "capi/llm_config.h"
#include "elizainference.h"

namespace parlance::capi {

namespace {

#define PARLANCE_TEXT_OF(number) #number
#define PARLANCE_TEXT(number) PARLANCE_TEXT_OF(number)

constexpr Profile kProfile = {.abi_version = PARLANCE_TEXT(ELIZA_INFERENCE_ABI),
                              .wants_canonical_speech_files = ELIZA_INFERENCE_ABI == 3};

// What both generations of the struct have.
template <class Config>
LlmConfig common_part(const Config& config) {
  LlmConfig common;
  common.max_tokens = config.max_tokens;
  common.temperature = config.temperature;
  common.top_p = config.top_p;
  common.top_k = config.top_k;
  common.repeat_penalty = config.repeat_penalty;
  common.draft_min = config.draft_min;
  common.draft_max = config.draft_max;
  common.drafter_path = config.drafter_path;
  common.disables_thinking = config.disable_thinking != 0;
  return common;
}

LlmConfig read(const EliLlmStreamConfig& config) {
  LlmConfig own = common_part(config);
#if ELIZA_INFERENCE_ABI >= 12
  own.gbnf_grammar = config.gbnf_grammar;
  own.n_gpu_layers = config.n_gpu_layers;
  own.cache_type_k = config.cache_type_k;
  own.cache_type_v = config.cache_type_v;
#endif
  return own;
}

}  // namespace

const Profile& profile() {
  return kProfile;
}

}  // namespace parlance::capi

const char* eliza_inference_abi_version() {
  return parlance::capi::profile().abi_version;
}

// The one function whose meaning depends on the profile: the same name takes another struct.
EliLlmStream* eliza_inference_llm_stream_open(EliInferenceContext* ctx, const EliLlmStreamConfig* config,
                                              char** out_error) {
  using namespace parlance::capi;
  return static_cast<EliLlmStream*>(
      open_llm_stream(ctx, config ? std::optional(read(*config)) : std::nullopt, out_error));
}
