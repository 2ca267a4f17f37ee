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

// ---- gemv: four steps of each of kQuadRows rows in a vector ----

constexpr int kQuadRows = kWidth / 4;
// Several rows at once are too many short streams for the processor's own prefetching: the weights are asked
// for, as one stream, this far ahead of the rows that are multiplied.
constexpr int64_t kPrefetchBytes = 4096;

struct FloatProduct {
  static constexpr int kStepValues = 1;
  PARLANCE_SIMD static PARLANCE_INLINE F multiply_add(F w, F x, F sum) {
    return Lanes::multiply_add(w, x, sum);
  }
};

// sums += kWidth steps of kGroups * kQuadRows rows times those of each token.
template <class Values, class Product, int kTokens, int kGroups>
PARLANCE_SIMD PARLANCE_INLINE void add_steps(const std::byte* const (&rows)[kGroups * kQuadRows], int64_t at,
                                             const float* const (&x)[kTokens], int64_t i,
                                             F (&sums)[kTokens][kGroups]) {
  F w[kGroups][kQuadRows];
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) {
#pragma GCC unroll 4
    for (int r = 0; r < kQuadRows; ++r) w[g][r] = Values::load(rows[g * kQuadRows + r] + at);
    Lanes::transpose_quads(w[g]);
  }
#pragma GCC unroll 4
  for (int k = 0; k < kQuadRows; ++k) {
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
      const F xt = Lanes::quads_of(x[t] + i + 4 * k);
#pragma GCC unroll 4
      for (int g = 0; g < kGroups; ++g) sums[t][g] = Product::multiply_add(w[g][k], xt, sums[t][g]);
    }
  }
}

// The same for fewer steps: zeros fill them up.
template <class Values, class Product, int kTokens, int kGroups>
PARLANCE_SIMD void add_rest(const std::byte* const (&rows)[kGroups * kQuadRows], int64_t at, int64_t n_bytes,
                            const float* const (&x)[kTokens], int64_t i, int64_t n_steps,
                            F (&sums)[kTokens][kGroups]) {
  constexpr int kRows = kGroups * kQuadRows;
  std::byte weights[kRows][kWidth * Values::kBytes] = {};
  float values[kTokens][kWidth] = {};
  const std::byte* weight_rows[kRows];
  const float* value_rows[kTokens];
  for (int r = 0; r < kRows; ++r) {
    weight_rows[r] = weights[r];
    std::memcpy(weights[r], rows[r] + at, static_cast<size_t>(n_bytes));
  }
  for (int t = 0; t < kTokens; ++t) {
    value_rows[t] = values[t];
    std::memcpy(values[t], x[t] + i, static_cast<size_t>(n_steps) * sizeof(float));
  }
  add_steps<Values, Product, kTokens, kGroups>(weight_rows, 0, value_rows, 0, sums);
}

template <class Values, class Product, int kTokens, int kGroups>
PARLANCE_SIMD void multiply_all_rows(const FloatGemvArgs& args) {
  constexpr int kRows = kGroups * kQuadRows;
  const int64_t n_steps = div_up<int64_t>(args.n_in, Product::kStepValues);
  const int64_t n_whole = args.n_in / Product::kStepValues / kWidth * kWidth;
  const float* x[kTokens];
  for (int t = 0; t < kTokens; ++t) x[t] = args.x + t * args.x_stride;
  for (int64_t first = 0; first < args.n_rows; first += kRows) {
    const int64_t n_rows = std::min<int64_t>(kRows, args.n_rows - first);
    const std::byte* rows[kRows];  // the last one takes the place of those that there are not
    for (int64_t r = 0; r < kRows; ++r) {
      rows[r] = args.weight + static_cast<size_t>(first + std::min(r, n_rows - 1)) * args.row_bytes;
    }
    const std::byte* ahead = rows[0] + kRows * args.row_bytes + kPrefetchBytes;
    float totals[kTokens][kRows];
    for (int t = 0; t < kTokens; ++t) {
      for (int64_t r = 0; r < kRows; ++r)
        totals[t][r] = args.bias && r < n_rows ? args.bias[first + r] : 0.0f;
    }
    for (int64_t i = 0; i < n_steps;) {
      F sums[kTokens][kGroups];
#pragma GCC unroll 4
      for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) sums[t][g] = Lanes::zero();
      }
      const int64_t end = std::min(i + kSegmentSteps, n_steps), whole_end = std::min(end, n_whole);
      for (; i < whole_end; i += kWidth) {
        constexpr int kBytes = kRows * kWidth * Values::kBytes;
#pragma GCC unroll 16
        for (int byte = 0; byte < kBytes; byte += 64) __builtin_prefetch(ahead + byte, 0, 2);
        ahead += kBytes;
        add_steps<Values, Product, kTokens, kGroups>(rows, i * Values::kBytes, x, i, sums);
      }
      if (i < end) {
        const int64_t at = i * Values::kBytes;
        add_rest<Values, Product, kTokens, kGroups>(
            rows, at, args.n_in * Values::kBytes / Product::kStepValues - at, x, i, end - i, sums);
        i = end;
      }
      for (int t = 0; t < kTokens; ++t) {
        float more[kRows];
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) Lanes::store_quad_sums(more + g * kQuadRows, sums[t][g]);
        for (int r = 0; r < kRows; ++r) totals[t][r] += more[r];
      }
    }
    for (int t = 0; t < kTokens; ++t) {
      std::copy_n(totals[t], n_rows, args.out + t * args.out_stride + first);
    }
  }
}

