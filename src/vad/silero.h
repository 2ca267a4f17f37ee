// The Silero voice activity detector: one probability of speech for every 32 ms of 16 kHz audio.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "kernels/cpu/cpu_device.h"
#include "vad/silero_weights.h"

namespace parlance {

// Weights of one input to 64 outputs.
struct alignas(64) SileroWeightRow {
  static constexpr int64_t kOutputs = 64;
  std::array<float, kOutputs> values;
};

// A layer as a matrix whose outputs lie in vector lanes: for each 64 outputs the rows of all inputs, in the
// order in which they are read. The inputs of a convolution are its taps, the channels of each together.
struct SileroLayer {
  int64_t n_in, n_out;
  std::vector<SileroWeightRow> rows;  // (n_out / 64, n_in)
  std::vector<float> bias;            // (n_out)
};

struct SileroModel {
  SileroWeights weights;
  // The transform of frames folded in the middle: cosines of sums, sines of differences of the samples that
  // lie symmetrically, for all bins but the last.
  SileroLayer cosines, sines;
  std::vector<float> last_cosines;   // (frame / 2), of the last bin, which has no sine
  std::array<SileroLayer, 4> convs;  // without the taps that only ever see padding
  SileroLayer lstm;                  // inputs: those of the cell, then the hidden state
};

// Weights that any number of streams share.
std::shared_ptr<const SileroModel> make_silero_model(SileroWeights weights);
Result<std::shared_ptr<const SileroModel>> load_silero(const std::filesystem::path& path);

// What a stream carries from window to window.
struct SileroState {
  std::array<float, kSileroContext> context{};
  std::array<float, kSileroHidden> h{};
  std::array<float, kSileroHidden> c{};
};

// What one window is made into, a row for each moment. The first and last row of those with two more rows
// than moments are the zeros that convolutions see before and after.
struct SileroActivations {
  alignas(64) std::array<float, kSileroContext + kSileroWindow + kSileroContext> samples{};  // padded
  // Of a frame's samples n and 256 - n, n from 1.
  alignas(64) float sums[kSileroFrames][kSileroFrame / 2] = {};
  alignas(64) float differences[kSileroFrames][kSileroFrame / 2] = {};
  alignas(64) float real[kSileroFrames][kSileroBins - 1] = {};
  alignas(64) float imaginary[kSileroFrames][kSileroBins - 1] = {};
  alignas(64) float magnitudes[kSileroFrames + 2][kSileroBins] = {};
  alignas(64) float encoded1[kSileroFrames + 2][128] = {};
  alignas(64) float encoded2[2][64] = {};
  alignas(64) float encoded3[64] = {};
  alignas(64) float lstm_input[2 * kSileroHidden] = {};  // the last convolution's outputs, then h
  alignas(64) float gates[kSileroGates] = {};            // before their activations; i, f, g, o
};

// The detector of one stream. It allocates nothing and starts no thread once it is made.
class SileroVad {
 public:
  explicit SileroVad(std::shared_ptr<const SileroModel> model, Isa isa = available_isas().back());

  // The probability of speech in the next 32 ms. A sample that is no finite number counts as 0 and one beyond
  // 16-bit audio as its limit, here and as the next window's context: a broken driver cannot spoil the state.
  float process(std::span<const float, kSileroWindow> samples);

  // As new: the next window is the first of a stream.
  void reset();

  const SileroState& state() const { return state_; }
  const SileroActivations& activations() const { return activations_; }  // of the last window, for tests

  using Step = float(const SileroModel& model, SileroActivations& activations, SileroState& state);

 private:
  std::shared_ptr<const SileroModel> model_;
  Step* step_;
  SileroState state_;
  SileroActivations activations_;
};

// From padded samples to the probability, and the next state: the definition, in plain loops, and what each
// instruction set runs.
SileroVad::Step* silero_step_of(Isa isa);

}  // namespace parlance
