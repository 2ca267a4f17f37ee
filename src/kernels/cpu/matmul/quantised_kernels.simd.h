// The kernels of quantised weights for AVX2 and NEON, written once. Included inside a namespace of its own by
// the files that define PARLANCE_SIMD (the function attribute) and `V`, which adds to the lanes of simd/:
//
//   Codes, load                      32 bytes: codes of a run in the order of their values
//   nibbles(q)                       the 16 low halves of bytes, then the 16 high ones
//   bits(v, shift, mask)             (v >> shift) & mask in every byte
//   either, shift_left               in every byte
//   spread(word, value)              `value` in the bytes whose bit of the word is set
//   iq4_values(nibbles)
//   f32_of(half)
//   scale8(codes, d, out)            d times eight small integers
//   add<Format>(sum, codes, x, step)             sum + step * (products of codes and x), one step for all
//   lanes add_halves<Format>(sum, codes, x, steps, factor)  likewise with one step for each half kRowGroup,
//   interleave            transposes runs of that many rows into a panel
//
// A format says how a block becomes runs of codes and steps, value = step * code + offset:
//
//   kParts     steps in a block: one for each run, or for each half of one
//   kSigned    codes are signed bytes; else they are at most kMaxCode
//   kHasOffset
//   codes(block, run)
//   steps(block, step, offset)

using F = V::F;
using Codes = V::Codes;

// ---- Formats with 32 values in a block ----

template <class BlockType>
struct OneRun {
  using Block = BlockType;
  static constexpr int kRuns = 1;
  static constexpr int kParts = 1;
};

// x = d * (code - kZero)
template <class Block, int kZero>
struct AroundZero : OneRun<Block> {
  static constexpr bool kHasOffset = kZero != 0;
  PARLANCE_SIMD static PARLANCE_INLINE void steps(const Block& block, float* step, float* offset) {
    step[0] = V::f32_of(block.d);
    offset[0] = -kZero * step[0];
  }
};

// x = d * code + m
template <class Block>
struct AboveMinimum : OneRun<Block> {
  static constexpr bool kHasOffset = true;
  PARLANCE_SIMD static PARLANCE_INLINE void steps(const Block& block, float* step, float* offset) {
    step[0] = V::f32_of(block.d);
    offset[0] = V::f32_of(block.m);
  }
};

struct Q8_0 : AroundZero<BlockQ8_0, 0> {
  static constexpr bool kSigned = true;
  static constexpr int kMaxCode = 128;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int) { return V::load(block.q); }
};

struct Q4_0 : AroundZero<BlockQ4_0, 8> {
  static constexpr bool kSigned = false;
  static constexpr int kMaxCode = 15;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int) { return V::nibbles(block.q); }
};

struct Iq4Nl : AroundZero<BlockIq4Nl, 0> {
  static constexpr bool kSigned = true;
  static constexpr int kMaxCode = 128;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int) {
    return V::iq4_values(V::nibbles(block.q));
  }
};

struct Q4_1 : AboveMinimum<BlockQ4_1> {
  static constexpr bool kSigned = false;
  static constexpr int kMaxCode = 15;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int) { return V::nibbles(block.q); }
};

struct Q5_0 : AroundZero<BlockQ5_0, 16> {
  static constexpr bool kSigned = false;
  static constexpr int kMaxCode = 31;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int) {
    return V::either(V::nibbles(block.q), V::spread(block.high, 16));
  }
};

struct Q5_1 : AboveMinimum<BlockQ5_1> {
  static constexpr bool kSigned = false;
  static constexpr int kMaxCode = 31;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int) {
    return V::either(V::nibbles(block.q), V::spread(block.high, 16));
  }
};

// ---- Formats with 256 values in a block ----

// x = d * step * (code - kZero)
template <class BlockType, int kPartsOfBlock, int kZero>
struct StepsAroundZero {
  using Block = BlockType;
  static constexpr int kRuns = 8;
  static constexpr int kParts = kPartsOfBlock;
  static constexpr bool kHasOffset = kZero != 0;
  PARLANCE_SIMD static PARLANCE_INLINE void steps(const Block& block, float* step, float* offset) {
    StepCodes codes;
    step_codes(block, codes);
    const float d = V::f32_of(block.d);
#pragma GCC unroll 2
    for (int i = 0; i < kParts; i += 8) {
      V::scale8(codes.steps + i, d, step + i);
      if constexpr (kHasOffset) V::scale8(codes.steps + i, -kZero * d, offset + i);
    }
  }
};

