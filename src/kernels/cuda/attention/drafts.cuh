// attention for drafts on tensor cores: a tile of up to 64 rows (heads of a group, of a draft's tokens) walks
// over some segments of its keys, or all of them. Two warps share sixteen rows and take turns at the quarters
// of a segment; the warps that have the same quarter share the keys and values that they have on their way to
// shared memory. The sums of a quarter join those of the ones before it, from warp to warp: they are those of
// answers (tensor_worker.cuh).
#pragma once

#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/keys_ahead.cuh"

namespace parlance::cuda::attention {

inline constexpr int kDraftSides = 2;  // that take turns at quarters

template <class Half, int kHeadDim, int kTileRows>
struct DraftTile {
  static constexpr int kGroups = kTileRows / 16;
  static constexpr int kSideThreads = 32 * kGroups, kThreads = kDraftSides * kSideThreads;
  static constexpr int kBlocksAtOnce = kMostDraftRows / kTileRows;  // on a multiprocessor
  static constexpr int kBlockKeys =
      kBlocksAtOnce == 1 ? 2 * kStepKeys : kStepKeys;  // that are copied at once
  static constexpr int kStages = 4;

  struct Shared {
    Block<Half, kHeadDim, kBlockKeys> blocks[kDraftSides][kStages];
    float4 sums[kGroups][kHeadDim / 8][32];  // of a segment's quarters so far, as a warp's lanes have them
    float4 stats[kGroups][32];               // the largest scores of a lane's two rows, the sums of weights
    float4 stats_so_far[kGroups][32];        // of all segments so far
    int turn[kGroups];                       // quarters that have left their sums
  };
};

// What a lane has of two rows.
struct RowStats {
  float largest[2], sum[2];

  __device__ RowStats() : largest{kLowest, kLowest}, sum{0, 0} {}
  __device__ explicit RowStats(const float4& x) : largest{x.x, x.y}, sum{x.z, x.w} {}
  __device__ float4 packed() const { return make_float4(largest[0], largest[1], sum[0], sum[1]); }
};

template <class Half, int kHeadDim, int kTileRows>
class DraftWorker {
  using Tile = DraftTile<Half, kHeadDim, kTileRows>;
  static constexpr int kBlockKeys = Tile::kBlockKeys, kStages = Tile::kStages;

