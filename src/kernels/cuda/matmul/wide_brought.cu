// Many tokens times f16 weights of long rows, by tiles of 256 tokens: what a tensor core reads from shared
// memory for each product, and what is written there, is the least then. One block has a multiprocessor; a
// warpgroup of it brings steps into a ring, and two multiply them.
#include "kernels/cuda/matmul/wide_brought.h"

#include "kernels/cuda/matmul/wide_rows.cuh"
#include "kernels/cuda/matmul/wide_tile.cuh"

namespace parlance::cuda {

#if PARLANCE_HAS_WARPGROUPS

namespace {

using namespace wide_tile;

constexpr int kTokens = kMostTileTokens;
constexpr int kBringers = kWarpgroupThreads, kBlockThreads = kThreads + kBringers;
constexpr int kFewRegisters = 72, kManyRegisters = 216;  // of who brings steps, and of who multiplies them
static_assert(kThreads * kManyRegisters + kBringers * kFewRegisters <= 65536);
constexpr int kStages = 4, kStageBytes = kTokensBytes<kTokens> + kTileBytes;
constexpr size_t kSharedBytes = kTileAlignment + kStages * kStageBytes;
static_assert(TileRoom<kTokens, kTileRows>::kBytes <= kStages * kStageBytes);

// Block (tile of tokens, tile of rows, part). Tiles of tokens that share weights run side by side.
__global__ void __launch_bounds__(kBlockThreads, 1)
    multiply_brought(const __grid_constant__ Products p, const WideActivations x, const Parts parts,
                     const Split split, MatmulEnd matmul_end, bool is_made_before) {
  extern __shared__ uint8_t dynamic[];
  __shared__ Arrivals there[kStages], free[kStages];
  if (threadIdx.x == 0) {
    for (Arrivals& of : there) of.init(1 + kBringers);  // tokens, and everybody's pieces of rows
    for (Arrivals& of : free) of.init(kThreads / 32);
  }
  __syncthreads();
  let_next_start();
  uint8_t* const shared = first_tile(dynamic);
  const Place place(p, parts, kTokens);
  const int n_steps = place.end - place.begin;
  const auto stage = [&](int step) { return shared + step % kStages * kStageBytes; };
  const auto tile = [&](int step) { return stage(step) + kTokensBytes<kTokens>; };

  if (threadIdx.x >= kThreads) {
    give_registers<kFewRegisters>();
    const int thread = static_cast<int>(threadIdx.x) - kThreads;
    const PlainRows<kBringers> rows(p, place, thread);
    const auto bring_rows = [&](int step) {
      rows.copy(tile(step), place.begin + step);
      there[step % kStages].arrive_behind_copies();
    };
    const auto bring_tokens = [&](int step) {
      if (thread == 0)
        copy_tokens<kTokens>(stage(step), there[step % kStages], x, place.first_token, place.begin + step);
    };
    if (is_made_before) wait_for_previous();
    const int n_first = min(n_steps, kStages);
    for (int step = 0; step < n_first; ++step) bring_rows(step);
    wait_for_previous();
    for (int step = 0; step < n_first; ++step) bring_tokens(step);
    for (int step = kStages; step < n_steps; ++step) {
      free[step % kStages].wait(step / kStages - 1);
      bring_tokens(step);
      bring_rows(step);
    }
    return;
  }
  take_registers<kManyRegisters>();
  wait_for_previous();
  const bool tells = threadIdx.x % 32 == 0;
  float sums[kTokens / 2] = {};
  for (int step = 0; step < n_steps; ++step) {
    there[step % kStages].wait(step / kStages);
    show_to_tensor_cores();
    start_step(sums, tile(step), stage(step));
    wait_for_products<1>();
    if (tells && step > 0) free[(step - 1) % kStages].arrive();
  }
  wait_for_products<0>();
  pin_sums(sums);
  end_tile<kTokens>(p, x, place, matmul_end, parts, split, sums, shared);
}

}  // namespace

size_t wide_brought_shared() {
  return kSharedBytes;
}

void wide_brought(Stream& stream, const Products& products, const WideActivations& x, const Parts& parts,
                  const Split& split, MatmulEnd end, bool is_made_before) {
  const int n_token_tiles = div_up(products.n_tokens, kTokens);
  launch(stream, multiply_brought, shape_of_tiles<kTokens>(products, parts, kBlockThreads, kSharedBytes),
         products, x, parts, split, end, is_made_before);
  launch_add_parts<OfTile<kTokens>>(stream, products, split, parts.n, n_token_tiles, end);
}

#endif

}  // namespace parlance::cuda
