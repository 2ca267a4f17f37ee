// attention for many tokens on the tensor cores of compute capability 9.0, which take keys and values from
// shared memory while threads go on. A tile of 128 rows (heads of a group, of consecutive tokens) is two
// warpgroups', which turn scores into weights by turns with each other and with products of their own: a
// block's scores are on their way while the values of the one before are summed up. Other warpgroups bring
// keys and values.
#include "kernels/cuda/attention/prefill_bringers.cuh"
#include "kernels/cuda/attention/prefill_rows.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

#if PARLANCE_HAS_WARPGROUPS

namespace {

using namespace wide;

template <class Bringer>
constexpr int kThreads = (kGroups + Bringer::kGroupsOfThem) * kWarpgroupThreads;
// Of a thread of rows, where all have as many at first.
template <class Bringer>
constexpr int kRegistersOfRows = (65536 / kThreads<Bringer> / 8 * 8 * (kGroups + Bringer::kGroupsOfThem) -
                                  Bringer::kGroupsOfThem * Bringer::kRegisters) /
                                 kGroups / 8 * 8;

// Visits a tile's runs and their segments that the block has.
template <class Visit>
__device__ void for_each_run(const Params& p, const BlockPlace& place, const Visit& visit) {
  const int tile_end = min(p.n_tokens, (place.tile + 1) * p.tiling.tokens);
  for (int token = place.tile * p.tiling.tokens; token < tile_end;) {
    const TokenRun run(p, token, tile_end);
    token = run.last;
    const SegmentRange range(p, run, place.split);
    if (run.is_served && range.first < range.last) visit(run, range);
  }
}

// ---- A warpgroup's rows ----

class GroupRows {
 public:
  __device__ GroupRows(const Params& p, Shared& shared)
      : p_(p), shared_(shared), group_(static_cast<int>(threadIdx.x) / kWarpgroupThreads) {}

