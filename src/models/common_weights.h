// Weights that every architecture has.
#pragma once

#include <cstdint>
#include <string>

#include "models/hyper_parameters.h"
#include "models/layers/attention.h"
#include "models/layers/input.h"
#include "models/layers/mlp.h"
#include "models/layers/rope.h"
#include "models/weight_loader.h"

namespace parlance {

// Rows of the embedding matrix: as many as the file has, so that its shape can be checked with the rest.
Result<int64_t> count_vocabulary(const WeightLoader& weights);

// `attn_q`, `attn_k` and `attn_v` of a block, or `attn_qkv` with the rows of all three, and `attn_output`;
// with norms of query and key heads where the architecture has such.
Result<AttentionWeights> load_attention(WeightLoader& weights, const HyperParameters& hp, bool has_qk_norm,
                                        const std::string& block);

// `ffn_gate`, `ffn_up` and `ffn_down` of a block, "blk.3.".
Result<MlpWeights> load_mlp(WeightLoader& weights, const HyperParameters& hp, const std::string& block);

// The frequencies as tensors, and the sections where the model has such.
Result<RopeWeights> load_rope(WeightLoader& weights, const RopeParameters& rope,
                              const RopeFrequencies& frequencies);

// The matrix that yields the logits: the embedding where the file has no other, which is a second copy when
// the embedding lies on another device.
Result<Linear> load_output(WeightLoader& weights, const HyperParameters& hp, int64_t n_vocab);

}  // namespace parlance
