// The decoder-only transformer that Qwen3, Qwen2 and Llama share: pre-norm, grouped-query attention with
// rotary positions, SwiGLU. The architectures differ in which weights a layer has and how pairs are rotated.
#pragma once

#include <memory>
#include <vector>

#include "models/layers/attention.h"
#include "models/layers/input.h"
#include "models/layers/mlp.h"
#include "models/layers/residual.h"
#include "models/model.h"

namespace parlance {

// What an architecture's file says of itself.
struct TransformerVariant {
  RopeStyle rope_style;
  bool has_qk_norm;           // norms of each query and key head before RoPE
  bool has_rope_factors;      // may have `rope_freqs.weight`
  bool may_classify = false;  // `output.weight` may yield classes in place of tokens
};

struct TransformerLayer {
  Tensor attn_norm;  // [n_embd]
  AttentionWeights attention;
  Tensor ffn_norm;  // [n_embd]
  MlpWeights mlp;
};

struct TransformerWeights {
  Tensor token_embd;  // [n_embd, n_vocab]
  std::vector<TransformerLayer> layers;
  Tensor output_norm;             // [n_embd]
  Linear output;                  // [n_embd, n_vocab]; token_embd when tied
  std::vector<RopeWeights> rope;  // of each part
};

class Transformer final : public Model {
 public:
  static Result<std::unique_ptr<Model>> load(const HyperParameters& hp, const Placement& placement,
                                             WeightLoader weights, const TransformerVariant& variant);

  Outputs forward(Stream& s, const Batch& batch, const SequenceMemory& memory, const Wants& wants,
                  const LayerRange& layers) const override;
  const Placement& placement() const override { return placement_; }
  const HyperParameters& hyper_parameters() const override { return hp_; }
  RopeStyle rope_style() const override { return variant_.rope_style; }
  int64_t n_vocab() const override { return w_.token_embd.ne[1]; }
  const Tensor& token_embd() const override { return w_.token_embd; }
  const Linear& output() const override { return w_.output; }
  int64_t n_logits() const override { return w_.output.weight.ne[1]; }

 private:
  Transformer(HyperParameters hp, Placement placement, TransformerVariant variant)
      : hp_(std::move(hp)), placement_(std::move(placement)), variant_(variant) {}

  bool joins_layers(const Stream& s, const Batch& batch, const Wants& wants, const LayerRange& layers,
                    const ResidualStream& stream) const;

  HyperParameters hp_;
  Placement placement_;
  TransformerVariant variant_;
  TransformerWeights w_;
  WeightBuffers buffers_;
};

}  // namespace parlance
