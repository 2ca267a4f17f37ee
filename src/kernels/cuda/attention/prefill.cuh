// attention for many tokens on tensor cores: a tile of 64 rows (heads of a group, of consecutive tokens)
// walks over its keys, the next block of keys and values on its way to shared memory while this one is worked
// on.
#pragma once

#include "kernels/cuda/attention/prefill_rows.cuh"
#include "kernels/cuda/attention/unpack.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

inline constexpr int kPrefillKeys = 64;  // of a block
inline constexpr int kPrefillThreads = 32 * kPrefillRows / 16;
inline constexpr int kPrefillStages = 2;

template <template <class, int, int, int, int> class Source, class Half, int kHeadDim>
struct PrefillShared {
  using Blocks = Source<Half, kHeadDim, kPrefillKeys, kPrefillThreads, kPrefillStages>;
  struct FloatShared {
    typename Blocks::Shared source;
  };
  struct PackedShared : FloatShared {
    alignas(16) Levels levels;
  };
  // Behind it lie the stages of bytes that are to be unpacked.
  using Shared = std::conditional_t<Blocks::kUnpacks, PackedShared, FloatShared>;
};

template <template <class, int, int, int, int> class Source, class Half, int kHeadDim>
__global__ void __launch_bounds__(kPrefillThreads) prefill(const __grid_constant__ Params p) {
  using Types = PrefillShared<Source, Half, kHeadDim>;
  constexpr bool kUnpacks = Types::Blocks::kUnpacks;
  constexpr int kKeys = kPrefillKeys;
  extern __shared__ __align__(16) std::byte dynamic[];
  auto& shared = *reinterpret_cast<typename Types::Shared*>(dynamic);
  typename Types::Blocks source(p, shared.source, dynamic + sizeof shared);
  const auto thread = static_cast<int>(threadIdx.x);
  let_next_start();
  wait_for_previous();

  const int head_kv = blockIdx.y / p.tiling.parts;
  const int in_group = blockIdx.y % p.tiling.parts * p.tiling.heads;
  const int n_heads = min(p.tiling.heads, p.group - in_group);
  const int first_head = head_kv * p.group + in_group;
  const BlockPlace place(p);
  const int tile_end = min(p.n_tokens, (place.tile + 1) * p.tiling.tokens);
  if (!has_long_run(p, place.tile * p.tiling.tokens, tile_end)) return;
  const int first_row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;

  [[maybe_unused]] bool is_filled = false;  // what codes stand for
  for (int token = place.tile * p.tiling.tokens; token < tile_end;) {
    const TokenRun run(p, token, tile_end);
    token = run.last;
    const SegmentRange range(p, run, place.split);
    if (!run.is_served || range.first >= range.last) continue;
    if constexpr (kUnpacks) {
      if (!is_filled) shared.levels.fill(p);
      is_filled = true;
    }
    const Walk walk(p, p.seq[run.first], head_kv);
    const int n_rows = (run.last - run.first) * n_heads;
    const auto token_of = [&](int row) { return run.first + row / n_heads; };
    const auto head_of = [&](int row) { return first_head + row % n_heads; };

    WarpRows<Half, kHeadDim, kKeys> rows;
    RowsOfSegments<kHeadDim> so_far;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + 8 * half;
      const bool is_present = row < n_rows;
      const int64_t index = is_present ? static_cast<int64_t>(token_of(row)) * p.n_head + head_of(row) : 0;
      rows.start(p.q + index * kHeadDim, p.scale, half, is_present ? visible_keys(p, token_of(row)) : 0,
                 is_present);
    }

    for (int segment = range.first; segment < range.last; ++segment) {
      const int segment_first = segment * run.segment_keys;
      const int segment_last = min(run.n_keys, segment_first + run.segment_keys);
      rows.start_segment();
      source.copy(p, walk, 0, segment_first, segment_last, thread);
      end_copy_group();
      int stage = 0;
      for (int first = segment_first; first < segment_last; first += kKeys, stage ^= 1) {
        if (first + kKeys < segment_last)
          source.copy(p, walk, stage ^ 1, first + kKeys, segment_last, thread);
        end_copy_group();
        wait_for_copies<1>();
        __syncthreads();
        if constexpr (kUnpacks) {
          source.unpack(p, shared.levels, stage, first, segment_last, thread);
          __syncthreads();
        }
        rows.add(source.block(stage), first, segment_last);
        __syncthreads();
      }

#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + 8 * half;
        so_far.add(p, half, row < n_rows, token_of(row), head_of(row), run, segment, rows.largest[half],
                   rows.sum[half], rows.out);
      }
    }
  }
}

template <template <class, int, int, int, int> class Source, class Half, int kHeadDim>
size_t shared_bytes_of_prefill(size_t packed_row_bytes) {
  return sizeof(typename PrefillShared<Source, Half, kHeadDim>::Shared) +
         packed_row_bytes * kPrefillStages * kPrefillKeys;
}

// `packed_row_bytes`: of a key and a value that are unpacked, or 0.
template <template <class, int, int, int, int> class Source, class Half, int kHeadDim>
void launch_prefill(Stream& stream, const Params& params, int64_t n_head_kv, size_t packed_row_bytes) {
  const dim3 grid(static_cast<unsigned>(blocks_of_tiles(params)),
                  static_cast<unsigned>(n_head_kv * params.tiling.parts));
  launch(stream, prefill<Source, Half, kHeadDim>,
         {.grid = grid,
          .block = dim3(kPrefillThreads),
          .shared_bytes = shared_bytes_of_prefill<Source, Half, kHeadDim>(packed_row_bytes)},
         params);
}

}  // namespace parlance::cuda::attention
