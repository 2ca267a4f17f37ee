// The kernels of quantised weights for AVX2 and NEON, written once. Included inside a namespace of its own by
// the files that define PARLANCE_SIMD (the function attribute) and `V`, which adds to the lanes of simd/:
//
//   Codes, load                      32 bytes: codes of a run in the order of their values
//   nibbles(q)                       the 16 low halves of bytes, then the 16 high ones
//   bits(v, shift, mask)             (v >> shift) & mask in every byte
//   either, shift_left               in every byte
//   spread(word, value)              `value` in the bytes whose bit of the word is set
//   iq4_values(nibbles)
//   f32_of(half), f32_of_each(halves)  of one, of kWidth at addresses
//   scale8(codes, d, out)            d times eight small integers
//   Fours, products_of_four<Format, kHalves>(codes, x)  sums of the products of four runs of codes with x, of
//                                    each half of the runs if kHalves
//   whole(fours), halves(fours, sums)  these of kWidth runs, a lane for each
//   kRowGroup, interleave            transposes runs of that many rows into a panel
//
// A format says how a block becomes runs of codes and steps, value = step * code + offset:
//
//   kParts     steps in a block: one for each run, or for each half of one
//   kSigned    codes are signed bytes; else they are at most kMaxCode
//   kHasOffset
//   codes(block, run)
//   steps(block, step, offset)
//   steps_of_rows(blocks, step, offset)   of kWidth blocks, a lane for each

using F = V::F;
using Codes = V::Codes;