// x = d * step * code - dmin * minimum
template <class BlockType, int kPartsOfBlock>
struct StepsAndMinimums {
  using Block = BlockType;
  static constexpr int kRuns = 8;
  static constexpr int kParts = kPartsOfBlock;
  static constexpr bool kHasOffset = true;
  PARLANCE_SIMD static PARLANCE_INLINE void steps(const Block& block, float* step, float* offset) {
    StepCodes codes;
    step_codes(block, codes);
    const float d = V::f32_of(block.d), dmin = V::f32_of(block.dmin);
#pragma GCC unroll 2
    for (int i = 0; i < kParts; i += 8) {
      V::scale8(codes.steps + i, d, step + i);
      V::scale8(codes.minimums + i, -dmin, offset + i);
    }
  }
};

struct Q4K : StepsAndMinimums<BlockQ4K, 8> {
  static constexpr bool kSigned = false;
  static constexpr int kMaxCode = 15;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int run) {
    return V::bits(V::load(block.q + 32 * (run / 2)), 4 * (run % 2), 15);
  }
};

struct Q5K : StepsAndMinimums<BlockQ5K, 8> {
  static constexpr bool kSigned = false;
  static constexpr int kMaxCode = 31;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int run) {
    const Codes low = V::bits(V::load(block.q + 32 * (run / 2)), 4 * (run % 2), 15);
    return V::either(low, V::shift_left(V::bits(V::load(block.high), run, 1), 4));
  }
};

struct Q6K : StepsAroundZero<BlockQ6K, 16, 32> {
  static constexpr bool kSigned = false;
  static constexpr int kMaxCode = 63;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int run) {
    const int h = run / 4, k = run % 4;
    const Codes low = V::bits(V::load(block.low + 64 * h + 32 * (k % 2)), 4 * (k / 2), 15);
    return V::either(low, V::shift_left(V::bits(V::load(block.high + 32 * h), 2 * k, 3), 4));
  }
};

struct Q2K : StepsAndMinimums<BlockQ2K, 16> {
  static constexpr bool kSigned = false;
  static constexpr int kMaxCode = 3;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int run) {
    return V::bits(V::load(block.q + 32 * (run / 4)), 2 * (run % 4), 3);
  }
};

struct Q3K : StepsAroundZero<BlockQ3K, 16, 4> {
  static constexpr bool kSigned = false;
  static constexpr int kMaxCode = 7;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int run) {
    const Codes low = V::bits(V::load(block.q + 32 * (run / 4)), 2 * (run % 4), 3);
    return V::either(low, V::shift_left(V::bits(V::load(block.high), run, 1), 2));
  }
};

struct Iq4Xs : StepsAroundZero<BlockIq4Xs, 8, 0> {
  static constexpr bool kSigned = true;
  static constexpr int kMaxCode = 128;
  PARLANCE_SIMD static PARLANCE_INLINE Codes codes(const Block& block, int run) {
    return V::iq4_values(V::nibbles(block.q + 16 * run));
  }
};

// ---- gemv ----

template <class Format>
PARLANCE_SIMD PARLANCE_INLINE F add_offsets(F sum, const float* offset, const RowActivations& x,
                                            int64_t block) {
  if constexpr (Format::kParts == 1) {  // in every lane, divided by their number at the end
    return V::multiply_add(V::broadcast(offset[0]), V::broadcast(x.sums[block]), sum);
  } else {
    const float* x_sums = (Format::kParts > Format::kRuns ? x.half_sums : x.sums) + Format::kParts * block;
#pragma GCC unroll 4
    for (int i = 0; i < Format::kParts; i += V::kWidth) {
      sum = V::multiply_add(V::load(offset + i), V::load(x_sums + i), sum);
    }
    return sum;
  }
}

