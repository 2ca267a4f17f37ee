// One window of the network with vectors, included after PARLANCE_SIMD and Lanes say which: 64 outputs of a
// layer lie side by side, every input is broadcast to them, and weights are read once, in order.

using F = Lanes::F;
constexpr int kWidth = Lanes::kWidth;

// Sums in registers at a time: half of the registers, so that weights and inputs have the rest.
constexpr int kSums = Lanes::kRegisters / 2;

// out [kColumns, n_out] of inputs of n_in floats, x + column * column_stride each; negative ones become zero
// when is_relu.
template <int kColumns, bool is_relu>
PARLANCE_SIMD void run_layer(const SileroLayer& layer, const float* x, int64_t column_stride, float* out) {
  constexpr int64_t kOutputs = SileroWeightRow::kOutputs;
  constexpr int kVectors = kSums / kColumns * kWidth < kOutputs ? kSums / kColumns : kOutputs / kWidth;
  const SileroWeightRow* rows = layer.rows.data();
  for (int64_t block = 0; block < layer.n_out; block += kOutputs, rows += layer.n_in) {
    for (int64_t first = 0; first < kOutputs; first += kVectors * kWidth) {
      F sums[kColumns][kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const F bias = Lanes::load(layer.bias.data() + block + first + v * kWidth);
#pragma GCC unroll 4
        for (int column = 0; column < kColumns; ++column) sums[column][v] = bias;
      }
      for (int64_t in = 0; in < layer.n_in; ++in) {
        const float* row = rows[in].values.data() + first;
        F inputs[kColumns];
#pragma GCC unroll 4
        for (int column = 0; column < kColumns; ++column)
          inputs[column] = Lanes::broadcast(x[column * column_stride + in]);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          const F weights = Lanes::load(row + v * kWidth);
#pragma GCC unroll 4
          for (int column = 0; column < kColumns; ++column)
            sums[column][v] = Lanes::multiply_add(weights, inputs[column], sums[column][v]);
        }
      }
#pragma GCC unroll 4
      for (int column = 0; column < kColumns; ++column) {
        float* to = out + column * layer.n_out + block + first;
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          const F sum = sums[column][v];
          Lanes::store(to + v * kWidth, is_relu ? Lanes::maximum(sum, Lanes::zero()) : sum);
        }
      }
    }
  }
}

PARLANCE_SIMD float dot(const float* x, const float* y, int64_t n) {
  F sum = Lanes::zero();
  for (int64_t i = 0; i < n; i += kWidth)
    sum = Lanes::multiply_add(Lanes::load(x + i), Lanes::load(y + i), sum);
  return Lanes::sum(sum);
}

// The basis is as symmetric in f16 as in f32, so folding halves the work whatever the file has.
PARLANCE_SIMD void run_transform(const SileroModel& model, SileroActivations& a) {
  constexpr int64_t kHalf = kSileroFrame / 2, kBins = kSileroBins - 1;
  for (int64_t t = 0; t < kSileroFrames; ++t) {
    const float* frame = a.samples.data() + t * kSileroHop;
    for (int64_t n = 1; n < kHalf; ++n) {
      a.sums[t][n - 1] = frame[n] + frame[kSileroFrame - n];
      a.differences[t][n - 1] = frame[n] - frame[kSileroFrame - n];
    }
    a.sums[t][kHalf - 1] = frame[kHalf];
  }
  run_layer<kSileroFrames, false>(model.cosines, a.sums[0], kHalf, a.real[0]);
  run_layer<kSileroFrames, false>(model.sines, a.differences[0], kHalf, a.imaginary[0]);
  for (int64_t t = 0; t < kSileroFrames; ++t) {
    float* magnitudes = a.magnitudes[t + 1];
    for (int64_t k = 0; k < kBins; ++k) {
      magnitudes[k] = std::sqrt(a.real[t][k] * a.real[t][k] + a.imaginary[t][k] * a.imaginary[t][k]);
    }
    magnitudes[kBins] = std::fabs(dot(a.sums[t], model.last_cosines.data(), kHalf));
  }
}

PARLANCE_SIMD PARLANCE_INLINE F sigmoid(F x) {
  const F one = Lanes::broadcast(1);
  return Lanes::divide(one, Lanes::add(one, Lanes::exp(Lanes::subtract(Lanes::zero(), x))));
}

// 2 sigmoid(2 x) - 1
PARLANCE_SIMD PARLANCE_INLINE F tanh(F x) {
  const F s = sigmoid(Lanes::add(x, x));
  return Lanes::subtract(Lanes::add(s, s), Lanes::broadcast(1));
}

// The cell's next state from its gates, and the head's sum.
PARLANCE_SIMD float run_cell(const SileroWeights& weights, const float* gates, SileroState& state) {
  F sum = Lanes::zero();
  for (int64_t i = 0; i < kSileroHidden; i += kWidth) {
    const F input = sigmoid(Lanes::load(gates + i));
    const F forget = sigmoid(Lanes::load(gates + kSileroHidden + i));
    const F candidate = tanh(Lanes::load(gates + 2 * kSileroHidden + i));
    const F output = sigmoid(Lanes::load(gates + 3 * kSileroHidden + i));
    const F c =
        Lanes::multiply_add(forget, Lanes::load(state.c.data() + i), Lanes::multiply(input, candidate));
    const F h = Lanes::multiply(output, tanh(c));
    Lanes::store(state.c.data() + i, c);
    Lanes::store(state.h.data() + i, h);
    sum = Lanes::multiply_add(Lanes::load(weights.head_weight.data() + i), Lanes::maximum(h, Lanes::zero()),
                              sum);
  }
  return Lanes::sum(sum) + weights.head_bias[0];
}

PARLANCE_SIMD float run_step(const SileroModel& model, SileroActivations& a, SileroState& state) {
  run_transform(model, a);
  // A convolution's taps are neighbouring rows, so its inputs at a moment lie together.
  run_layer<4, true>(model.convs[0], a.magnitudes[0], kSileroBins, a.encoded1[1]);
  run_layer<2, true>(model.convs[1], a.encoded1[0], 2 * 128, a.encoded2[0]);
  run_layer<1, true>(model.convs[2], a.encoded2[0], 0, a.encoded3);
  run_layer<1, true>(model.convs[3], a.encoded3, 0, a.lstm_input);
  for (int64_t i = 0; i < kSileroHidden; i += kWidth)
    Lanes::store(a.lstm_input + kSileroHidden + i, Lanes::load(state.h.data() + i));
  run_layer<1, false>(model.lstm, a.lstm_input, 0, a.gates);
  const float sum = run_cell(model.weights, a.gates, state);
  return 1 / (1 + std::exp(-sum));
}
