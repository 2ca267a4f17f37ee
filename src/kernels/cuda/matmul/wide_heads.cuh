// The end of tiles whose rows are a head of q, k or v, which goes on to its attention normed, turned and
// rounded.
#pragma once

#include "kernels/cuda/attention/rounded_heads.cuh"
#include "kernels/cuda/matmul/wide_tile.cuh"

namespace parlance::cuda::wide_tile {

// Bytes of shared memory: the tile's, and behind it what each warp's rows are turned by.
template <int kTokens, int kOfThreads>
inline constexpr size_t kHeadsRoomBytes = TileRoom<kTokens, attention::kRoundedDim>::kBytes +
                                          kOfThreads / 32 * attention::HeadRows::kFloatsOfTwo * sizeof(float);

// Row tiles are counted as heads are: through q, k and v.
template <int kTokens, int kRows, int kOfThreads>
__device__ void end_in_heads(const Products& p, const WideActivations& x, const Place& place,
                             const attention::RoundedHeads& heads, float (&sums)[kTokens / 2],
                             uint8_t* shared) {
  using Rows = attention::HeadRows;
  using Room = TileRoom<kTokens, kRows>;
  constexpr int kWarps = kOfThreads / 32, kOfWarp = 2 * Rows::kRows, kAtOnce = kWarps * kOfWarp;
  static_assert(kRows == attention::kRoundedDim && Room::kStride == Rows::kBetween);
  static_assert(kTokens % kOfWarp == 0 && kTokens <= kOfThreads);
  __shared__ int rows[kTokens + 1];  // where tokens go
  const int thread = threadIdx.x, warp = thread / 32;
  const int n_tokens = min(kTokens, p.n_tokens - place.first_token);
  for (int t = thread; t <= n_tokens; t += kOfThreads)
    rows[t] = attention::row_of(heads, place.first_token + t);
  const Rows of_head(heads, static_cast<int>(blockIdx.y));
  float* const angles = reinterpret_cast<float*>(shared + Room::kBytes) + warp * Rows::kFloatsOfTwo;
  // A warp has every second one of its tokens in turn, from the first or the second on.
  const auto fetch = [&](int first, int odd) {
    of_head.fetch_angles(angles + odd * Rows::kBetween, place.first_token + n_tokens,
                         [&](int i) { return place.first_token + first + odd + 2 * i; });
  };
  int first = warp * kOfWarp;
  wait_for_tile<kOfThreads>();  // nobody multiplies what lies there
  fetch(first, 0);
  scale_tile<kTokens>(reinterpret_cast<typename OfTile<kTokens>::Sums&>(sums), x, place);
  const Room room = to_room<kTokens, kRows, kOfThreads>(p, place, sums, shared);
#pragma unroll 1
  for (int odd = 0; first < n_tokens; first += odd * kAtOnce, odd = 1 - odd) {
    fetch(first + odd * kAtOnce, 1 - odd);
    float* const own = &room.at(first + odd, 0);
    of_head.round<1>(own, angles + odd * Rows::kBetween);
    of_head.store(own, [&](int i) {
      const int t = first + odd + 2 * i;
      return t < n_tokens ? rows[t] : -1;
    });
  }
  if (of_head.is_q()) return;
  // Behind segments' last tokens.
  const int n_between = thread < n_tokens ? rows[thread + 1] - rows[thread] - 1 : 0;
  for (unsigned left = __ballot_sync(kAllLanes, n_between > 0); left != 0; left &= left - 1) {
    const int of = __ffs(static_cast<int>(left)) - 1, n = __shfl_sync(kAllLanes, n_between, of);
#pragma unroll 1
    for (int i = 0; i < n; ++i) of_head.store_zeros(rows[warp * 32 + of] + 1 + i);
  }
}

}  // namespace parlance::cuda::wide_tile
