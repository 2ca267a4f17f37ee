// The numbers that shape a model, from the metadata of its file. Names match the metadata keys.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "gguf/reader.h"

namespace parlance {

enum class RopeScaling : uint8_t { none, linear, yarn };

struct RopeParameters {
  int64_t n_rot = 0;     // rotated dimensions of a head
  double theta = 10000;  // rope.freq_base
  RopeScaling scaling = RopeScaling::none;
  double factor = 1;  // context is stretched by this
  double original_context_length = 0;
  double attn_factor = 1;  // YaRN
  double beta_fast = 32;   // YaRN
  double beta_slow = 1;    // YaRN
};

struct HyperParameters {
  std::string architecture;
  int64_t n_layer = 0;
  int64_t n_ctx_train = 0;  // context_length
  int64_t n_embd = 0;
  int64_t n_ff = 0;
  int64_t n_head = 0;
  int64_t n_head_kv = 0;
  int64_t head_dim_k = 0;  // attention.key_length
  int64_t head_dim_v = 0;  // attention.value_length
  float norm_eps = 0;
  float attention_scale = 0;  // 1 / sqrt(head_dim_k) unless the file says otherwise
  RopeParameters rope;
};

// Reads and checks the keys `<architecture>.*`; every error names the key.
Result<HyperParameters> read_hyper_parameters(const GgufFile& file);

}  // namespace parlance