 public:
  __device__ DraftWorker(const Params& p, typename Tile::Shared& shared, const TokenRun& run,
                         const SegmentRange& range, const BlockRows& rows, int head_kv)
      : p_(p),
        shared_(shared),
        run_(run),
        walk_(p, p.seq[run.first], head_kv),
        side_(static_cast<int>(threadIdx.x) / Tile::kSideThreads),
        group_(static_cast<int>(threadIdx.x) % Tile::kSideThreads / 32),
        is_shared_(is_split(p, run)),
        quarter_keys_(run.segment_keys / kDecodeWarps),
        first_quarter_(range.first * kDecodeWarps),
        end_quarter_(min(range.last * kDecodeWarps, (run.n_keys + quarter_keys_ - 1) / quarter_keys_)),
        quarter_ahead_(first_quarter_ + side_),
        key_ahead_(quarter_ahead_ * quarter_keys_),
        to_copy_(thread_of_side()) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = group_ * 16 + half * 8 + lane() / 4;
      exists_[half] = rows.exists(row);
      token_[half] = exists_[half] ? rows.token(row) : 0;
      head_[half] = exists_[half] ? rows.head(row) : 0;
      visible_[half] = exists_[half] ? visible_keys(p, token_[half]) : 0;
    }
  }

  // By the whole block, with a barrier in it.
  __device__ void run() {
    if (threadIdx.x < Tile::kGroups) shared_.turn[threadIdx.x] = 0;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      sums_.start(p_.q + index_of(half) * kHeadDim, p_.scale, half, visible_[half], exists_[half]);
#pragma unroll 1  // code that is not there takes longer to come than to run
    for (int stage = 0; stage < kStages - 1; ++stage) copy_next(stage);
    __syncthreads();
    int stage = 0;
    for (int quarter = first_quarter_ + side_; quarter < end_quarter_; quarter += kDraftSides) {
      sums_.start_segment();
      const int begin = quarter * quarter_keys_, end = end_of(quarter);
      for (int first = begin; first < end; first += kBlockKeys) {
        wait_for_copies<kStages - 2>();
        wait_for_side();
        copy_next(stage == 0 ? kStages - 1 : stage - 1);
        // Keys past the end add nothing.
#pragma unroll
        for (int at = 0; at < kBlockKeys; at += kStepKeys)
          sums_.add(shared_.blocks[side_][stage], at, first + at, end);
        stage = stage + 1 == kStages ? 0 : stage + 1;
      }
      join(quarter);
    }
  }

 private:
  __device__ static int lane() {
    return static_cast<int>(threadIdx.x) % 32;
  }
  __device__ static int thread_of_side() {
    return static_cast<int>(threadIdx.x) % Tile::kSideThreads;
  }
  // Of a row of this lane, among all tokens' heads.
  __device__ int64_t index_of(int half) const {
    return static_cast<int64_t>(token_[half]) * p_.n_head + head_[half];
  }
  __device__ int end_of(int quarter) const {
    return min((quarter + 1) * quarter_keys_, run_.n_keys);
  }

  // The warps that have the same quarters.
  __device__ void wait_for_side() const {
    if constexpr (Tile::kGroups == 1) {
      __syncwarp();
    } else {
      asm volatile("bar.sync %0, %1;" ::"r"(1 + side_), "r"(Tile::kSideThreads) : "memory");
    }
  }

  __device__ void copy_next(int stage) {
    if (quarter_ahead_ < end_quarter_) {
      const int end = end_of(quarter_ahead_);
      copy_block(shared_.blocks[side_][stage], end);
      key_ahead_ += kBlockKeys;
      if (key_ahead_ >= end) {
        quarter_ahead_ += kDraftSides;
        key_ahead_ = quarter_ahead_ * quarter_keys_;
      }
    }
    end_copy_group();
  }

  // The next keys and values, up to `end`.
  __device__ void copy_block(Block<Half, kHeadDim, kBlockKeys>& block, int end) {
    if (p_.page_tokens % kStepKeys != 0)
      return block.template load<Tile::kSideThreads>(p_, walk_, key_ahead_, end, thread_of_side());
#pragma unroll
    for (int at = 0; at < kBlockKeys; at += kStepKeys)
      to_copy_.copy(p_, walk_, block, at, key_ahead_ + at, end,
                    key_ahead_ + at == quarter_ahead_ * quarter_keys_);
  }

  // The sums of a segment go from quarter to quarter; the last one leaves them.
  __device__ void join(int quarter) {
    const int turn = quarter - first_quarter_, in_segment = quarter % kDecodeWarps;
    volatile int& of_group = shared_.turn[group_];
    while (of_group != turn) __nanosleep(32);
    __threadfence_block();  // what is read from here on is no older than the turn
    __syncwarp();
    const bool is_first = in_segment == 0,
               is_last = in_segment == kDecodeWarps - 1 || quarter + 1 == end_quarter_;
    RowStats stats = is_first ? RowStats() : RowStats(shared_.stats[group_][lane()]);
    float4(&of_lanes)[kHeadDim / 8][32] = shared_.sums[group_];
    float4 before[kHeadDim / 8];
#pragma unroll
    for (int i = 0; i < kHeadDim / 8; ++i) before[i] = is_first ? float4{} : of_lanes[i][lane()];
    const Fold folds[2] = {{stats.largest[0], sums_.largest[0]}, {stats.largest[1], sums_.largest[1]}};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = sums_.sum[half];
      for (int mask = 1; mask < 4; mask *= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
      stats.largest[half] = folds[half].largest;
      stats.sum[half] = folds[half](stats.sum[half], sum);
    }
#pragma unroll
    for (int i = 0; i < kHeadDim / 8; ++i) {
      float(&out)[4] = sums_.out[i];
      out[0] = folds[0](before[i].x, out[0]), out[1] = folds[0](before[i].y, out[1]);
      out[2] = folds[1](before[i].z, out[2]), out[3] = folds[1](before[i].w, out[3]);
      if (!is_last) of_lanes[i][lane()] = make_float4(out[0], out[1], out[2], out[3]);
    }
    if (!is_last) shared_.stats[group_][lane()] = stats.packed();
    const int segment = quarter / kDecodeWarps;
    if (is_last) {
      if (in_segment != kDecodeWarps - 1) add_nothing();
      // The last segment may end with a quarter of the other side's, which goes on from here.
      if (!is_shared_) join_segments(segment, stats);
    }
    __threadfence_block();
    __syncwarp();
    if (lane() == 0) of_group = turn + 1;
    if (is_last && is_shared_) leave(segment, stats);
  }

  // What quarters without keys add.
  __device__ void add_nothing() {
#pragma unroll
    for (int i = 0; i < kHeadDim / 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) sums_.out[i][j] = __fadd_rn(sums_.out[i][j], 0.0f);
    }
  }

  __device__ void leave(int segment, const RowStats& stats) const {
    const int in_row = 2 * (lane() % 4);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (!exists_[half]) continue;
      const int64_t at = partial_row(p_, token_[half], head_[half], segment);
      float* const out = p_.partials.out + at * kHeadDim + in_row;
#pragma unroll
      for (int i = 0; i < kHeadDim / 8; ++i)
        *reinterpret_cast<float2*>(out + 8 * i) =
            make_float2(sums_.out[i][2 * half], sums_.out[i][2 * half + 1]);
      if (in_row == 0) p_.partials.stats[at] = make_float2(stats.largest[half], stats.sum[half]);
    }
  }

  // What there is so far waits where the result goes.
  __device__ void join_segments(int segment, const RowStats& stats) {
    const bool is_first = segment == 0, is_last = segment + 1 == run_.n_segments();
    const int in_row = 2 * (lane() % 4);
    RowStats so_far = is_first ? RowStats() : RowStats(shared_.stats_so_far[group_][lane()]);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (!exists_[half]) continue;
      float* const out = p_.out + index_of(half) * kHeadDim + in_row;
      float2 values[kHeadDim / 8];
#pragma unroll
      for (int i = 0; i < kHeadDim / 8; ++i)
        values[i] = is_first ? float2{} : *reinterpret_cast<const float2*>(out + 8 * i);
      const Fold fold(so_far.largest[half], stats.largest[half]);
      so_far.largest[half] = fold.largest;
      so_far.sum[half] = fold(so_far.sum[half], stats.sum[half]);
      const bool is_finished = is_last && !p_.stats;
#pragma unroll
      for (int i = 0; i < kHeadDim / 8; ++i) {
        const float x = fold(values[i].x, sums_.out[i][2 * half]);
        const float y = fold(values[i].y, sums_.out[i][2 * half + 1]);
        *reinterpret_cast<float2*>(out + 8 * i) =
            is_finished ? make_float2(finish(x, so_far.sum[half]), finish(y, so_far.sum[half]))
                        : make_float2(x, y);
      }
      if (is_last && p_.stats && in_row == 0)
        p_.stats[index_of(half)] = make_float2(fold.largest, so_far.sum[half]);
    }
    shared_.stats_so_far[group_][lane()] = so_far.packed();
  }

  const Params& p_;
  typename Tile::Shared& shared_;
  const TokenRun& run_;
  const Walk walk_;
  const int side_, group_;
  const bool is_shared_;
  const int quarter_keys_, first_quarter_,
      end_quarter_;                // numbered through all segments, those that have keys
  int quarter_ahead_, key_ahead_;  // where copies are
  KeysToCopy<Half, kHeadDim, Tile::kSideThreads> to_copy_;
  bool exists_[2];  // this lane's rows
  int token_[2], head_[2], visible_[2];
  WarpRows<Half, kHeadDim, kStepKeys> sums_;
};

