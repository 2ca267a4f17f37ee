// A Qwen3 model again, as the same function, with keys whose outliers no block of a cache's format has bits
// for.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "gguf/writer.h"

namespace parlance::test {

// Keys' norms have an element in sixteen that is 256 times as large, and queries' as much smaller; both are
// multiplied by `sharper`, which makes another function of them: attention that looks at something, where
// weights are random.
inline Result<void> make_hard_model(const std::filesystem::path& from, const std::filesystem::path& to,
                                    float sharper = 1) {
  PARLANCE_TRY(const GgufFile file, GgufFile::open(from));
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) writer.copy(key, value);
  for (const GgufTensor& tensor : file.tensors())
    writer.add_tensor(tensor.name, tensor.dtype, std::span(tensor.ne).first(tensor.n_dims));
  PARLANCE_CHECK(writer.begin(to));
  for (const GgufTensor& tensor : file.tensors()) {
    std::vector<std::byte> bytes(tensor.bytes.begin(), tensor.bytes.end());
    const bool is_key = tensor.name.find("attn_k_norm") != std::string::npos;
    if (is_key || tensor.name.find("attn_q_norm") != std::string::npos) {
      std::vector<float> weights(bytes.size() / sizeof(float));
      std::memcpy(weights.data(), bytes.data(), bytes.size());
      for (float& w : weights) w *= sharper;
      for (size_t i = 0; i < weights.size(); ++i) {
        if (i % 16 == 3) weights[i] *= is_key ? 256 : 1.0f / 256;
      }
      std::memcpy(bytes.data(), weights.data(), bytes.size());
    }
    PARLANCE_CHECK(writer.write_tensor(bytes));
  }
  return writer.finish();
}

}  // namespace parlance::test
