// Language models: Qwen3, Qwen2, Llama, and that of Qwen3-ASR.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "convert/tensor_plan.h"
#include "convert/weight_folder.h"
#include "gguf/writer.h"

namespace parlance {

// The name that GGUF files have for an entry of config.json's architectures; empty: it is none of these.
std::string language_architecture(std::string_view of_config);

// What the converter of llama.cpp writes before the tensors' types are known, and the tensors. `config` is
// the whole of config.json, that of the language model alone may be in it (text_config, thinker_config).
Result<std::vector<TensorPlan>> plan_language_model(GgufWriter& writer, const WeightFolder& folder,
                                                    const Json& config, const std::string& architecture,
                                                    const ConvertType& type);

// A member of an object, or of what is in it; an object without it: itself.
Json inner_config(const Json& config, std::string_view name);

// The general keys. file_type is what `type` makes of the folder's matrices.
void write_general(GgufWriter& writer, const std::string& architecture, std::string_view kind,
                   const std::string& name);
uint32_t file_type_of(const std::vector<TensorPlan>& tensors);

}  // namespace parlance