template <class Half, int kHeadDim, int kTileRows>
__global__ void __launch_bounds__(DraftTile<Half, kHeadDim, kTileRows>::kThreads,
                                  DraftTile<Half, kHeadDim, kTileRows>::kBlocksAtOnce)
    attend_to_draft(const __grid_constant__ Params p) {
  using Tile = DraftTile<Half, kHeadDim, kTileRows>;
  extern __shared__ __align__(16) std::byte dynamic[];
  auto& shared = *reinterpret_cast<typename Tile::Shared*>(dynamic);
  let_next_start();
  const int head_kv = blockIdx.y / p.tiling.parts;
  const int in_group = blockIdx.y % p.tiling.parts * p.tiling.heads;
  const int n_heads = min(p.tiling.heads, p.group - in_group);
  const BlockPlace place(p);
  const int tile_end = min(p.n_tokens, (place.tile + 1) * p.tiling.tokens);
  // Sequences and positions are not what kernels write.
  TokenRun run(p, place.tile * p.tiling.tokens, tile_end);
  for (bool has_waited = false;; run = TokenRun(p, run.last, tile_end)) {
    const SegmentRange range(p, run, place.split);
    const BlockRows rows{run.first, run.last - run.first, head_kv * p.group + in_group, n_heads};
    DraftWorker<Half, kHeadDim, kTileRows> worker(p, shared, run, range, rows, head_kv);
    if (!has_waited) wait_for_previous();
    has_waited = true;
    if (run.is_served && range.first < range.last) worker.run();
    if (run.last >= tile_end) return;
    __syncthreads();  // shared memory is written to again
  }
}

// Calls visit(rows of a tile) for so many.
template <class Visit>
auto with_draft_rows(int n_rows, const Visit& visit) {
  if (n_rows <= 16) return visit(std::integral_constant<int, 16>());
  if (n_rows <= 32) return visit(std::integral_constant<int, 32>());
  return visit(std::integral_constant<int, kMostDraftRows>());
}

template <class Half, int kHeadDim>
size_t shared_bytes_of_drafts() {
  return sizeof(typename DraftTile<Half, kHeadDim, kMostDraftRows>::Shared);
}

template <class Half, int kHeadDim>
void launch_drafts(Stream& stream, const Params& params, int64_t n_head_kv) {
  const dim3 grid(static_cast<unsigned>(blocks_of_tiles(params)),
                  static_cast<unsigned>(n_head_kv * params.tiling.parts));
  with_draft_rows(params.tiling.heads * params.tiling.tokens, [&](auto rows) {
    using Tile = DraftTile<Half, kHeadDim, decltype(rows)::value>;
    launch(stream, attend_to_draft<Half, kHeadDim, decltype(rows)::value>,
           {.grid = grid, .block = dim3(Tile::kThreads), .shared_bytes = sizeof(typename Tile::Shared)},
           params);
  });
}

}  // namespace parlance::cuda::attention
