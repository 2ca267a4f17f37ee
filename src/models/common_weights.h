// Weights that every architecture has.
#pragma once

#include <cstdint>
#include <string>

#include "models/hyper_parameters.h"
#include "models/layers/input.h"
#include "models/layers/mlp.h"
#include "models/layers/rope.h"
#include "models/weight_loader.h"

namespace parlance {

// Rows of the embedding matrix: as many as the file has, so that its shape can be checked with the rest.
Result<int64_t> count_vocabulary(const WeightLoader& weights);

// `ffn_gate`, `ffn_up` and `ffn_down` of a block, "blk.3.".
Result<MlpWeights> load_mlp(WeightLoader& weights, const HyperParameters& hp, const std::string& block);

// The frequencies as tensors, and the sections where the model has such.
Result<RopeWeights> load_rope(WeightLoader& weights, const RopeParameters& rope,
                              const RopeFrequencies& frequencies);

// The matrix that yields the logits: the embedding where the file has no other, which is a second copy when
// the embedding lies on another device.
Result<Linear> load_output(WeightLoader& weights, const HyperParameters& hp, int64_t n_vocab);

}  // namespace parlance
