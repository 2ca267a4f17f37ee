// A language model: rows of a batch in, what is wanted of them out. Loading, memory and batching live
// elsewhere, so that each architecture's file can read like its paper.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "gguf/reader.h"
#include "kernels/device.h"
#include "kernels/ops.h"
#include "kernels/recurrent_view.h"
#include "models/hyper_parameters.h"
#include "models/placement.h"
#include "models/weight_loader.h"

namespace parlance {

// Rows f32 [n_embd, n] for tokens [first, first + n) of a batch.
struct RowsAt {
  int64_t first;
  Tensor rows;
};

// The same for the residual stream behind a layer.
struct LayerRowsAt {
  int64_t layer;
  RowsAt at;
};

// Tokens of any number of sequences that go through the model together, on the device. Those of a sequence
// lie next to each other, in order of position.
struct Batch {
  Tensor token;    // i32 [n_tokens]; for the first layer
  Tensor h = {};   // f32 [n_embd, n_tokens]: the residual stream, for layers behind others; is overwritten
  BatchView view;  // which sequence each belongs to, and at which place: what it sees, and where it is stored
  // i32 [4, n_tokens]: what the pairs of the model's sections turn with (M-RoPE: time, height, width, other),
  // where that is not the place in the sequence. Absent: every pair turns with view.pos.
  Tensor rope_pos = {};
  std::span<const RowsAt> embedded = {};    // rows in place of embeddings; what their tokens are is not read
  std::span<const LayerRowsAt> added = {};  // to the residual stream behind layers (deepstack)

  int64_t n_tokens() const { return view.pos.n_elements(); }
  bool adds_behind(int64_t layer) const;
};

// Someone who looks at the residual stream f32 [n_embd, n_tokens] behind a layer, all rows of the batch,
// while the step is computed. What `visit` allocates in the workspace is gone when it returns, what it
// changes is its own: h is only read.
struct Tap {
  int64_t layer;
  FunctionRef<void(Stream& s, const Tensor& h)> visit;
};

// Someone who looks at the queries f32 [head_dim_k, n_head, n_tokens] of every attention layer of a part, as
// they meet the keys; layers are counted from the part's first that has such.
using QueryTap = FunctionRef<void(Stream& s, int64_t attention_layer, const Tensor& q)>;

// What a step is computed for, beside the sequences' memory.
struct Wants {
  Tensor rows = {};                // i32 [n]: tokens of the batch whose outputs are wanted; absent: none
  bool logits = true;              // of these
  std::span<const Tap> taps = {};  // of all parts, in any order
  const QueryTap* queries = nullptr;

  bool taps_layer(int64_t layer) const;
};

// In the workspace, until the next step.
struct Outputs {
  Tensor h;  // f32 [n_embd, n_tokens], of layers that others follow: their Batch::h

  // Of the model's last layer, for the wanted rows in their order; absent when there are none.
  Tensor hidden;  // f32 [n_embd, n]: the residual stream behind the last layer
  Tensor logits;  // f32 [n_logits, n]; absent when not wanted
  // f32 [n_embd, n]: `hidden` under the output's norm, what embeddings are pooled from; absent when logits
  // are wanted.
  Tensor normed;
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

  // Layers of a part of the forward pass, on a stream of its device; `memory` is the part's, and takes in the
  // batch. What nobody wants is not computed: without wanted rows, the last layer goes as far as memory needs
  // it.
  virtual Outputs forward(Stream& s, const Batch& batch, const SequenceMemory& memory, const Wants& wants,
                          const LayerRange& layers) const = 0;

  virtual const Placement& placement() const = 0;
  virtual const HyperParameters& hyper_parameters() const = 0;
  virtual RopeStyle rope_style() const { return RopeStyle::halves; }
  virtual int64_t n_vocab() const = 0;
  // What a drafter shares: rows of tokens [n_embd, n_vocab], and the matrix that makes logits.
  virtual const Tensor& token_embd() const = 0;
  virtual const Linear& output() const = 0;
  virtual int64_t n_logits() const { return n_vocab(); }  // of a token; a classifier has others
};

// Reads and checks an architecture's parameters, the keys `<architecture>.*` of a file.
using ParameterReader = Result<HyperParameters> (*)(const GgufFile& file);

// Loads one architecture from a file whose parameters have been read.
using ModelLoader = Result<std::unique_ptr<Model>> (*)(const HyperParameters& hp, const Placement& placement,
                                                       WeightLoader weights);

struct Architecture {
  std::string_view name;  // general.architecture
  ParameterReader read;
  ModelLoader load;
};

// Every architecture that this program runs; a new one is a file in this folder and a row here.
const std::vector<Architecture>& architectures();

// The row of a file's general.architecture, or an error that names those that this program runs.
Result<const Architecture*> architecture_of(const GgufFile& file);

// The parameters of the model in a file, by its architecture.
Result<HyperParameters> read_hyper_parameters(const GgufFile& file);

// The model in a file. Its mapping and the devices must outlive it.
Result<std::unique_ptr<Model>> load_model(const GgufFile& file, const Placement& placement,
                                          WeightPrecision precision = WeightPrecision::as_stored);

}  // namespace parlance