template <class Format, int kTokens>
PARLANCE_SIMD void multiply_rows(const GemvArgs& args) {
  constexpr float kOffsetLanes = Format::kParts == 1 ? V::kWidth : 1;
  const int64_t n_blocks = args.n_in / Format::Block::kElements;
  for (int64_t r = 0; r < args.n_rows; ++r) {
    const auto* blocks = reinterpret_cast<const typename Format::Block*>(
        args.weight + static_cast<size_t>(r) * args.row_bytes);
    F sums[kTokens], offsets[kTokens];
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) sums[t] = offsets[t] = V::zero();
    for (int64_t b = 0; b < n_blocks; ++b) {
      alignas(32) float step[Format::kParts], offset[Format::kParts];
      Format::steps(blocks[b], step, offset);
      if constexpr (Format::kHasOffset) {
#pragma GCC unroll 4
        for (int t = 0; t < kTokens; ++t) offsets[t] = add_offsets<Format>(offsets[t], offset, args.x[t], b);
      }
#pragma GCC unroll 8
      for (int run = 0; run < Format::kRuns; ++run) {
        const int64_t at = Format::kRuns * b + run;
        const Codes codes = Format::codes(blocks[b], run);
#pragma GCC unroll 4
        for (int t = 0; t < kTokens; ++t) {
          const Codes x = V::load(args.x[t].codes[0] + kRun * at);
          if constexpr (Format::kParts > Format::kRuns) {
            sums[t] = V::template add_halves<Format>(sums[t], codes, x, step + 2 * run, args.x[t].steps[at]);
          } else {
            const F scale = V::multiply(V::broadcast(step[run]), V::broadcast(args.x[t].steps[at]));
            sums[t] = V::template add<Format>(sums[t], codes, x, scale);
          }
        }
      }
    }
    const float bias = args.bias ? args.bias[r] : 0.0f;
    for (int t = 0; t < kTokens; ++t) {
      args.out[t * args.out_stride + r] = V::sum(sums[t]) + V::sum(offsets[t]) / kOffsetLanes + bias;
    }
  }
}

constexpr int kPassTokens = 4;  // whose sums stay in registers

template <class Format>
void gemv_pass(const GemvArgs& args) {
  static_assert(kPassTokens == 4);
  switch (args.n_tokens) {
    case 1:
      return multiply_rows<Format, 1>(args);
    case 2:
      return multiply_rows<Format, 2>(args);
    case 3:
      return multiply_rows<Format, 3>(args);
    default:
      return multiply_rows<Format, 4>(args);
  }
}

// A second pass finds the weights of a task in the cache; that takes less time than to unpack them into
// panels.
template <class Format>
void gemv(const GemvArgs& args) {
  for (int t = 0; t < args.n_tokens; t += kPassTokens) {
    GemvArgs pass = args;
    pass.x += t;
    pass.n_tokens = std::min(kPassTokens, args.n_tokens - t);
    pass.out += t * args.out_stride;
    gemv_pass<Format>(pass);
  }
}

// ---- Panels ----

constexpr int kPanelRows = 2 * V::kWidth;
constexpr int kTileTokens = 4;

template <class Format>
PARLANCE_SIMD void unpack(const UnpackArgs& args) {
  for (int first = 0; first < kPanelRows; first += V::kRowGroup) {
    for (int64_t b = 0; b < args.n_runs / Format::kRuns; ++b) {
      const typename Format::Block* blocks[V::kRowGroup];
      for (int r = 0; r < V::kRowGroup; ++r) {
        blocks[r] = reinterpret_cast<const typename Format::Block*>(args.rows[first + r]) + b;
        alignas(32) float step[Format::kParts], offset[Format::kParts];
        Format::steps(*blocks[r], step, offset);
        for (int part = 0; part < Format::kParts; ++part) {
          const int64_t at = (b * Format::kParts + part) * kPanelRows + first + r;
          args.panel.steps[at] = step[part];
          if constexpr (Format::kHasOffset) args.panel.offsets[at] = offset[part];
        }
      }
#pragma GCC unroll 8
      for (int run = 0; run < Format::kRuns; ++run) {
        Codes codes[V::kRowGroup];
#pragma GCC unroll 8
        for (int r = 0; r < V::kRowGroup; ++r) codes[r] = Format::codes(*blocks[r], run);
        int8_t* out = args.panel.codes + (b * Format::kRuns + run) * kRun * kPanelRows + 4 * first;
        V::interleave(codes, out, 4 * kPanelRows);
      }
    }
  }
}

// Whole and ragged panels, the memory of sums and of outputs.
PARLANCE_SIMD PARLANCE_INLINE F load_rows(const float* x, int64_t n) {
  return n >= V::kWidth ? V::load(x) : n > 0 ? V::load_first(x, n) : V::zero();
}

