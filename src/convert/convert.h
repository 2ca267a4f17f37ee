// A folder of published weights made into GGUF files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "convert/tensor_plan.h"

namespace parlance {

struct ConvertOptions {
  std::filesystem::path out;  // of the language model; empty: NAME-TYPE.gguf in the current folder
  std::string type;  // f32, f16, bf16, q8_0, or a mixture of `parlance quantize`; empty: as published
  std::function<bool(const ConvertProgress&)> progress;  // after each tensor; false stops the work
};

struct ConvertedFile {
  std::string what;  // "model", "mmproj", "codec"
  std::string architecture;
  std::filesystem::path path;
  uint64_t n_bytes = 0;
  size_t n_tensors = 0;
};

// Qwen3, Qwen2, Llama: one file. Qwen3-ASR: the language model, and mmproj-NAME beside it. OmniVoice: the
// same with NAME-tokenizer. Each appears whole or not at all. Errors name the file or field that is in the
// way.
Result<std::vector<ConvertedFile>> convert_folder(const std::filesystem::path& folder,
                                                  const ConvertOptions& options);

}  // namespace parlance
