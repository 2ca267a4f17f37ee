// One window of the network in plain loops, which is the definition, and the choice of what runs.
#include <algorithm>
#include <cmath>

#include "vad/silero.h"
#include "vad/silero_kernels.h"

namespace parlance {

namespace {

// The spectrum of frames of 256 samples, 128 apart.
void magnitudes_of(const SileroWeights& weights, SileroActivations& a) {
  for (int64_t t = 0; t < kSileroFrames; ++t) {
    const auto product = [&](int64_t row) {
      double sum = 0;
      for (int64_t n = 0; n < kSileroFrame; ++n) {
        sum += static_cast<double>(weights.basis[static_cast<size_t>(row * kSileroFrame + n)]) *
               static_cast<double>(a.samples[static_cast<size_t>(t * kSileroHop + n)]);
      }
      return sum;
    };
    for (int64_t k = 0; k < kSileroBins; ++k) {
      const double real = product(k), imaginary = product(k + kSileroBins);
      a.magnitudes[t + 1][k] = static_cast<float>(std::sqrt(real * real + imaginary * imaginary));
    }
  }
}

// relu(convolution): x (n_moments, n_in) to out (n_moments / stride, n_out).
void convolve(const SileroWeights& weights, size_t i, const float* x, float* out, int64_t n_moments) {
  const SileroConv& conv = kSileroConvs[i];
  for (int64_t t = 0; t < n_moments; t += conv.stride) {
    for (int64_t o = 0; o < conv.n_out; ++o) {
      double sum = static_cast<double>(weights.conv_bias[i][static_cast<size_t>(o)]);
      for (int64_t tap = 0; tap < kSileroTaps; ++tap) {
        const int64_t moment = t + tap - 1;
        if (moment < 0 || moment >= n_moments) continue;
        for (int64_t c = 0; c < conv.n_in; ++c) {
          const auto at = static_cast<size_t>((o * conv.n_in + c) * kSileroTaps + tap);
          sum += static_cast<double>(weights.conv_weight[i][at]) *
                 static_cast<double>(x[moment * conv.n_in + c]);
        }
      }
      out[t / conv.stride * conv.n_out + o] = static_cast<float>(std::fmax(sum, 0));
    }
  }
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// The cell's next state, and the head's probability.
float finish(const SileroWeights& weights, const float* gates, SileroState& state) {
  double sum = static_cast<double>(weights.head_bias[0]);
  for (size_t i = 0; i < kSileroHidden; ++i) {
    const auto gate = [&](size_t block) { return static_cast<double>(gates[block * kSileroHidden + i]); };
    const double c =
        sigmoid(gate(1)) * static_cast<double>(state.c[i]) + sigmoid(gate(0)) * std::tanh(gate(2));
    const double h = sigmoid(gate(3)) * std::tanh(c);
    state.c[i] = static_cast<float>(c);
    state.h[i] = static_cast<float>(h);
    sum += static_cast<double>(weights.head_weight[i]) * std::fmax(h, 0);
  }
  return static_cast<float>(sigmoid(sum));
}

float step_scalar(const SileroModel& model, SileroActivations& a, SileroState& state) {
  const SileroWeights& weights = model.weights;
  magnitudes_of(weights, a);
  convolve(weights, 0, a.magnitudes[1], a.encoded1[1], kSileroFrames);
  convolve(weights, 1, a.encoded1[1], a.encoded2[0], kSileroFrames);
  convolve(weights, 2, a.encoded2[0], a.encoded3, 2);
  convolve(weights, 3, a.encoded3, a.lstm_input, 1);
  std::copy(state.h.begin(), state.h.end(), a.lstm_input + kSileroHidden);
  for (size_t g = 0; g < kSileroGates; ++g) {
    double sum = static_cast<double>(weights.lstm_bias_ih[g]) + static_cast<double>(weights.lstm_bias_hh[g]);
    for (size_t i = 0; i < kSileroHidden; ++i) {
      sum += static_cast<double>(weights.lstm_weight_ih[g * kSileroHidden + i]) *
                 static_cast<double>(a.lstm_input[i]) +
             static_cast<double>(weights.lstm_weight_hh[g * kSileroHidden + i]) *
                 static_cast<double>(state.h[i]);
    }
    a.gates[g] = static_cast<float>(sum);
  }
  return finish(weights, a.gates, state);
}

}  // namespace

SileroVad::Step* silero_step_of([[maybe_unused]] Isa isa) {
#if PARLANCE_X86
  if (isa == Isa::avx2) return vad::silero_step_avx2;
  if (is_avx512(isa)) return vad::silero_step_avx512;
#elif PARLANCE_NEON
  if (is_neon(isa)) return vad::silero_step_neon;
#endif
  return step_scalar;
}

}  // namespace parlance