PARLANCE_SIMD PARLANCE_INLINE void store_rows(float* x, F a, int64_t n) {
  if (n >= V::kWidth) {
    V::store(x, a);
  } else if (n > 0) {
    V::store_first(x, a, n);
  }
}

// kPanelRows rows times kTokens tokens.
template <class Format, int kTokens>
PARLANCE_SIMD void multiply_tokens(const PanelArgs& args) {
  constexpr int kVectors = kPanelRows / V::kWidth;
  constexpr int kPartsOfRun = Format::kParts / Format::kRuns;
  constexpr int kPieces = 8 / kPartsOfRun;  // of four codes in a part
  F sums[kTokens][kVectors];
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[t][v] = args.start ? load_rows(args.start + t * args.start_stride + v * V::kWidth,
                                          args.n_rows - v * V::kWidth)
                              : V::zero();
    }
  }
  const auto* run = reinterpret_cast<const RunActivations<kTileTokens>*>(args.x);
  const int8_t* codes = args.panel.codes;
  const float* steps = args.panel.steps;
  const float* offsets = args.panel.offsets;
  for (int64_t i = 0; i < args.n_runs; ++i, ++run) {
#pragma GCC unroll 2
    for (int part = 0; part < kPartsOfRun; ++part) {
      typename V::Sums dots[kTokens][kVectors];
      V::template multiply_part<Format, kTokens, kVectors, kPieces>(codes, *run, part, dots);
      codes += kPieces * 4 * kPanelRows;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const F step = V::load(steps + v * V::kWidth);
#pragma GCC unroll 4
        for (int t = 0; t < kTokens; ++t) {
          const F scale = V::multiply(step, V::broadcast(run->steps[t]));
          sums[t][v] = V::multiply_add(V::to_f32(dots[t][v]), scale, sums[t][v]);
        }
        if constexpr (Format::kHasOffset) {
          const F offset = V::load(offsets + v * V::kWidth);
          const float* x_sums = kPartsOfRun == 2 ? run->half_sums[part] : run->sums;
#pragma GCC unroll 4
          for (int t = 0; t < kTokens; ++t) {
            sums[t][v] = V::multiply_add(offset, V::broadcast(x_sums[t]), sums[t][v]);
          }
        }
      }
      steps += kPanelRows;
      offsets += kPanelRows;
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      store_rows(args.out + t * args.out_stride + v * V::kWidth, sums[t][v], args.n_rows - v * V::kWidth);
    }
  }
}

template <class Format>
void multiply_panel(const PanelArgs& args) {
  static_assert(kTileTokens == 4);
  switch (args.n_tokens) {
    case 1:
      return multiply_tokens<Format, 1>(args);
    case 2:
      return multiply_tokens<Format, 2>(args);
    case 3:
      return multiply_tokens<Format, 3>(args);
    default:
      return multiply_tokens<Format, 4>(args);
  }
}

// ---- The set, see quantised.h ----

struct Set {
  static constexpr int kGemvTokens = 2 * kPassTokens;
  static constexpr int kPanelRows = 2 * V::kWidth;
  static constexpr int kTileTokens = 4;
  static constexpr int8_t kCodeFlip = 0;

  static RunCodes quantise(const float* x) { return V::quantise(x); }
  static void quantise_row(const float* x, int64_t n_runs, const RowCodes& row) {
    for (int64_t run = 0; run < n_runs; ++run) row.put(run, quantise(x + run * kRun));
  }

  template <class Format>
  static QuantisedKernel of() {
    return {gemv<Format>, unpack<Format>, multiply_panel<Format>, Order::natural};
  }

  static QuantisedKernel kernel(DType dtype) {
    switch (dtype) {
      case DType::q8_0:
        return of<Q8_0>();
      case DType::q4_0:
        return of<Q4_0>();
      case DType::q4_1:
        return of<Q4_1>();
      case DType::q5_0:
        return of<Q5_0>();
      case DType::q5_1:
        return of<Q5_1>();
      case DType::iq4_nl:
        return of<Iq4Nl>();
      case DType::q2_k:
        return of<Q2K>();
      case DType::q3_k:
        return of<Q3K>();
      case DType::q4_k:
        return of<Q4K>();
      case DType::q5_k:
        return of<Q5K>();
      case DType::q6_k:
        return of<Q6K>();
      default:
        return of<Iq4Xs>();
    }
  }
};
