// attention for drafts on tensor cores: a tile of up to 64 rows (heads of a group, of a draft's tokens) walks
// over some segments of its keys, or all of them, a warp for each sixteen rows; keys and values are read once
// for all. The sums are those of answers (tensor_worker.cuh), where warps have a quarter of a segment each:
// here every warp has one quarter after the other.
#pragma once

#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/unpack.cuh"

namespace parlance::cuda::attention {

inline constexpr int kDraftStepKeys = 16;                   // that are worked on at once, as of answers
inline constexpr int kDraftBlockKeys = 2 * kDraftStepKeys;  // that are copied at once
inline constexpr int kDraftStages = 4;

constexpr int draft_threads(int n_rows) {
  return 32 * n_rows / 16;
}

template <template <class, int, int, int, int> class Source, class Half, int kHeadDim, int kRows>
using DraftBlocks = Source<Half, kHeadDim, kDraftBlockKeys, draft_threads(kRows), kDraftStages>;

// Sums of a warp's rows, of which a lane has two: parts of a segment as they follow each other.
template <int kHeadDim>
struct SumsSoFar {
  float largest[2], sum[2];
  float out[kHeadDim / 8][4];

  __device__ void start() {
#pragma unroll
    for (int half = 0; half < 2; ++half) largest[half] = kLowest, sum[half] = 0;
#pragma unroll
    for (int i = 0; i < kHeadDim / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) out[i][j] = 0;
    }
  }

  template <class Rows>
  __device__ void add(const Rows& rows) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float of_rows = rows.sum[half];
      for (int mask = 1; mask < 4; mask *= 2) of_rows += __shfl_xor_sync(0xffffffff, of_rows, mask);
      const Fold fold(largest[half], rows.largest[half]);
      largest[half] = fold.largest;
      sum[half] = fold(sum[half], of_rows);
#pragma unroll
      for (int i = 0; i < kHeadDim / 8; ++i) {
#pragma unroll
        for (int j = 2 * half; j < 2 * half + 2; ++j) out[i][j] = fold(out[i][j], rows.out[i][j]);
      }
    }
  }

  // Adds what no keys have yielded.
  __device__ void add_nothing() {
#pragma unroll
    for (int i = 0; i < kHeadDim / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) out[i][j] = __fadd_rn(out[i][j], 0.0f);
    }
  }
};

