// How alike two voices sound: a recording becomes a direction in space that is near to those of the same
// voice. A tool for measuring (does synthesised speech keep the voice it was given?), no proof of who spoke.
//
// Log-mel frames as of the speech recogniser, convolutions that halve their rate, mean and deviation over
// time of what a learned weight finds telling (attentive statistics pooling, Okabe et al. 2018), and one
// matrix.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.h"
#include "gguf/reader.h"

namespace parlance {

struct SpeakerVerifierParameters {
  int64_t n_layer = 0;
  int64_t n_channel = 0;
  int64_t n_embd = 0;
  int64_t kernel = 0;    // frames that a convolution sees, an odd number
  int64_t stride = 0;    // frames from one of its outputs to the next
  double threshold = 0;  // likeness from which on two recordings count as of one voice
};

// One convolution with its layer norm over channels.
struct SpeakerLayer {
  int64_t n_in = 0;
  std::vector<float> weight, bias;            // (n_channel, n_in, kernel), (n_channel)
  std::vector<float> norm_weight, norm_bias;  // (n_channel)
};

struct SpeakerVerifierWeights {
  std::vector<SpeakerLayer> layers;
  std::vector<float> attention_weight, attention_bias;  // (n_channel), (1)
  std::vector<float> embedding_weight, embedding_bias;  // (n_embd, 2 * n_channel), (n_embd)
};

class SpeakerVerifier {
 public:
  static Result<SpeakerVerifier> load(const std::filesystem::path& path);
  static Result<SpeakerVerifier> load(const GgufFile& file);

  const SpeakerVerifierParameters& parameters() const { return hp_; }

  // The voice of mono samples at kMelSampleRateHz: n_embd values of length 1. Samples are finite and there is
  // at least one; a second of speech is the least that says something.
  std::vector<float> embed(std::span<const float> samples) const;

 private:
  SpeakerVerifierParameters hp_;
  SpeakerVerifierWeights w_;
};

// The cosine between two embeddings, -1 to 1: their voices' likeness.
double likeness(std::span<const float> a, std::span<const float> b);

}  // namespace parlance