template <class Values, class Product>
void gemv_steps(const FloatGemvArgs& args) {
  static_assert(FloatKernels::kGemvTokens == 4);
  switch (args.n_tokens) {
    case 1:
      return multiply_all_rows < Values, Product, 1, kWidth == 16 ? 2 : 4 > (args);
    case 2:
      return multiply_all_rows<Values, Product, 2, 2>(args);
    case 3:
      return multiply_all_rows<Values, Product, 3, 2>(args);
    default:
      return multiply_all_rows<Values, Product, 4, 2>(args);
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

// Where the steps of each chain begin, of kRows rows, in a stretch of n steps.
template <int kRows>
struct ChainStarts {
  PARLANCE_INLINE ChainStarts(float* steps, int64_t n) {
    for (int i = 0; i < kStepChains; ++i) {
      const int chain = chain_number<kStepChains>(i);
      of_chain[chain] = steps;
      steps += steps_of_chain(chain, n) * kRows;
    }
  }
  PARLANCE_INLINE float* step(int64_t i) const { return of_chain[i % kStepChains] + i / kStepChains * kRows; }

  float* of_chain[kStepChains];
};

// kRows rows of steps of four bytes, transposed to [step][row]; step `first` of the stretch is the first of
// theirs.
template <class Values, int kRows>
PARLANCE_SIMD void pack(const FloatPackArgs& args, const ChainStarts<kRows>& chains, int64_t first_step = 0) {
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
#pragma GCC unroll 16
      for (int k = 0; k < kWidth; ++k) {
        if (k < n) store_rows(chains.step(first_step + i + k) + first, square[k], n_rows);
      }
    }
  }
}

template <class Values, int kRows>
PARLANCE_SIMD void pack_values(const FloatPackArgs& args) {
  pack<Values, kRows>(args, ChainStarts<kRows>(args.steps, args.n_values));
}

// Sums of kTokens tokens; of these, the first args.n_tokens exist. Chain by chain, see order_of_sums.h.
template <class Product, int kTokens>
PARLANCE_SIMD void multiply(const FloatPanelArgs& args) {
  F waiting[2][kTokens][kVectors];
  F sums[kTokens][kVectors];
  const float* panel = args.panel;
  const float* x = args.x;
  for (int i = 0; i < kStepChains; ++i) {
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[t][v] = Lanes::zero();
    }
    const int64_t n_steps = steps_of_chain(chain_number<kStepChains>(i), args.n_steps);
    for (int64_t step = 0; step < n_steps; ++step, panel += kPanelRows, x += kTileTokens) {
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
    int level = 0;
    for (; i >> level & 1; ++level) {
#pragma GCC unroll 16
      for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[t][v] = Lanes::add(sums[t][v], waiting[level][t][v]);
      }
    }
    if (level == 2) break;
#pragma GCC unroll 16
    for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) waiting[level][t][v] = sums[t][v];
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < kTokens; ++t) {
    if (t >= args.n_tokens) break;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const int64_t n_rows = args.n_rows - v * kWidth;
      const F start =
          args.start ? load_rows(args.start + t * args.start_stride + v * kWidth, n_rows) : Lanes::zero();
      store_rows(args.out + t * args.out_stride + v * kWidth, Lanes::add(start, sums[t][v]), n_rows);
    }
  }
}

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
    .gemv = gemv_steps<Values, FloatProduct>,
    .round_row = nullptr,
    .steps = StepKind::f32,
    .pack_weights = pack_values<Values, kPanelRows>,
    .pack_tokens = pack_values<F32Values, kTileTokens>,
    .multiply_panel = multiply_panel<FloatProduct>,
};
