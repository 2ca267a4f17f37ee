// The kernels of float weights, written once for all instruction sets. Included inside a namespace of its own
// by the files that define PARLANCE_SIMD (the function attribute) and `Lanes` (see simd/).

using F = Lanes::F;
constexpr int kWidth = Lanes::kWidth;
constexpr int kVectors = 2;  // of rows in a panel
constexpr int kPanelRows = kVectors * kWidth;
// Sums fill the registers, but for the panel's vectors, one of activations, and a spare.
constexpr int kTileTokens = Lanes::kRegisters == 32 ? 12 : 6;

// ---- Formats: kWidth values from an address on ----

struct F32Values {
  static constexpr int kBytes = 4;
  PARLANCE_SIMD static PARLANCE_INLINE F load(const std::byte* w) {
    return Lanes::load(reinterpret_cast<const float*>(w));
  }
  PARLANCE_SIMD static PARLANCE_INLINE F load_first(const std::byte* w, int64_t n) {
    return Lanes::load_first(reinterpret_cast<const float*>(w), n);
  }
};

struct F16Values {
  static constexpr int kBytes = 2;
  PARLANCE_SIMD static PARLANCE_INLINE F load(const std::byte* w) { return Lanes::widen_f16(w); }
  PARLANCE_SIMD static PARLANCE_INLINE F load_first(const std::byte* w, int64_t n) {
    return Lanes::widen_f16_first(w, n);
  }
};

struct Bf16Values {
  static constexpr int kBytes = 2;
  PARLANCE_SIMD static PARLANCE_INLINE F load(const std::byte* w) { return Lanes::widen_bf16(w); }
  PARLANCE_SIMD static PARLANCE_INLINE F load_first(const std::byte* w, int64_t n) {
    return Lanes::widen_bf16_first(w, n);
  }
};

// The first n values at w, zeros behind them.
template <class Values>
PARLANCE_SIMD PARLANCE_INLINE F load_values(const std::byte* w, int64_t n) {
  return n >= kWidth ? Values::load(w) : Values::load_first(w, n);
}

PARLANCE_INLINE const std::byte* bytes_of(const float* x) {
  return reinterpret_cast<const std::byte*>(x);
}

// ---- gemv: row after row, one stream of weights that the processor prefetches by itself ----

template <class Values, int kTokens, int kSums>
PARLANCE_SIMD void multiply_all_rows(const FloatGemvArgs& args) {
  for (int64_t r = 0; r < args.n_rows; ++r) {
    const std::byte* weight = args.weight + r * static_cast<int64_t>(args.row_bytes);
    F sums[kTokens][kSums];  // several for each token, since an addition takes a few cycles
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
      for (int s = 0; s < kSums; ++s) sums[t][s] = Lanes::zero();
    }
    int64_t i = 0;
    for (; i + kSums * kWidth <= args.n_in; i += kSums * kWidth) {
#pragma GCC unroll 4
      for (int s = 0; s < kSums; ++s) {
        const int64_t at = i + s * kWidth;
        const F w = Values::load(weight + at * Values::kBytes);
#pragma GCC unroll 4
        for (int t = 0; t < kTokens; ++t) {
          sums[t][s] = Lanes::multiply_add(w, Lanes::load(args.x + t * args.n_in + at), sums[t][s]);
        }
      }
    }
    for (; i < args.n_in; i += kWidth) {
      const int64_t n = args.n_in - i;
      const F w = load_values<Values>(weight + i * Values::kBytes, n);
#pragma GCC unroll 4
      for (int t = 0; t < kTokens; ++t) {
        sums[t][0] = Lanes::multiply_add(w, load_values<F32Values>(bytes_of(args.x + t * args.n_in + i), n),
                                         sums[t][0]);
      }
    }
    const float bias = args.bias ? args.bias[r] : 0.0f;
    for (int t = 0; t < kTokens; ++t) {
      F sum = sums[t][0];
#pragma GCC unroll 4
      for (int s = 1; s < kSums; ++s) sum = Lanes::add(sum, sums[t][s]);
      args.out[t * args.out_stride + r] = Lanes::sum(sum) + bias;
    }
  }
}

