// The audio encoder of Qwen3-ASR, as the file that llama.cpp calls mmproj.
#pragma once

#include <vector>

#include "base/result.h"
#include "convert/tensor_plan.h"
#include "convert/weight_folder.h"
#include "gguf/writer.h"

namespace parlance {

Result<std::vector<TensorPlan>> plan_audio_encoder(GgufWriter& writer, const WeightFolder& folder,
                                                   const Json& config, const ConvertType& type);

}  // namespace parlance
