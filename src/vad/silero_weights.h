// The weights of the Silero voice activity detector (v5 and v6, 16 kHz), from any of the files that it is
// published in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace parlance {

inline constexpr int64_t kSileroSampleRateHz = 16000;
inline constexpr double kSileroSamplesPerMs = kSileroSampleRateHz / 1000.0;
inline constexpr int64_t kSileroWindow = 512;  // samples that one call consumes, 32 ms
inline constexpr int64_t kSileroContext = 64;  // samples of the window before that a call sees again
inline constexpr int64_t kSileroFrame = 256;   // samples of one Fourier transform
inline constexpr int64_t kSileroHop = 128;     // samples from frame to frame
inline constexpr int64_t kSileroFrames = 4;    // in a window with its context and padding
inline constexpr int64_t kSileroBins = kSileroFrame / 2 + 1;
inline constexpr int64_t kSileroHidden = 128;  // width of the LSTM
inline constexpr int64_t kSileroGates = 4 * kSileroHidden;
inline constexpr int64_t kSileroTaps = 3;  // of every convolution

// One convolution over time, zero-padded by one frame on both sides.
struct SileroConv {
  int64_t n_in, n_out, stride;
};
inline constexpr std::array<SileroConv, 4> kSileroConvs = {
    {{kSileroBins, 128, 1}, {128, 64, 2}, {64, 64, 2}, {64, 128, 1}}};

// All in f32, the last dimension fastest, as the paper's graph has them.
struct SileroWeights {
  // (2 * bins, frame): Hann-windowed cosines, then negative sines.
  std::vector<float> basis;
  std::array<std::vector<float>, 4> conv_weight;  // (n_out, n_in, taps)
  std::array<std::vector<float>, 4> conv_bias;    // (n_out)
  std::vector<float> lstm_weight_ih;              // (gates, hidden); gates in the order i, f, g, o
  std::vector<float> lstm_weight_hh;              // (gates, hidden)
  std::vector<float> lstm_bias_ih;                // (gates)
  std::vector<float> lstm_bias_hh;                // (gates)
  std::vector<float> head_weight;                 // (hidden)
  std::vector<float> head_bias;                   // (1)
};

// Reads a file: safetensors, whisper.cpp's .bin or GGUF, told apart by their bytes. Tensors may be f16 or
// f32. The basis of the Fourier transform must be the Hann-windowed one up to rounding; weights that are no
// finite numbers of a sane size are refused, so that sums in the network stay finite.
Result<SileroWeights> read_silero_weights(const std::filesystem::path& path);

// The same of bytes in memory; `name` stands for the file in messages.
Result<SileroWeights> parse_silero_weights(std::span<const std::byte> bytes, const std::string& name);

// Where the product keeps its detector: vad/silero-vad-v5.1.2.ggml.bin or vad/silero-vad-v5.gguf below the
// bundle, then below the user's own folder of models (when one is given), then the file that the environment
// variable ELIZA_VAD_MODEL_PATH names. An error lists the places.
Result<std::filesystem::path> find_vad(const std::filesystem::path& bundle_dir,
                                       const std::filesystem::path& user_dir = {});

}  // namespace parlance
