// Many tokens times f16 or quantised weights on the tensor cores of compute capability 9.0, which take tokens
// from shared memory as f16 and sum in f32 while threads go on. Here are the shapes of tiles and the kernel
// for f16 weights, which come from shared memory, too, in steps of 64 values that several copies are ahead
// of; wide_brought.cu has that for the most tokens, wide_blocks.cu for quantised weights, wide_kept_many.cu
// for those that are kept as f16. Tokens have been rounded before, and lie as the tensor cores want them
// (halve_for_wide()), so that one copy brings a step of them.
#include "kernels/cuda/matmul/wide_gemm.h"

#include <algorithm>

#include "kernels/cuda/matmul/wide_brought.h"
#include "kernels/cuda/matmul/wide_kept.h"
#include "kernels/cuda/matmul/wide_kept_many.h"
#include "kernels/cuda/matmul/wide_rounded.h"
#include "kernels/cuda/matmul/wide_rows.cuh"
#include "kernels/cuda/matmul/wide_tile.cuh"
#include "kernels/cuda/reduce.cuh"

namespace parlance::cuda {

#if PARLANCE_HAS_WARPGROUPS

namespace {

using namespace wide_tile;

// Steps are on their way kAhead steps before they are multiplied.
constexpr int kAhead = 2;

// Two blocks share a multiprocessor: one multiplies while the other waits for its steps or stores what has
// come of them. There is no room for a step to be multiplied while the one before still is.
template <int kTokens>
struct Steps {
  static constexpr int kStages = kAhead + 1;
  static constexpr int kStageBytes = kTokensBytes<kTokens> + kTileBytes;
  static constexpr size_t kSharedBytes = kTileAlignment + kStages * kStageBytes;
  static_assert(TileRoom<kTokens, kTileRows>::kBytes <= kStages * kStageBytes);
};

// Block (tile of tokens, tile of rows, part). Tiles of tokens that share weights run side by side.
template <int kTokens>
__global__ void __launch_bounds__(kThreads, 2)
    multiply_halves(const __grid_constant__ Products p, const WideActivations x, const Parts parts,
                    const Split split, MatmulEnd matmul_end, bool is_made_before) {
  using S = Steps<kTokens>;
  extern __shared__ uint8_t dynamic[];
  __shared__ Arrivals tokens_there[S::kStages];
  let_next_start();
  start_arrivals(tokens_there);
  uint8_t* const shared = first_tile(dynamic);
  const Place place(p, parts, kTokens);
  const PlainRows<kThreads> weights(p, place, static_cast<int>(threadIdx.x));
  const int begin = place.begin, end = place.end;
  const auto stage = [&](int step) { return shared + (step - begin) % S::kStages * S::kStageBytes; };
  const auto tile = [&](int step) { return stage(step) + kTokensBytes<kTokens>; };
  const auto bring_tokens = [&](int step) {
    if (threadIdx.x == 0 && step < end)
      copy_tokens<kTokens>(stage(step), tokens_there[(step - begin) % S::kStages], x, place.first_token,
                           step);
  };
  const auto bring_weights = [&](int step) {
    if (step < end) weights.copy(tile(step), step);
    end_copy_group();
  };
  if (is_made_before) wait_for_previous();
  for (int i = 0; i < kAhead; ++i) bring_weights(begin + i);
  wait_for_previous();
  for (int i = 0; i < kAhead; ++i) bring_tokens(begin + i);

  float sums[kTokens / 2] = {};
  for (int step = begin; step < end; ++step) {
    wait_for_copies<kAhead - 1>();
    show_to_tensor_cores();
    tokens_there[(step - begin) % S::kStages].wait((step - begin) / S::kStages);
    __syncthreads();  // the step is there for all threads, and none multiplies what lies where the next goes
    start_step(sums, tile(step), stage(step));
    bring_tokens(step + kAhead);
    bring_weights(step + kAhead);
    wait_for_products<0>();
  }
  pin_sums(sums);
  end_tile<kTokens>(p, x, place, matmul_end, parts, split, sums, shared);
}

template <int kTokens>
void launch_halves(Stream& stream, const Products& products, const WideActivations& x, const Parts& parts,
                   const Split& split, MatmulEnd end, bool is_made_before) {
  const int n_token_tiles = div_up(products.n_tokens, kTokens);
  launch(stream, multiply_halves<kTokens>,
         shape_of_tiles<kTokens>(products, parts, kThreads, Steps<kTokens>::kSharedBytes), products, x, parts,
         split, end, is_made_before);
  launch_add_parts<OfTile<kTokens>>(stream, products, split, parts.n, n_token_tiles, end);
}

size_t halves_shared(int tile_tokens) {
  return tile_tokens == 64 ? Steps<64>::kSharedBytes : Steps<128>::kSharedBytes;
}

void wide_halves(Stream& stream, int tile_tokens, const Products& products, const WideActivations& x,
                 const Parts& parts, const Split& split, MatmulEnd end, bool is_made_before) {
  const auto run = tile_tokens == 64 ? launch_halves<64> : launch_halves<128>;
  run(stream, products, x, parts, split, end, is_made_before);
}

// Of quantised weights, which become f16 once for each tile of tokens, the widest one that is filled.
int tile_tokens_for_blocks(int n_tokens) {
  constexpr int kNarrow = 128;
  return 4 * div_up(n_tokens, kMostTileTokens) * kMostTileTokens <= 5 * n_tokens ? kMostTileTokens : kNarrow;
}

// Of others, the narrow one where there is little to do for each of its sums: more blocks begin and end at
// different times.
int tile_tokens_for_halves(const Products& products) {
  constexpr int kNarrow = 64, kWide = 128, kFewTokens = 512, kFewValues = 3072;
  return products.n_tokens <= kFewTokens && products.n_in <= kFewValues ? kNarrow : kWide;
}

// Of these, the ones that have so much to do that it is worth more to read less.
bool are_brought(const Products& products) {
  constexpr int kFewestTokens = 1024, kFewestValues = 4096;
  return products.n_tokens >= kFewestTokens && products.n_in >= kFewestValues &&
         tile_tokens_for_blocks(products.n_tokens) == kMostTileTokens;
}

}  // namespace

size_t widened_bytes(const MatmulArgs& args) {
  if (args.x.n_rows() < kFewestWidening) return 0;
  const auto is_kept = [](const Linear& linear) { return kept_copy_of(linear.weight) != nullptr; };
  if (std::all_of(args.w.begin(), args.w.begin() + args.n_outputs, is_kept)) return 0;
  int64_t n = 0;
  for (int i = 0; i < args.n_outputs; ++i) n += args.w[static_cast<size_t>(i)].weight.n_elements();
  return n <= kMostWidened ? static_cast<size_t>(n) * sizeof(uint16_t) : 0;
}

bool has_wide_kernels(int compute_capability) {
  return compute_capability == 90;
}

bool wide_gemm_serves(Stream& stream, DType dtype, const Tensor& x) {
  return has_wide_kernels(gpu_of(stream).compute_capability) && dtype != DType::f32 && dtype != DType::bf16 &&
         !has_one_order(stream, x.n_rows()) && x.ne[0] <= kMostWideValues;
}

namespace {

WideDone multiply(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x,
                  const NextNorm* next) {
  if (has_kept(args.products, dtype)) {
    if (args.products.x.n_rows() >= kFewestKeptMany) return wide_kept_many(stream, args, dtype, x, next);
    wide_kept(stream, args, dtype, x);
    return WideDone::products;
  }
  // Whether products end in gates does not change their sums.
  const Products plain = products_of(args.products, dtype, kTileRows);
  const bool is_widened = dtype != DType::f16 && widened_bytes(args.products) > 0;
  const bool is_f16 = dtype == DType::f16 || is_widened;
  const bool is_brought = is_f16 && are_brought(plain);
  const int tile_tokens =
      is_f16 && !is_brought ? tile_tokens_for_halves(plain) : tile_tokens_for_blocks(plain.n_tokens);
  const int n_token_tiles = div_up(plain.n_tokens, tile_tokens);
  const size_t shared = is_brought ? wide_brought_shared()
                        : is_f16   ? halves_shared(tile_tokens)
                                   : wide_blocks_shared(dtype, tile_tokens);
  const int tile_values = kTileRows * tile_tokens;
  const Parts parts = parts_for_blocks(stream, plain, n_token_tiles, kUnitValues, shared, tile_values);
  if (args.end == MatmulEnd::gate && parts.n > 1) return WideDone::nothing;
  const Split split =
      split_parts(stream, int64_t{n_token_tiles} * plain.n_tiles, parts, shared, tile_values, x.part_sums);
  Products products = args.end == MatmulEnd::gate ? products_of(args, dtype, kTileRows) : plain;
  if (is_widened) {
    std::byte* const widened =
        scratch_of(stream) + half_scratch_bytes(args.products.x.ne[0], args.products.x.n_rows());
    widen_weights(stream, dtype, plain, widened);
    const std::byte* of_output = widened;
    for (int i = 0; i < plain.n_outputs; ++i) {
      products.outputs[i].weight = reinterpret_cast<const uint8_t*>(of_output);
      products.outputs[i].row_bytes = plain.n_in * static_cast<int64_t>(sizeof(uint16_t));
      of_output += plain.outputs[i].n_out * products.outputs[i].row_bytes;
    }
  }
  if (is_brought) {
    wide_brought(stream, products, x, parts, split, args.end, is_widened);
  } else if (is_f16) {
    wide_halves(stream, tile_tokens, products, x, parts, split, args.end, is_widened);
  } else {
    wide_blocks(stream, dtype, tile_tokens, products, x, parts, split, args.end);
  }
  return WideDone::products;
}

}  // namespace

bool wide_gemm(Stream& stream, const FusedMatmulArgs& args, DType dtype, const WideActivations& x) {
  return multiply(stream, args, dtype, x, nullptr) != WideDone::nothing;
}

bool wide_gemm_rounds(const Tensor& h, const Linear& w, const Tensor& norm) {
  return h.ne[0] == kMostRowLanes && w.weight.n_rows() == kMostRowLanes && w.weight.ne[0] > kMostRowLanes &&
         normed_for_wide(h, norm);
}

// What is rounded lies where x has its halves, which are more.
WideActivations wide_gemm_rounded(Stream& stream, const FusedMatmulArgs& args, DType dtype,
                                  const WideActivations& x, const Tensor& norm, float eps) {
  const Tensor& h = args.products.out[0];
  const NextNorm next{norm.as<const float4>(), eps,
                      wide_activations_at(scratch_of(stream), h.ne[0], h.n_rows())};
  if (multiply(stream, args, dtype, x, &next) == WideDone::rounded) return next.rounded;
  return halve_for_wide(stream, h, WideRounding::codes, norm, eps);
}

#else

size_t widened_bytes(const MatmulArgs&) {
  return 0;
}
bool has_wide_kernels(int) {
  return false;
}
bool wide_gemm_serves(Stream&, DType, const Tensor&) {
  return false;
}
bool wide_gemm(Stream&, const FusedMatmulArgs&, DType, const WideActivations&) {
  return false;
}
bool wide_gemm_rounds(const Tensor&, const Linear&, const Tensor&) {
  return false;
}
WideActivations wide_gemm_rounded(Stream&, const FusedMatmulArgs&, DType, const WideActivations& x,
                                  const Tensor&, float) {
  return x;
}

#endif

}  // namespace parlance::cuda