  __device__ void attend(const TokenRun& run, const SegmentRange& range, int first_head, int n_heads) {
    const int n_rows = (run.last - run.first) * n_heads;
    const auto token_of = [&](int row) { return run.first + row / n_heads; };
    const auto head_of = [&](int row) { return first_head + row % n_heads; };
    const auto index_of = [&](int row) {
      return static_cast<int64_t>(token_of(row)) * p_.n_head + head_of(row);
    };
    wait_for_group();  // nobody multiplies the rows before
    round_queries(n_rows, index_of);
    const int first_row = group_ * kWarpgroupRows +
                          static_cast<int>(threadIdx.x) % kWarpgroupThreads / 32 * 16 +
                          static_cast<int>(threadIdx.x) % 32 / 4;
    RowsOfSegments<kHeadDim> so_far;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + 8 * half;
      // What comes of rows that do not exist is nobody's.
      visible_[half] = row < n_rows ? visible_keys(p_, token_of(row)) : run.n_keys;
    }
    for (int i = range.first; i < range.last; ++i) {
      add_segment(Segment(run, i));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = first_row + 8 * half;
        so_far.add(p_, half, row < n_rows, token_of(row), head_of(row), run, i, largest_[half], sum_[half],
                   reinterpret_cast<const float(&)[kHeadDim / 8][4]>(out_));
      }
    }
  }

 private:
  static constexpr int kMmaValues = 16;

  __device__ void wait_for_group() const {
    asm volatile("bar.sync %0, %1;" ::"r"(1 + group_), "r"(kWarpgroupThreads) : "memory");
  }

  // Scaled, as f16.
  template <class Index>
  __device__ void round_queries(int n_rows, const Index& index_of) const {
    constexpr int kPieceValues = kPieceBytes / 2;
    constexpr int kPieces = kHeadDim / kPieceValues;
    for (int i = static_cast<int>(threadIdx.x) % kWarpgroupThreads; i < kWarpgroupRows * kPieces;
         i += kWarpgroupThreads) {
      const int row = group_ * kWarpgroupRows + i / kPieces, piece = i % kPieces;
      __half2 pairs[kPieceValues / 2] = {};
      if (row < n_rows) {
        const auto* const x =
            reinterpret_cast<const float4*>(p_.q + index_of(row) * kHeadDim + piece * kPieceValues);
        const float4 low = x[0], high = x[1];
        pairs[0] = __floats2half2_rn(low.x * p_.scale, low.y * p_.scale);
        pairs[1] = __floats2half2_rn(low.z * p_.scale, low.w * p_.scale);
        pairs[2] = __floats2half2_rn(high.x * p_.scale, high.y * p_.scale);
        pairs[3] = __floats2half2_rn(high.z * p_.scale, high.w * p_.scale);
      }
      *reinterpret_cast<uint4*>(shared_.q[piece / kSlicePieces] + swizzled_place(row, piece % kSlicePieces)) =
          *reinterpret_cast<const uint4*>(pairs);
    }
    show_to_tensor_cores();
    wait_for_group();
  }

  __device__ void add_segment(const Segment& segment) {
#pragma unroll
    for (float& x : out_) x = 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) largest_[half] = kLowest, sum_[half] = 0;
    start_scores();
    end_warpgroup_group();
    wait_for_products<0>();
    pin_sums(scores_);
    release(keys);
    turn_into_weights(segment.first, segment.last);
    round_weights();
    for (int first = segment.first + kKeys; first < segment.last; first += kKeys) {
      start_scores();
      end_warpgroup_group();
      add_values();
      end_warpgroup_group();
      wait_for_products<1>();
      pin_sums(scores_);
      release(keys);
      turn_into_weights(first, segment.last);
      wait_for_products<0>();
      pin_sums(out_);
      release(values);
      if (__any_sync(0xffffffff, keep_[0] != 1 || keep_[1] != 1)) {  // mostly, no row has a larger score
#pragma unroll
        for (int i = 0; i < kHeadDim / 2; ++i) out_[i] *= keep_[i / 2 % 2];
      }
      round_weights();
    }
    add_values();
    end_warpgroup_group();
    wait_for_products<0>();
    pin_sums(out_);
    release(values);
  }

  // The products of the next keys with the group's queries.
  __device__ void start_scores() {
    const Stage& stage = stages_[keys];
    wait_for(keys);
    const uint8_t* const block = shared_.blocks[keys][stage.index()];
    pin_sums(scores_);
    begin_warpgroup_products();
#pragma unroll
    for (int slice = 0; slice < kSlices; ++slice) {
      const uint64_t a = tile_descriptor(shared_.q[slice] + group_ * kWarpgroupRows * kSwizzledRowBytes);
      const uint64_t b = tile_descriptor(block + slice * kSliceBytes);
      constexpr uint64_t kUnits = kMmaValues * 2 / 16;
#pragma unroll
      for (int k = 0; k < kSliceValues / kMmaValues; ++k) {
        if (slice == 0 && k == 0) {
          begin_warpgroup_f16(scores_, a, b);
        } else {
          multiply_warpgroup_f16(scores_, a + k * kUnits, b + k * kUnits);
        }
      }
    }
  }

  // Of the oldest block that is there.
  __device__ void add_values() {
    const Stage& stage = stages_[values];
    wait_for(values);
    const uint64_t b = tile_descriptor_along_k(shared_.blocks[values][stage.index()], kSliceBytes);
    constexpr uint64_t kUnits = kMmaValues * kSwizzledRowBytes / 16;
    begin_warpgroup_products();
#pragma unroll
    for (int k = 0; k < kKeys / kMmaValues; ++k) multiply_warpgroup_f16(out_, weights_[k], b + k * kUnits);
  }

  __device__ void wait_for(Side side) {
    shared_.there[side][stages_[side].index()].wait(stages_[side].phase());
    show_to_tensor_cores();  // what copies have written; who unpacks has shown it
  }
  // The warp has done with a block.
  __device__ void release(Side side) {
    Stage& stage = stages_[side];
    if (threadIdx.x % 32 == 0) shared_.free[side][stage.index()].arrive();
    ++stage.n;
  }

  __device__ void turn_into_weights(int first, int end) {
    const int column = 2 * (static_cast<int>(threadIdx.x) % 4);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int n_keys = min(visible_[half], end) - first;
      if (__any_sync(0xffffffff, n_keys < kKeys)) {
#pragma unroll
        for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
          for (int j = 0; j < 2; ++j)
            if (8 * i + j + column >= n_keys) scores_[4 * i + 2 * half + j] = -INFINITY;
        }
      }
      float of_column[2] = {largest_[half], kLowest};
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) of_column[j] = fmaxf(of_column[j], scores_[4 * i + 2 * half + j]);
      }
      float after = fmaxf(of_column[0], of_column[1]);
      for (int mask = 1; mask < 4; mask *= 2) after = fmaxf(after, __shfl_xor_sync(0xffffffff, after, mask));
      keep_[half] = exp2_flushed(largest_[half] - after);
      largest_[half] = after;
      float sums[2] = {sum_[half] * keep_[half], 0};
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& score = scores_[4 * i + 2 * half + j];
          score = exp2_flushed(score - after);
          sums[j] += score;
        }
      }
      sum_[half] = sums[0] + sums[1];
    }
  }

  // As the tensor cores take them.
  __device__ void round_weights() {
#pragma unroll
    for (int k = 0; k < kKeys / kMmaValues; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const __half2 two = __floats2half2_rn(scores_[8 * k + 2 * i], scores_[8 * k + 2 * i + 1]);
        weights_[k][i] = *reinterpret_cast<const uint32_t*>(&two);
      }
    }
  }

  const Params& p_;
  Shared& shared_;
  const int group_;
  Stage stages_[2];
  int visible_[2];
  float largest_[2], sum_[2], keep_[2];  // sum_: this lane's part
  float scores_[kKeys / 2], out_[kHeadDim / 2];
  uint32_t weights_[kKeys / kMmaValues][4];
};

