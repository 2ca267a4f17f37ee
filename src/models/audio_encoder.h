// The audio encoder of Qwen3-ASR (Qwen Team, 2026): convolutions turn chunks of a mel spectrogram into
// tokens, layers of bidirectional attention within windows relate them, a projector takes them to the
// language model's width.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gguf/reader.h"
#include "kernels/ops.h"
#include "models/weight_loader.h"

namespace parlance {

// Keys `clip.audio.*`, and sizes of tensors.
struct AudioEncoderParameters {
  int64_t n_layer = 0;    // block_count
  int64_t n_embd = 0;     // embedding_length
  int64_t n_ff = 0;       // feed_forward_length
  int64_t n_head = 0;     // attention.head_count
  int64_t n_mel = 0;      // num_mel_bins
  int64_t n_out = 0;      // projection_dim: the width of the language model
  int64_t n_channel = 0;  // of the convolutions
  int64_t n_pos = 0;      // rows of the position table: most tokens of a chunk
  float norm_eps = 0;     // attention.layer_norm_epsilon

  int64_t head_dim() const { return n_embd / n_head; }
};

struct AudioEncoderLayer {
  NormWeights ln1;
  Linear q, k, v, out;  // [n_embd, n_embd]
  NormWeights ln2;
  Linear up;    // [n_embd, n_ff]
  Linear down;  // [n_ff, n_embd]
};

struct AudioEncoderWeights {
  Linear conv1;     // [3 * 3, n_channel]
  Linear conv2;     // [3 * 3 * n_channel, n_channel]
  Linear conv3;     // the same
  Linear conv_out;  // [n_mel / 8 * n_channel, n_embd]
  Tensor position;  // f32 [n_embd, n_pos]
  std::vector<AudioEncoderLayer> layers;
  NormWeights post_ln;
  Linear project1;  // [n_embd, n_embd]
  Linear project2;  // [n_embd, n_out]
};

class AudioEncoder {
 public:
  // From an mmproj file, whose mapping must outlive the encoder. Errors name the key or tensor.
  static Result<std::unique_ptr<AudioEncoder>> load(const GgufFile& file, Device& device,
                                                    WeightPrecision precision = WeightPrecision::as_stored);

  const AudioEncoderParameters& parameters() const { return hp_; }
  const std::string& file_name() const { return file_name_; }  // for messages

  // Tokens that n_frames frames of a chunk yield: three halvings, rounded up.
  static int64_t n_tokens(int64_t n_frames);
  // Of these, the first ones, which no further frame would change: token t sees frames 8 t - 7 to 8 t + 7.
  static int64_t n_final_tokens(int64_t n_frames) { return n_frames / kFramesPerToken; }
  static constexpr int64_t kFramesPerToken = 8;
  // Whether tokens of images of so many frames have the same bits, as long as they see the same frames. Where
  // steps are recorded, images have one shape.
  bool are_alike(const Stream& s, int64_t n_frames, int64_t n_other_frames) const;

  // One chunk: normalised mel f32 [1, n_frames, n_mel], its rows i32 [n_tokens] of the position table
  // -> f32 [n_embd, n_tokens].
  Tensor embed_chunk(Stream& s, const Tensor& mel, const Tensor& pos) const;

  // Tokens of whole windows, whose bounds are i32 [n_windows + 1]: h f32 [n_embd, n_tokens], overwritten,
  // -> f32 [n_out, n_tokens].
  Tensor encode_windows(Stream& s, const Tensor& h, const Tensor& bounds) const;

 private:
  AudioEncoder(std::string file_name, const AudioEncoderParameters& hp)
      : file_name_(std::move(file_name)), hp_(hp) {}
  Result<void> load_weights(WeightLoader weights, Device& device);
  Tensor attend(Stream& s, const AudioEncoderLayer& w, const Tensor& x, const Tensor& bounds) const;

  std::string file_name_;
  AudioEncoderParameters hp_;
  AudioEncoderWeights w_;
  WeightBuffers buffers_;
};

}  // namespace parlance
