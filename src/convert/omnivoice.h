// OmniVoice: its language model, and the codec in the folder audio_tokenizer.
#pragma once

#include <vector>

#include "base/result.h"
#include "convert/tensor_plan.h"
#include "convert/weight_folder.h"
#include "gguf/writer.h"

namespace parlance {

bool is_omnivoice(const Json& config);

Result<std::vector<TensorPlan>> plan_omnivoice_base(GgufWriter& writer, const WeightFolder& folder,
                                                    const Json& config, const ConvertType& type);
// Keeps the folder's types: a codec loses more by small numbers than it gains.
Result<std::vector<TensorPlan>> plan_omnivoice_codec(GgufWriter& writer, const WeightFolder& folder);

}  // namespace parlance
