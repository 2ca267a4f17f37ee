// A language model: tokens of a batch in, logits out. Loading, memory and batching live elsewhere, so that
// each architecture's file can read like its paper.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"
#include "kernels/device.h"
#include "kernels/ops.h"
#include "kernels/recurrent_view.h"
#include "models/hyper_parameters.h"
#include "models/placement.h"
#include "models/weight_loader.h"

namespace parlance {

// Tokens that go through the model together, on the device.
struct Batch {
  Tensor token;            // i32 [n_tokens]; for the part that embeds
  Tensor embd = {};        // f32 [n_embd, n]: what stands in place of the embeddings of n tokens, or absent
  int64_t first_embd = 0;  // the first of these tokens
  Tensor h;        // f32 [n_embd, n_tokens]: the residual stream, for the parts behind it; is overwritten
  BatchView view;  // which sequence and position each belongs to
  Tensor other_pos =
      {};              // i32 [n_tokens]: of the pairs that no section of M-RoPE claims; absent: as the others
  Tensor output_rows;  // i32 [n_outputs]: the tokens whose logits are wanted
};

// What a part remembers of the tokens before the batch. Layers of each kind are counted from the part's
// first.
struct SequenceMemory {
  const KvLayers& kv;                        // of attention layers
  std::span<const RecurrentView> recurrent;  // of the others
};

class Model {
 public:
  virtual ~Model() = default;

  // One part of the forward pass, on a stream of its device, whose memory takes in the batch. Yields logits
  // f32 [n_vocab, n_outputs] from the last part, h from the others.
  virtual Tensor forward(Stream& s, const Batch& batch, const SequenceMemory& memory, size_t part) const = 0;

  virtual const Placement& placement() const = 0;
  virtual const HyperParameters& hyper_parameters() const = 0;
  virtual int64_t n_vocab() const = 0;
  virtual int64_t n_logits() const { return n_vocab(); }  // of a token; a classifier has others
};

// Loads one architecture from a file whose hyper-parameters have been read.
using ModelLoader = Result<std::unique_ptr<Model>> (*)(const HyperParameters& hp, const Placement& placement,
                                                       WeightLoader weights);

struct Architecture {
  std::string_view name;  // general.architecture
  ModelLoader load;
};

// Every architecture that this program runs; a new one is a file in this folder and a row here.
const std::vector<Architecture>& architectures();

// The row of a file's general.architecture, or an error that names those that this program runs.
Result<const Architecture*> architecture_of(const GgufFile& file);

// The model in a file. Its mapping and the devices must outlive it.
Result<std::unique_ptr<Model>> load_model(const GgufFile& file, const Placement& placement,
                                          WeightPrecision precision = WeightPrecision::as_stored);

}  // namespace parlance
