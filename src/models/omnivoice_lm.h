// The language model of OmniVoice (k2-fsa, 2026): a bidirectional Qwen3 that fills in the masked codes of all
// frames at once. It sees a text, perhaps the codes of a reference, and the target's codes, with a
// conditional row of columns and an unconditional one for classifier-free guidance.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "gguf/reader.h"
#include "kernels/kv_view.h"
#include "kernels/ops.h"
#include "models/hyper_parameters.h"
#include "models/layers/mlp.h"
#include "models/weight_loader.h"

namespace parlance {

class ResidualStream;

// Keys `omnivoice.*` beside the hyper-parameters under `omnivoice-lm.*`.
struct OmniVoiceParameters {
  HyperParameters text;
  int64_t n_text_vocab = 0;   // rows of the text embedding
  int64_t n_codebook = 0;     // num_audio_codebook
  int64_t n_audio_vocab = 0;  // audio_vocab_size, of one codebook, the mask included
  int32_t mask = 0;           // audio_mask_id
  // Tokens that the prompt is written with: special.*
  struct Specials {
    int32_t denoise, lang_start, lang_end, instruct_start, instruct_end, text_start, text_end;
  } special = {};
};

struct OmniVoiceLayer {
  Tensor input_norm;  // [n_embd]
  Linear q, k, v, o;
  Tensor q_norm, k_norm;  // [head_dim]
  Tensor mlp_norm;        // [n_embd]
  MlpWeights mlp;
};

// What one pass sees, on the device. S = n_text + n_reference + n_target columns make the conditional row;
// the unconditional one follows: the target alone, or with n_padding columns of a text token behind it.
struct OmniVoiceInput {
  Tensor text;  // i32 [n_text]
  Tensor
      audio;  // i32 [n_reference + n_target, n_codebook]: rows of the audio embedding, k n_audio_vocab + code
  int64_t n_target = 0;
  bool is_guided = true;  // whether there is an unconditional row
  Tensor padding;         // i32 [n_padding], or absent
  Tensor pos;             // i32 [n_columns]: of each row from 0 on
  Tensor bounds;          // i32 [3], or [2] without guidance: where rows begin and end
  Tensor bias;            // f32 [S, n_columns] of the scores, or absent
};

// What a pass over some columns sees, where keys and values of the others are kept from passes before.
// Columns of the conditional row come first, its text before its audio; sequence 0 of the cache is that row,
// sequence 1 the unconditional one, which is the target alone.
struct OmniVoiceColumns {
  Tensor text;             // i32 [n_text], or absent
  Tensor audio;            // i32 [n, n_codebook]: rows of the audio embedding, of both rows' columns
  Tensor pos;              // i32 [n_text + n]: in their row
  Tensor seq;              // i32 [n_text + n]
  Tensor end;              // i32 [n_text + n]: the last position of a column's row, which it sees up to
  Tensor seen;             // i32 [n_text + n]: the sequence that a column sees; absent: `seq`
  int64_t n_kv_bound = 0;  // no position is this large or larger
  int64_t least_of_row = 1, most_of_row = INT64_MAX;  // bounds on how many columns a row has

  // Places whose keys and values are written, where some share those of a column (numbers of them), turned
  // for each place. Absent: every column's go to its own place.
  struct Shared {
    Tensor columns, pos, seq;  // i32 [n_shared]
  } shared;

  // Columns of which something is asked, in order, as the fields above have them for all.
  struct Asked {
    Tensor columns;  // i32 [n_asked]
    Tensor pos, seq, end;
    std::vector<Tensor> of_codebook;  // i32 [n]: which of them are asked for a code; or absent
  } asked;
};

class OmniVoiceLm {
 public:
  // The mapping of the file and the device must outlive the model. Errors name the key or tensor.
  // `may_widen`: a device with ample memory, whose passes are faster for it (WidensWeights), keeps the
  // weights of layers and heads as wide floats, too: steps over many columns read all of them again and
  // again.
  static Result<std::unique_ptr<OmniVoiceLm>> load(const GgufFile& file, Device& device,
                                                   WeightPrecision precision = WeightPrecision::as_stored,
                                                   bool may_widen = true);

  const OmniVoiceParameters& parameters() const { return hp_; }
  const std::string& file_name() const { return file_name_; }  // for messages
  size_t widened_bytes() const { return widened_bytes_; }      // of these

  // Logits f32 [n_codebook * n_audio_vocab, n]: of the target's columns of the conditional row, then, with
  // guidance, of those of the unconditional row.
  Tensor forward(Stream& s, const OmniVoiceInput& input) const;

  // Computes keys and values of these columns anew, and logits f32 [n_audio_vocab, n] for each codebook that
  // is asked, an absent tensor for the others. Columns see all of their row, the kept ones as they were.
  std::vector<Tensor> forward_columns(Stream& s, const OmniVoiceColumns& columns, const KvLayers& kv) const;

  // The same for devices that had rather compute a little more in passes of few shapes: logits f32
  // [n_codebook * n_audio_vocab, n_asked], of all codebooks. Of what is asked only the columns are looked at.
  Tensor forward_asked(Stream& s, const OmniVoiceColumns& columns, const KvLayers& kv) const;

 private:
  OmniVoiceLm(std::string file_name, OmniVoiceParameters hp)
      : file_name_(std::move(file_name)), hp_(std::move(hp)) {}
  Result<void> load_weights(const GgufFile& file, WeightLoader weights, Device& device);
  Result<void> widen_weights(Device& device);
  // All layers but what comes behind the attention of the last one, which is what it yields. With
  // `attention_of`, attention is of segments, and may go with what lies before it.
  using Attend = FunctionRef<Tensor(const Products& qkv, size_t layer)>;
  using AttentionOf = FunctionRef<SegmentAttentionArgs(const Products& qkv, size_t layer)>;
  Tensor attend_through(Stream& s, ResidualStream& stream, Attend attend,
                        const AttentionOf* attention_of = nullptr) const;
  Tensor embed(Stream& s, const OmniVoiceInput& input) const;
  SegmentAttentionArgs attention_of(const Products& qkv, const OmniVoiceLayer& w, const Tensor& angles,
                                    const OmniVoiceInput& input) const;
  Tensor embed_columns(Stream& s, const OmniVoiceColumns& columns) const;
  struct Turns {
    Tensor own, shared;  // angles by which columns turn, and places that share them
  };
  Turns turns_of(Stream& s, const OmniVoiceColumns& columns) const;
  void keep(Stream& s, const Tensor& k, const Tensor& v, const Turns& turns, const OmniVoiceColumns& columns,
            const KvView& kv) const;
  Tensor attend_kept(Stream& s, const Products& qkv, const OmniVoiceLayer& w, const Turns& turns,
                     const OmniVoiceColumns& columns, const KvView& kv) const;
  Tensor attend_asked(Stream& s, const OmniVoiceLayer& w, const Tensor& x, const Tensor& asked,
                      const Turns& turns, const OmniVoiceColumns& columns, const KvView& kv) const;

  std::string file_name_;
  OmniVoiceParameters hp_;
  Tensor embed_tokens_;      // [n_embd, n_text_vocab]
  Tensor audio_embeddings_;  // [n_embd, n_codebook * n_audio_vocab]
  std::vector<OmniVoiceLayer> layers_;
  Tensor norm_;         // [n_embd]
  Linear audio_heads_;  // [n_embd, n_codebook * n_audio_vocab], in high precision
  Tensor rope_inverse_;
  WeightBuffers buffers_;
  size_t widened_bytes_ = 0;
};

}  // namespace parlance
