// attention for many tokens on tensor cores: a tile of 64 rows (heads of a group, of consecutive tokens)
// walks over its keys, the next block of keys and values on its way to shared memory while this one is worked
// on.
#include "kernels/cuda/attention/warp_rows.cuh"
#include "kernels/cuda/kv_formats.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kKeys = 64;  // of a block
constexpr int kWarps = kPrefillRows / 16;
constexpr int kThreads = 32 * kWarps;

template <class Half, int kHeadDim>
__global__ void __launch_bounds__(kThreads) prefill(const __grid_constant__ Params p) {
  extern __shared__ __align__(16) std::byte dynamic[];
  auto* const blocks = reinterpret_cast<Block<Half, kHeadDim, kKeys>*>(dynamic);  // two
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

  for (int token = place.tile * p.tiling.tokens; token < tile_end;) {
    const TokenRun run(p, token, tile_end);
    token = run.last;
    const int n_segments = run.n_segments();
    const SegmentRange range(p, run, place.split);
    if (!run.is_served || range.first >= range.last) continue;
    const bool is_shared = is_split(p, run);
    const Walk walk(p, p.seq[run.first], head_kv);
    const int n_rows = (run.last - run.first) * n_heads;
    const auto token_of = [&](int row) { return run.first + row / n_heads; };
    const auto head_of = [&](int row) { return first_head + row % n_heads; };

    WarpRows<Half, kHeadDim, kKeys> rows;
    float largest_so_far[2], sum_so_far[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + 8 * half;
      const bool is_present = row < n_rows;
      const int64_t index = is_present ? static_cast<int64_t>(token_of(row)) * p.n_head + head_of(row) : 0;
      rows.start(p, half, index, is_present ? p.pos[token_of(row)] + 1 : 0, is_present);
      largest_so_far[half] = kLowest;
      sum_so_far[half] = 0;
    }

    for (int segment = range.first; segment < range.last; ++segment) {
      const int segment_first = segment * run.segment_keys;
      const int segment_last = min(run.n_keys, segment_first + run.segment_keys);
      rows.start_segment();
      blocks[0].template load<kThreads>(p, walk, segment_first, segment_last, static_cast<int>(threadIdx.x));
      end_copy_group();
      int stage = 0;
      for (int first = segment_first; first < segment_last; first += kKeys, stage ^= 1) {
        if (first + kKeys < segment_last)
          blocks[stage ^ 1].template load<kThreads>(p, walk, first + kKeys, segment_last,
                                                    static_cast<int>(threadIdx.x));
        end_copy_group();
        wait_for_copies<1>();
        __syncthreads();
        rows.add(blocks[stage], first, segment_last);
        __syncthreads();
      }

#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + 8 * half;
        float sum = rows.sum[half];
        for (int mask = 1; mask < 4; mask *= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
        if (row >= n_rows) continue;
        const int in_row = 2 * (threadIdx.x % 4);
        if (is_shared) {
          const int64_t index = partial_row(p, token_of(row), head_of(row), segment);
          float* out = p.partials.out + index * kHeadDim + in_row;
#pragma unroll
          for (int i = 0; i < kHeadDim / 8; ++i) {
            out[8 * i] = rows.out[i][2 * half];
            out[8 * i + 1] = rows.out[i][2 * half + 1];
          }
          if (in_row == 0) p.partials.stats[index] = make_float2(rows.largest[half], sum);
          continue;
        }
        // What there is so far waits where the result goes.
        const bool is_first = segment == 0, is_last = segment + 1 == n_segments;
        const Fold fold(largest_so_far[half], rows.largest[half]);
        largest_so_far[half] = fold.largest;
        sum_so_far[half] = fold(sum_so_far[half], sum);
        float* out =
            p.out + (static_cast<int64_t>(token_of(row)) * p.n_head + head_of(row)) * kHeadDim + in_row;
#pragma unroll
        for (int i = 0; i < kHeadDim / 8; ++i) {
#pragma unroll
          for (int j = 0; j < 2; ++j) {
            const float value = fold(is_first ? 0.0f : out[8 * i + j], rows.out[i][2 * half + j]);
            out[8 * i + j] = is_last ? finish(value, sum_so_far[half]) : value;
          }
        }
      }
    }
  }
}

template <class Half, int kHeadDim>
void launch_prefill(Stream& stream, const Params& params, const AttentionArgs& args) {
  const dim3 grid(blocks_of_tiles(params), static_cast<unsigned>(args.kv.n_head_kv * params.tiling.parts));
  launch(stream, prefill<Half, kHeadDim>,
         {.grid = grid, .block = dim3(kThreads), .shared_bytes = 2 * sizeof(Block<Half, kHeadDim, kKeys>)},
         params);
}

}  // namespace

bool prefill_serves(const AttentionArgs& args) {
  const KvFormat format = args.kv.k.format;
  return format == args.kv.v.format && (format == KvFormat::f16 || format == KvFormat::bf16) &&
         has_wide_rows(args.kv);
}

void run_prefill(Stream& stream, const Params& params, const AttentionArgs& args) {
  const bool is_f16 = args.kv.k.format == KvFormat::f16;
  if (args.kv.head_dim_k == 64) {
    (is_f16 ? launch_prefill<__half, 64> : launch_prefill<__nv_bfloat16, 64>)(stream, params, args);
  } else {
    (is_f16 ? launch_prefill<__half, 128> : launch_prefill<__nv_bfloat16, 128>)(stream, params, args);
  }
}

}  // namespace parlance::cuda::attention
