// Qwen3.5 (Qwen Team, 2026), dense: gated delta nets, and gated attention in every few layers.
#pragma once

#include <variant>
#include <vector>

#include "models/layers/delta_net.h"
#include "models/layers/gated_attention.h"
#include "models/layers/input.h"
#include "models/layers/mlp.h"
#include "models/model.h"

namespace parlance {

struct Qwen35Layer {
  Tensor attn_norm;  // [n_embd]
  std::variant<GatedAttentionWeights, DeltaNetWeights> mixer;
  Tensor ffn_norm;  // [n_embd]
  MlpWeights mlp;
};

struct Qwen35Weights {
  Tensor token_embd;  // [n_embd, n_vocab]
  std::vector<Qwen35Layer> layers;
  Tensor output_norm;             // [n_embd]
  Linear output;                  // [n_embd, n_vocab]; token_embd when tied
  std::vector<RopeWeights> rope;  // of each part
};

class Qwen35 final : public Model {
 public:
  static Result<HyperParameters> read(const GgufFile& file);
  static Result<std::unique_ptr<Model>> load(const HyperParameters& hp, const Placement& placement,
                                             WeightLoader weights);

  Outputs forward(Stream& s, const Batch& batch, const SequenceMemory& memory, const Wants& wants,
                  const LayerRange& layers) const override;
  const Placement& placement() const override { return placement_; }
  const HyperParameters& hyper_parameters() const override { return hp_; }
  int64_t n_vocab() const override { return w_.token_embd.ne[1]; }
  const Tensor& token_embd() const override { return w_.token_embd; }
  const Linear& output() const override { return w_.output; }

 private:
  Qwen35(HyperParameters hp, Placement placement) : hp_(std::move(hp)), placement_(std::move(placement)) {}

  HyperParameters hp_;
  Placement placement_;
  Qwen35Weights w_;
  WeightBuffers buffers_;
};

Architecture qwen35_architecture();

}  // namespace parlance
