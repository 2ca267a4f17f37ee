// Block diffusion drafting (DFlash; Chen et al., arXiv 2602.06036): a few transformer layers that say what
// the next tokens of a larger model, the target, may be, all in one pass. What they know of the text are the
// target's own residual streams behind some of its layers; embedding and output are the target's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/layers/attention.h"
#include "models/layers/input.h"
#include "models/layers/mlp.h"
#include "models/model.h"

namespace parlance {

struct DflashParameters {
  HyperParameters layers;  // of the drafter's own; the width is the target's
  int64_t block_size = 0;  // slots of a pass: the newest token, and those that are drafted behind it
  int32_t mask_token = 0;  // in place of what is not known yet
  std::vector<int64_t> target_layers;  // whose outputs are read, in the order of fc's columns
  // Layers in which a slot sees no more than the last `window` positions up to its own, and what is behind
  // that of its block.
  std::vector<bool> is_windowed;
  int64_t window = 0;  // 0: no layer is such a one
};

// Whether a file holds such a drafter, by its architecture: `dflash-draft` or `dflash`.
bool is_dflash(const GgufFile& file);

// Reads the keys of either architecture and holds them against the target. Every error names the key, what is
// there, and what the target wants.
Result<DflashParameters> read_dflash_parameters(const GgufFile& file, const Model& target);

struct DflashLayer {
  Tensor attn_norm;  // [n_embd], of the block alone
  AttentionWeights attention;
  Tensor ffn_norm;  // [n_embd]
  MlpWeights mlp;
};

struct DflashWeights {
  std::vector<Linear> fc;  // [n_embd, n_embd] of each target layer: together the file's fc
  Tensor hidden_norm;      // [n_embd]
  std::vector<DflashLayer> layers;
  Tensor output_norm;  // [n_embd]
  Tensor token_embd;   // [n_embd, n_vocab]; the target's where the file has none
  Linear output;       // [n_embd, n_vocab]; likewise
  RopeWeights rope;
};

class Dflash {
 public:
  // What is read of a target's layer is computed on that layer's device, all else on the last one's. Target
  // and the file's mapping must outlive the drafter. Errors: what does not fit the target, or is missing.
  static Result<std::unique_ptr<Dflash>> load(const GgufFile& file, const Model& target);

  const DflashParameters& parameters() const { return p_; }
  const HyperParameters& hyper_parameters() const {
    return p_.layers;
  }  // of its layers: what its memory is for

  // Whether it reads a layer in front of `layer`: then features are there that devices of later ones go on
  // with.
  bool reads_before(int64_t layer) const;

  // Looks on while a part of the target computes a batch, and remembers what the target's layers say as keys
  // and values of the drafter's layers, at the same positions. `features` f32 [n_embd, n_tokens] is room of
  // the caller's that outlives the step; it has what the parts before have made of their layers. Null `kv`: a
  // later part's device has the drafter's layers. Neither copied nor moved: taps() point into it.
  class Listener {
   public:
    Listener(const Dflash& drafter, const Tensor& features, const KvLayers* kv, const BatchView& view);
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    // Before the part's layers are computed, which begin with `first_layer`.
    void begin(Stream& s, int64_t first_layer) const;
    std::span<const Tap> taps() const { return taps_; }

   private:
    struct AtLayer {
      Listener* listener;
      size_t index;  // among the target layers
      void operator()(Stream& s, const Tensor& h) const;
    };
    void remember(Stream& s) const;

    const Dflash& drafter_;
    Tensor features_;
    const KvLayers* kv_;
    BatchView view_;
    size_t last_;  // index of the deepest layer, behind which the features are whole
    std::vector<AtLayer> visitors_;
    std::vector<Tap> taps_;
  };

  // Blocks of any number of sequences: the newest token of each and masks behind it.
  struct Blocks {
    Tensor token;  // i32 [n]
    BatchView
        view;     // sequence and position of each slot, whose keys and values are written there for this pass
    Tensor seen;  // i32 [n]: the last position of the slot's block, since slots see each other
    Tensor first;  // i32 [n]: the first position that the slot sees in a layer with a window
    Tensor rows;   // i32 [n_wanted]: slots that are asked for
  };
  // What the target would be likely to say at the positions of the wanted slots: logits [n_vocab, n_wanted],
  // in the workspace.
  Tensor draft(Stream& s, const Blocks& blocks, const KvLayers& kv) const;

 private:
  explicit Dflash(DflashParameters parameters) : p_(std::move(parameters)) {}
  void remember_features(Stream& s, const Tensor& features, const KvLayers& kv, const BatchView& view) const;

  DflashParameters p_;
  DflashWeights w_;
  WeightBuffers buffers_;
};

}  // namespace parlance