template <class Bringer>
__global__ void __launch_bounds__(kThreads<Bringer>, 1) prefill_wide(const __grid_constant__ Params p) {
  extern __shared__ uint8_t dynamic[];
  auto& shared = *reinterpret_cast<Shared*>(first_tile(dynamic));
  const UnpackRoom room{reinterpret_cast<std::byte*>(&shared + 1)};
  if (threadIdx.x == 0) shared.init();
  let_next_start();
  wait_for_previous();
  const int head_kv = blockIdx.y / p.tiling.parts;
  const int in_group = blockIdx.y % p.tiling.parts * p.tiling.heads;
  const int n_heads = min(p.tiling.heads, p.group - in_group);
  const BlockPlace place(p);
  const int first = place.tile * p.tiling.tokens;
  // A barrier, too.
  if (!has_long_run(p, first, min(p.n_tokens, first + p.tiling.tokens))) return;
  if constexpr (std::is_same_v<Bringer, Unpacked>) room.fill(p);
  const int group = static_cast<int>(threadIdx.x) / kWarpgroupThreads;
  if (group >= kGroups) {
    give_registers<Bringer::kRegisters>();
    Bringer bringer(p, shared, group - kGroups, room);
    for_each_run(p, place,
                 [&](const TokenRun& run, const SegmentRange& range) { bringer.bring(run, range, head_kv); });
    bringer.finish();
  } else {
    take_registers<kRegistersOfRows<Bringer>>();
    GroupRows rows(p, shared);
    for_each_run(p, place, [&](const TokenRun& run, const SegmentRange& range) {
      rows.attend(run, range, head_kv * p.group + in_group, n_heads);
    });
  }
}

template <class Bringer>
void launch_wide(Stream& stream, const Params& p, int64_t n_head_kv, size_t more_bytes) {
  launch(stream, prefill_wide<Bringer>,
         {.grid = dim3(static_cast<unsigned>(blocks_of_tiles(p)),
                       static_cast<unsigned>(n_head_kv * p.tiling.parts)),
          .block = dim3(kThreads<Bringer>),
          .shared_bytes = kTileAlignment + sizeof(Shared) + more_bytes},
         p);
}

size_t bytes_to_unpack(const KvView& kv) {
  return static_cast<size_t>(UnpackRoom::table_bytes(kv.k.format, kv.v.format) +
                             Unpacked::raw_bytes(static_cast<int>(kv.k_row_bytes + kv.v_row_bytes)));
}

}  // namespace

bool prefill_wide_serves(const AttentionArgs& args, const Gpu& gpu) {
  const KvView& kv = args.kv;
  if (gpu.compute_capability != 90 || kv.head_dim_k != kHeadDim) return false;
  if (prefill_serves(args)) return kv.k.format == KvFormat::f16;
  return prefill_packed_serves(args) &&
         kTileAlignment + sizeof(Shared) + bytes_to_unpack(kv) <= gpu.shared_bytes_per_block;
}

void run_prefill_wide(Stream& stream, const Params& params, const AttentionArgs& args) {
  if (prefill_serves(args)) {
    launch_wide<Copies>(stream, params, args.kv.n_head_kv, 0);
  } else {
    launch_wide<Unpacked>(stream, params, args.kv.n_head_kv, bytes_to_unpack(args.kv));
  }
}

#else

bool prefill_wide_serves(const AttentionArgs&, const Gpu&) {
  return false;
}
void run_prefill_wide(Stream&, const Params&, const AttentionArgs&) {}

#endif

}  // namespace parlance::cuda::attention
