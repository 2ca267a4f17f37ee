// The numbers that shape a model, from the metadata of its file. Names match the metadata keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"
#include "models/model_keys.h"

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
  // Of each of the n_rot / 2 pairs, which of a token's four positions it turns with (M-RoPE); empty: there is
  // one position.
  std::vector<int32_t> sections;
};

// How a layer mixes tokens: a hybrid model has both kinds.
enum class LayerKind : uint8_t { attention, delta_net };

// The recurrent layers of a hybrid model, keys `ssm.*`.
struct DeltaNetParameters {
  int64_t head_dim = 0;      // state_size, of keys and values alike
  int64_t n_key_head = 0;    // group_count
  int64_t n_value_head = 0;  // time_step_rank, a multiple of n_key_head
  int64_t n_tap = 0;         // conv_kernel: tokens that the convolution sees

  int64_t n_inner() const { return n_value_head * head_dim; }
  int64_t n_channel() const { return (2 * n_key_head + n_value_head) * head_dim; }  // q, k and v
};

// How the states of a text's tokens become one embedding: pooling_type.
enum class Pooling : uint8_t { none, mean, first, last, rank };

struct HyperParameters {
  std::string architecture;
  int64_t n_layer = 0;
  int64_t n_layer_nextn = 0;  // layers behind these that predict further tokens: nextn_predict_layers
  int64_t n_ctx_train = 0;    // context_length
  int64_t n_embd = 0;
  int64_t n_ff = 0;
  int64_t n_head = 0;
  int64_t n_head_kv = 0;
  int64_t head_dim_k = 0;  // attention.key_length
  int64_t head_dim_v = 0;  // attention.value_length
  float norm_eps = 0;
  float attention_scale = 0;  // 1 / sqrt(head_dim_k) unless the file says otherwise
  RopeParameters rope;
  std::vector<LayerKind> layer_kinds;  // of every layer
  DeltaNetParameters delta_net;        // when there are such layers
  int64_t n_deepstack = 0;  // first layers behind which rows in place of embeddings add a slice of their own
  Pooling pooling = Pooling::none;

  // Values of a row that stands in place of an embedding: what enters the first layer, then the slices.
  int64_t n_embd_input() const { return n_embd * (1 + n_deepstack); }

  // Layers of a kind among [first, end).
  int64_t n_layers_of(LayerKind kind, int64_t first, int64_t end) const;
  int64_t n_layers_of(LayerKind kind) const { return n_layers_of(kind, 0, n_layer); }
};

// Reads and checks the keys that architectures have in common, `<architecture>.*`; every error names the key.
Result<HyperParameters> read_common_parameters(const GgufFile& file);

// rope.dimension_sections: for how many pairs each of a token's four positions lasts (M-RoPE); empty when the
// file has none, or then an error.
Result<std::vector<int64_t>> read_rope_sections(const GgufFile& file, const ModelKeys& keys);
Result<std::vector<int64_t>> require_rope_sections(const GgufFile& file, const ModelKeys& keys);

}  // namespace parlance