template <template <class, int, int, int, int> class Source, class Half, int kHeadDim, int kRows>
__global__ void __launch_bounds__(draft_threads(kRows), 128 / kRows)
    attend_to_draft(const __grid_constant__ Params p) {
  using Blocks = DraftBlocks<Source, Half, kHeadDim, kRows>;
  extern __shared__ __align__(16) std::byte dynamic[];
  auto& shared = *reinterpret_cast<typename Blocks::Shared*>(dynamic);
  Blocks source(p, shared, dynamic + sizeof shared);
  const auto thread = static_cast<int>(threadIdx.x);
  let_next_start();
  const int head_kv = blockIdx.y / p.tiling.parts;
  const int in_group = blockIdx.y % p.tiling.parts * p.tiling.heads;
  const int n_heads = min(p.tiling.heads, p.group - in_group);
  const int first_head = head_kv * p.group + in_group;
  const BlockPlace place(p);
  const int tile_end = min(p.n_tokens, (place.tile + 1) * p.tiling.tokens);
  const int first_row = thread / 32 * 16 + thread % 32 / 4, in_row = 2 * (thread % 4);
  TokenRun run(p, place.tile * p.tiling.tokens,
               tile_end);  // sequences and positions are not what kernels write
  wait_for_previous();

  for (;; run = TokenRun(p, run.last, tile_end)) {
    const SegmentRange range(p, run, place.split);
    if (run.is_served && range.first < range.last) {
      const bool is_shared = is_split(p, run);
      const Walk walk(p, p.seq[run.first], head_kv);
      const BlockRows block_rows{run.first, run.last - run.first, first_head, n_heads};
      const int begin = range.first * run.segment_keys;
      const int end = min(run.n_keys, range.last * run.segment_keys);
      const int quarter_keys = run.segment_keys / kDecodeWarps;
      const auto copy = [&](int stage, int first) {
        if (first < end) source.copy(p, walk, stage, first, end, thread);
        end_copy_group();
      };
#pragma unroll
      for (int i = 0; i < kDraftStages - 1; ++i) copy(i, begin + i * kDraftBlockKeys);

      using Rows = WarpRows<Half, kHeadDim, kDraftStepKeys>;
      Rows rows;
      SumsSoFar<kHeadDim> segment_sums;
      float largest_so_far[2], sum_so_far[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + 8 * half;
        const bool exists = block_rows.exists(row);
        const int token = exists ? block_rows.token(row) : 0, head = exists ? block_rows.head(row) : 0;
        rows.start(p.q + (static_cast<int64_t>(token) * p.n_head + head) * kHeadDim, p.scale, half,
                   exists ? visible_keys(p, token) : 0, exists);
        largest_so_far[half] = kLowest;
        sum_so_far[half] = 0;
      }
      rows.start_segment();
      segment_sums.start();

      const auto leave_segment = [&](int segment) {
        const bool is_first = segment == 0, is_last = segment + 1 == run.n_segments();
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = first_row + 8 * half;
          if (!block_rows.exists(row)) continue;
          const int token = block_rows.token(row), head = block_rows.head(row);
          const float largest = segment_sums.largest[half], sum = segment_sums.sum[half];
          if (is_shared) {
            const int64_t at = partial_row(p, token, head, segment);
            float* const out = p.partials.out + at * kHeadDim + in_row;
#pragma unroll
            for (int i = 0; i < kHeadDim / 8; ++i)
              *reinterpret_cast<float2*>(out + 8 * i) =
                  make_float2(segment_sums.out[i][2 * half], segment_sums.out[i][2 * half + 1]);
            if (in_row == 0) p.partials.stats[at] = make_float2(largest, sum);
            continue;
          }
          // What there is so far waits where the result goes.
          const Fold fold(largest_so_far[half], largest);
          largest_so_far[half] = fold.largest;
          sum_so_far[half] = fold(sum_so_far[half], sum);
          const int64_t index = static_cast<int64_t>(token) * p.n_head + head;
          if (is_last && p.stats && in_row == 0) p.stats[index] = make_float2(fold.largest, sum_so_far[half]);
          float* const out = p.out + index * kHeadDim + in_row;
#pragma unroll
          for (int i = 0; i < kHeadDim / 8; ++i) {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
              const float value = fold(is_first ? 0.0f : out[8 * i + j], segment_sums.out[i][2 * half + j]);
              out[8 * i + j] = is_last && !p.stats ? finish(value, sum_so_far[half]) : value;
            }
          }
        }
      };

      int stage = 0;
      for (int first = begin; first < end; first += kDraftBlockKeys) {
        wait_for_copies<kDraftStages - 2>();
        __syncthreads();
        copy((stage + kDraftStages - 1) % kDraftStages, first + (kDraftStages - 1) * kDraftBlockKeys);
#pragma unroll 1
        for (int at = 0; at < kDraftBlockKeys && first + at < end; at += kDraftStepKeys) {
          const int key = first + at, next = key + kDraftStepKeys;
          rows.add(source.block(stage), at, key, end);
          if (next % quarter_keys != 0 && next < end) continue;
          segment_sums.add(rows);
          rows.start_segment();
          if (next % run.segment_keys != 0 && next < end) continue;
          const int segment = key / run.segment_keys;
          if (next <= (segment + 1) * run.segment_keys - quarter_keys) segment_sums.add_nothing();
          leave_segment(segment);
          segment_sums.start();
        }
        stage = (stage + 1) % kDraftStages;
      }
    }
    if (run.last >= tile_end) return;
    __syncthreads();  // stages are copied to again
  }
}

// Calls visit(rows of a tile) for so many.
template <class Visit>
auto with_draft_rows(int n_rows, const Visit& visit) {
  if (n_rows <= 16) return visit(std::integral_constant<int, 16>());
  if (n_rows <= 32) return visit(std::integral_constant<int, 32>());
  return visit(std::integral_constant<int, kMostDraftRows>());
}

template <template <class, int, int, int, int> class Source, class Half, int kHeadDim>
size_t shared_bytes_of_drafts() {
  return sizeof(typename DraftBlocks<Source, Half, kHeadDim, kMostDraftRows>::Shared);
}

template <template <class, int, int, int, int> class Source, class Half, int kHeadDim>
void launch_drafts(Stream& stream, const Params& params, int64_t n_head_kv) {
  const dim3 grid(static_cast<unsigned>(blocks_of_tiles(params)),
                  static_cast<unsigned>(n_head_kv * params.tiling.parts));
  with_draft_rows(params.tiling.heads * params.tiling.tokens, [&](auto rows) {
    launch(stream, attend_to_draft<Source, Half, kHeadDim, decltype(rows)::value>,
           {.grid = grid,
            .block = dim3(static_cast<unsigned>(draft_threads(rows))),
            .shared_bytes = shared_bytes_of_drafts<Source, Half, kHeadDim>()},
           params);
  });
}

}  // namespace parlance::cuda::attention
