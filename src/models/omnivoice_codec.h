// OmniVoice's codec (k2-fsa, 2026; after HiggsAudio 2): residual vector quantisation of 25 frames a second
// between a DAC encoder beside HuBERT (Kumar et al., 2023; Hsu et al., 2021) and a DAC decoder. Tensors of
// sound are [n_channel, n_places].
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gguf/reader.h"
#include "kernels/ops.h"
#include "models/weight_loader.h"

namespace parlance {

struct OmniVoiceCodecParameters {
  int64_t sample_rate_hz = 0;    // of sound
  int64_t semantic_rate_hz = 0;  // of what HuBERT hears
  int64_t hop_length = 0;        // samples of a frame
  int64_t n_codebook = 0;        // quantisers in the file
  int64_t n_codes = 0;           // codebook_size
  int64_t codebook_dim = 0;
  int64_t n_latent = 0;                  // what quantisers work on
  int64_t n_hidden = 0;                  // acoustic.hidden_size: between decoder or acoustic encoder and that
  int64_t n_decoder = 0, n_encoder = 0;  // widths at the frames' end, and at the sound's
  std::vector<int64_t> upsampling, downsampling;  // ratios
  // HuBERT: keys semantic.*
  int64_t n_embd = 0, n_ff = 0, n_head = 0, n_layer = 0;
  std::vector<int64_t> conv_dim, conv_kernel, conv_stride;
  int64_t pos_kernel = 0, n_pos_group = 0;
  float norm_eps = 0;

  int64_t hop() const { return hop_length; }
};

struct CodecResidualUnit {
  Tensor snake1, snake2;
  Linear conv1, conv2;  // windows of 7, dilated, and of 1
};

struct CodecBlock {
  Tensor snake;
  Linear
      resample;  // decoder: transposed, as conv_transpose1d() takes it; encoder: a window of twice the stride
  int64_t stride = 0;
  std::array<CodecResidualUnit, 3> units;
};

// The decoder has its units behind the change of rate, the encoder before it.
struct CodecTower {
  Linear conv1;
  std::vector<CodecBlock> blocks;
  Tensor snake;
  Linear conv2;
};

struct HubertLayer {
  Linear q, k, v, out;
  NormWeights norm;
  Linear up, down;
  NormWeights final_norm;
};

struct HubertWeights {
  std::vector<Linear> convs;
  NormWeights conv_norm;  // after the first one
  NormWeights projection_norm;
  Linear projection;
  std::vector<Linear> pos_conv;  // by group
  NormWeights norm;
  std::vector<HubertLayer> layers;
};

struct SemanticEncoderWeights {
  struct Unit {
    Linear conv1, conv2;
  };
  struct Block {
    std::array<Unit, 2> units;
    Linear conv;
  };
  Linear conv;
  std::array<Block, 2> blocks;
};

// One level of residual quantisation. What finds a code runs on the host, so its weights are there.
struct CodecQuantiser {
  Tensor codebook;     // f32 [codebook_dim, n_codes]
  Linear project_out;  // [codebook_dim, n_latent]
  std::vector<float> host_codebook, host_in, host_in_bias, host_out, host_out_bias;
};

class OmniVoiceCodec {
 public:
  // The mapping of the file and the device must outlive the codec. Errors name the key or tensor.
  static Result<std::unique_ptr<OmniVoiceCodec>> load(const GgufFile& file, Device& device,
                                                      WeightPrecision precision = WeightPrecision::as_stored);

  const OmniVoiceCodecParameters& parameters() const { return hp_; }
  const std::string& file_name() const { return file_name_; }  // for messages

  // Sound of the frames [first, last) of codes i32 [n_frames, n_codebook] -> [1, (last - first) * hop]. It
  // depends on no more than margin_frames() to either side, and each block of the decoder computes only what
  // those behind it see.
  Tensor decode(Stream& s, const Tensor& codes, int64_t first, int64_t last) const;
  int64_t margin_frames() const { return margin_before(0); }

  // Sound [1, n] -> [n_hidden, acoustic_frames(n)].
  Tensor encode_acoustic(Stream& s, const Tensor& sound) const;
  int64_t acoustic_frames(int64_t n_samples) const;

  // Sound [1, n] at semantic_rate_hz, with what it is padded with, and i32 [0, semantic_places(n)] -> the sum
  // of the states of all n_layer + 1 layers, [n_embd, semantic_places(n)].
  Tensor hubert(Stream& s, const Tensor& sound, const Tensor& bounds) const;
  int64_t semantic_places(int64_t n_samples) const;

  // HuBERT's features [n_embd, n_frames] beside acoustic ones [n_hidden, n_frames] -> [n_latent, n_frames].
  Tensor join(Stream& s, const Tensor& acoustic, const Tensor& features) const;

  // Codes [n_codebook][n_frames] of latent vectors [n_latent, n_frames] in host memory.
  std::vector<int32_t> quantise(std::span<const float> latent) const;

 private:
  int64_t margin_before(size_t block) const;
  OmniVoiceCodec(std::string file_name, OmniVoiceCodecParameters hp)
      : file_name_(std::move(file_name)), hp_(std::move(hp)) {}
  Result<void> load_weights(WeightLoader weights, Device& device);
  Result<void> load_quantisers(WeightLoader& weights);
  Result<void> load_hubert(WeightLoader& weights);

  std::string file_name_;
  OmniVoiceCodecParameters hp_;
  std::vector<CodecQuantiser> quantisers_;
  Linear fc_, fc2_;
  CodecTower decoder_, encoder_;
  HubertWeights hubert_;
  SemanticEncoderWeights semantic_;
  WeightBuffers buffers_;
};

}  // namespace parlance