template <class Values>
void gemv(const FloatGemvArgs& args) {
  static_assert(FloatKernels::kGemvTokens == 4);
  switch (args.n_tokens) {
    case 1:
      return multiply_all_rows<Values, 1, 2>(args);
    case 2:
      return multiply_all_rows<Values, 2, 4>(args);
    case 3:
      return multiply_all_rows<Values, 3, 1>(args);
    default:
      return multiply_all_rows<Values, 4, 2>(args);
  }
}

// ---- gemm ----

PARLANCE_SIMD PARLANCE_INLINE F load_rows(const float* x, int64_t n) {
  return n >= kWidth ? Lanes::load(x) : n > 0 ? Lanes::load_first(x, n) : Lanes::zero();
}

PARLANCE_SIMD PARLANCE_INLINE void store_rows(float* x, F a, int64_t n) {
  if (n >= kWidth) {
    Lanes::store(x, a);
  } else if (n > 0) {
    Lanes::store_first(x, a, n);
  }
}

// kRows rows of steps of four bytes, transposed to [step][row].
template <class Values, int kRows>
PARLANCE_SIMD void pack(const FloatPackArgs& args) {
  for (int first = 0; first < kRows; first += kWidth) {
    const int n_rows = std::min(kWidth, kRows - first);
    for (int64_t i = 0; i < args.n_values; i += kWidth) {
      const int64_t n = args.n_values - i;
      F square[kWidth];
#pragma GCC unroll 16
      for (int r = 0; r < kWidth; ++r) {
        square[r] =
            r < n_rows ? load_values<Values>(args.rows[first + r] + i * Values::kBytes, n) : Lanes::zero();
      }
      Lanes::transpose(square);
      float* steps = args.steps + i * kRows + first;
#pragma GCC unroll 16
      for (int k = 0; k < kWidth; ++k) {
        if (k < n) store_rows(steps + k * kRows, square[k], n_rows);
      }
    }
  }
}

// Sums of kTokens tokens; of these, the first args.n_tokens exist.
template <class Product, int kTokens>
PARLANCE_SIMD void multiply(const FloatPanelArgs& args) {
  F sums[kTokens][kVectors];
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      sums[t][v] = args.start && t < args.n_tokens
                       ? load_rows(args.start + t * args.start_stride + v * kWidth, args.n_rows - v * kWidth)
                       : Lanes::zero();
    }
  }
  const float* panel = args.panel;
  const float* x = args.x;
  for (int64_t step = 0; step < args.n_steps; ++step, panel += kPanelRows, x += kTileTokens) {
    F w[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) w[v] = Lanes::load(panel + v * kWidth);
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) {
      const F xt = Lanes::broadcast(x[t]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[t][v] = Product::multiply_add(w[v], xt, sums[t][v]);
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
    if (t >= args.n_tokens) break;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      store_rows(args.out + t * args.out_stride + v * kWidth, sums[t][v], args.n_rows - v * kWidth);
    }
  }
}

struct FloatProduct {
  PARLANCE_SIMD static PARLANCE_INLINE F multiply_add(F w, F x, F sum) {
    return Lanes::multiply_add(w, x, sum);
  }
};

// Tiles are rounded up to an even number of tokens: what the memory of the last one holds there is not
// stored.
template <class Product>
void multiply_panel(const FloatPanelArgs& args) {
  switch (div_up(args.n_tokens, 2)) {
    case 1:
      return multiply<Product, 2>(args);
    case 2:
      return multiply<Product, 4>(args);
    case 3:
      return multiply<Product, 6>(args);
    case 4:
      return multiply<Product, std::min(8, kTileTokens)>(args);
    case 5:
      return multiply<Product, std::min(10, kTileTokens)>(args);
    default:
      return multiply<Product, kTileTokens>(args);
  }
}

// Weights and activations widened to f32.
template <class Values>
constexpr FloatKernel kF32Steps = {
    .gemv = gemv<Values>,
    .steps = StepKind::f32,
    .pack_weights = pack<Values, kPanelRows>,
    .pack_tokens = pack<F32Values, kTileTokens>,
    .multiply_panel = multiply_panel<FloatProduct>,
};