template <class Format>
using Blocks = const typename Format::Block * [V::kWidth];

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
  PARLANCE_SIMD static PARLANCE_INLINE void steps_of_rows(const Block* const (&blocks)[V::kWidth],
                                                          F (&step)[1], F (&offset)[1]) {
    step[0] = V::f32_of_each(blocks, &Block::d);
    offset[0] = V::multiply(V::broadcast(-kZero), step[0]);
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
  PARLANCE_SIMD static PARLANCE_INLINE void steps_of_rows(const Block* const (&blocks)[V::kWidth],
                                                          F (&step)[1], F (&offset)[1]) {
    step[0] = V::f32_of_each(blocks, &Block::d);
    offset[0] = V::f32_of_each(blocks, &Block::m);
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

// A row of parts for each block becomes a lane of each part.
template <int kParts>
PARLANCE_SIMD PARLANCE_INLINE void transpose_parts(const float (&rows)[V::kWidth][kParts],
                                                   F (&parts)[kParts]) {
#pragma GCC unroll 4
  for (int first = 0; first < kParts; first += V::kWidth) {
    F square[V::kWidth];
#pragma GCC unroll 8
    for (int r = 0; r < V::kWidth; ++r) square[r] = V::load(rows[r] + first);
    V::transpose(square);
#pragma GCC unroll 8
    for (int i = 0; i < V::kWidth; ++i) parts[first + i] = square[i];
  }
}

template <class Format>
struct StepsOfBlocks {
  template <class Block, int kParts>
  PARLANCE_SIMD static PARLANCE_INLINE void steps_of_rows(const Block* const (&blocks)[V::kWidth],
                                                          F (&step)[kParts], F (&offset)[kParts]) {
    alignas(32) float steps[V::kWidth][kParts], offsets[V::kWidth][kParts];
#pragma GCC unroll 8
    for (int r = 0; r < V::kWidth; ++r) Format::steps(*blocks[r], steps[r], offsets[r]);
    transpose_parts(steps, step);
    if constexpr (Format::kHasOffset) transpose_parts(offsets, offset);
  }
};

// x = d * step * (code - kZero)
template <class BlockType, int kPartsOfBlock, int kZero>
struct StepsAroundZero : StepsOfBlocks<StepsAroundZero<BlockType, kPartsOfBlock, kZero>> {
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
struct StepsAndMinimums : StepsOfBlocks<StepsAndMinimums<BlockType, kPartsOfBlock>> {
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

// Whole and ragged groups of rows, the memory of sums and of outputs.
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

// ---- gemv: as many rows at once as a vector has lanes, one in each ----

constexpr int kFours = V::kWidth / 4;

// sums += products of a run of the rows with each token.
template <class Format, int kTokens>
PARLANCE_SIMD PARLANCE_INLINE void add_run(const Blocks<Format>& blocks, const RowActivations* x,
                                           int64_t block, int run, const F (&step)[Format::kParts],
                                           const F (&offset)[Format::kParts], F (&sums)[kTokens]) {
  constexpr bool kHalves = Format::kParts > Format::kRuns;
  const int64_t at = Format::kRuns * block + run;
  typename V::Fours fours[kTokens][kFours];
#pragma GCC unroll 2
  for (int i = 0; i < kFours; ++i) {
    Codes codes[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) codes[r] = Format::codes(*blocks[4 * i + r], run);
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) {
      fours[t][i] = V::template products_of_four<Format, kHalves>(codes, V::load(x[t].codes[0] + kRun * at));
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTokens; ++t) {
    const F x_step = V::broadcast(x[t].steps[at]);
    if constexpr (kHalves) {
      typename V::Sums dots[2];
      V::halves(fours[t], dots);
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        const int part = 2 * run + half;
        sums[t] = V::multiply_add(V::to_f32(dots[half]), V::multiply(step[part], x_step), sums[t]);
        if constexpr (Format::kHasOffset) {
          sums[t] = V::multiply_add(offset[part], V::broadcast(x[t].half_sums[2 * at + half]), sums[t]);
        }
      }
    } else {
      sums[t] = V::multiply_add(V::to_f32(V::whole(fours[t])), V::multiply(step[run], x_step), sums[t]);
      if constexpr (Format::kHasOffset) {
        sums[t] = V::multiply_add(offset[run], V::broadcast(x[t].sums[at]), sums[t]);
      }
    }
  }
}

// Several rows at once are too many short streams for the processor's own prefetching: the weights are asked
// for, as one stream, this far ahead of the rows that are multiplied.
constexpr int64_t kPrefetchBytes = 4096;

template <class Format, int kTokens>
PARLANCE_SIMD void multiply_rows(const GemvArgs& args) {
  using Block = typename Format::Block;
  const int64_t n_blocks = args.n_in / Block::kElements;
  for (int64_t first = 0; first < args.n_rows; first += V::kWidth) {
    const int64_t n_rows = args.n_rows - first;
    const std::byte* weight = args.weight + static_cast<size_t>(first) * args.row_bytes;
    const std::byte* ahead = weight + V::kWidth * args.row_bytes + kPrefetchBytes;
    Blocks<Format> blocks;
    for (int64_t r = 0; r < V::kWidth; ++r) {  // the last row takes the place of those that there are not
      blocks[r] = reinterpret_cast<const Block*>(weight + static_cast<size_t>(std::min(r, n_rows - 1)) *
                                                              args.row_bytes);
    }
    F sums[kTokens];
    const F bias = args.bias ? load_rows(args.bias + first, n_rows) : V::zero();
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) sums[t] = bias;
    for (int64_t b = 0; b < n_blocks; ++b) {
      constexpr int64_t kBytes = V::kWidth * sizeof(Block);
      for (int64_t i = 0; i < kBytes; i += 64) __builtin_prefetch(ahead + i, 0, 2);
      ahead += kBytes;
      F step[Format::kParts], offset[Format::kParts];
      Format::steps_of_rows(blocks, step, offset);
#pragma GCC unroll 8
      for (int run = 0; run < Format::kRuns; ++run) {
        add_run<Format, kTokens>(blocks, args.x, b, run, step, offset, sums);
      }
#pragma GCC unroll 8
      for (int r = 0; r < V::kWidth; ++r) ++blocks[r];
    }
#pragma GCC unroll 4
    for (int t = 0; t < kTokens; ++t) store_rows(args.out + t * args.out_stride + first, sums[t], n_rows);
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
  const std::byte* ahead = args.ahead;
  for (int64_t i = 0; i < args.n_runs; ++i, ++run, ahead += args.ahead_bytes) {
    for (int64_t byte = 0; byte < args.ahead_bytes; byte += 64) __builtin_prefetch(ahead + byte, 0, 2);
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
  static constexpr bool kReadsPacked = false;
  static constexpr int kGemvTokens = 2 * kPassTokens;
  static constexpr int kPanelRows = 2 * V::kWidth;
  static constexpr int kTileTokens = 4;
  static constexpr int8_t kCodeFlip = 0;

  static void quantise_row(const float* x, int64_t n_runs, const RowCodes& row) {
    for (int64_t run = 0; run < n_runs; ++run) row.put(run, V::quantise(x + run * kRun));
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
