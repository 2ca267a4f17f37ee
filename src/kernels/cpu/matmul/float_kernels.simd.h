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

// ---- gemv ----

// Several rows at once are too many short streams for a processor's own prefetching: the weights are asked
// for, as one stream, this far ahead of the rows that are multiplied.
constexpr int64_t kPrefetchBytes = 4096;

template <class Values, int kTokens, int kRows>
PARLANCE_SIMD PARLANCE_INLINE void multiply_rows(const FloatGemvArgs& args, int64_t first) {
  F sums[kRows][kTokens];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) sums[r][t] = Lanes::zero();
  }
  const std::byte* weight = args.weight + first * static_cast<int64_t>(args.row_bytes);
  const std::byte* ahead = weight + kRows * static_cast<int64_t>(args.row_bytes) + kPrefetchBytes;
  constexpr int64_t kStepBytes = kWidth * Values::kBytes;
  int64_t i = 0;
  for (; i + kWidth <= args.n_in; i += kWidth) {
    F x[kTokens];
#pragma GCC unroll 8
    for (int t = 0; t < kTokens; ++t) x[t] = Lanes::load(args.x + t * args.n_in + i);
    for (int64_t b = 0; b < kRows * kStepBytes; b += 64) __builtin_prefetch(ahead + b, 0, 2);
    ahead += kRows * kStepBytes;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F w = Values::load(weight + r * static_cast<int64_t>(args.row_bytes) + i * Values::kBytes);
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) sums[r][t] = Lanes::multiply_add(w, x[t], sums[r][t]);
    }
  }
  if (const int64_t rest = args.n_in - i; rest > 0) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F w =
          Values::load_first(weight + r * static_cast<int64_t>(args.row_bytes) + i * Values::kBytes, rest);
#pragma GCC unroll 8
      for (int t = 0; t < kTokens; ++t) {
        sums[r][t] = Lanes::multiply_add(w, Lanes::load_first(args.x + t * args.n_in + i, rest), sums[r][t]);
      }
    }
  }
  for (int t = 0; t < kTokens; ++t) {
    for (int r = 0; r < kRows; ++r) {
      const float bias = args.bias ? args.bias[first + r] : 0.0f;
      args.out[t * args.out_stride + first + r] = Lanes::sum(sums[r][t]) + bias;
    }
  }
}

template <class Values, int kTokens, int kRows>
PARLANCE_SIMD void multiply_all_rows(const FloatGemvArgs& args) {
  int64_t r = 0;
  for (; r + kRows <= args.n_rows; r += kRows) multiply_rows<Values, kTokens, kRows>(args, r);
  for (; r < args.n_rows; ++r) multiply_rows<Values, kTokens, 1>(args, r);
}

template <class Values>
void gemv(const FloatGemvArgs& args) {
  static_assert(FloatKernels::kGemvTokens == 4);
  switch (args.n_tokens) {
    case 1:
      return multiply_all_rows<Values, 1, 4>(args);
    case 2:
      return multiply_all_rows<Values, 2, 4>(args);
    case 3:
      return multiply_all_rows<Values, 3, 2>(args);
    default:
      return multiply_all_rows<Values, 4, 2>(args);
  }
}

// ---- gemm ----

// kWidth rows of steps of four bytes, transposed to [step][row].
template <class Values>
PARLANCE_SIMD void unpack(const FloatUnpackArgs& args) {
  for (int v = 0; v < kVectors; ++v) {
    const std::byte* const* rows = args.rows + v * kWidth;
    for (int64_t i = 0; i < args.n_values; i += kWidth) {
      const int64_t n = std::min<int64_t>(kWidth, args.n_values - i);
      F square[kWidth];
      if (n == kWidth) {
#pragma GCC unroll 16
        for (int r = 0; r < kWidth; ++r) square[r] = Values::load(rows[r] + i * Values::kBytes);
      } else {
#pragma GCC unroll 16
        for (int r = 0; r < kWidth; ++r) square[r] = Values::load_first(rows[r] + i * Values::kBytes, n);
      }
      Lanes::transpose(square);
      float* panel = args.panel + i * kPanelRows + v * kWidth;
#pragma GCC unroll 16
      for (int k = 0; k < kWidth; ++k) {
        if (k < n) Lanes::store(panel + k * kPanelRows, square[k]);
      }
    }
  }
}

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
