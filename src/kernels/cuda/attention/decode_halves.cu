// attention for answers and drafts from caches of 16-bit floats, on tensor cores: a block takes the query
// heads of one KV head, of a token or of some of a draft, and some segments of the keys, or all of them. Each
// of its warps has a quarter of a segment (two for many rows), and keys and values on their way to shared
// memory of its own while it works on those before.
#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/warp_rows.cuh"
#include "kernels/cuda/kv_formats.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kKeys = 16;  // of a step of a warp

// Where a warp is among its keys.
struct Cursor {
  int segment, step;

  // The next one that has keys, from here on.
  __device__ void settle(const WarpKeys& keys, int last_segment) {
    while (segment < last_segment && step >= keys.n_steps(segment, kKeys)) ++segment, step = 0;
  }
};

// A warp takes up to sixteen rows; with more, two warps share the keys of a quarter.
template <class Half, int kDim, int kMostRows>
class Worker {
  static constexpr int kSides = kMostRows > 8 ? 2 : 1;
  static constexpr int kGroups = kMostRows > 16 ? 2 : 1;
  static constexpr int kStages = kGroups == 1 ? 2 : 3;

 public:
  static constexpr int kRows = kMostRows, kHeadDim = kDim, kThreads = kGroups * kDecodeThreads;
  static constexpr int kBuffers = kGroups == 1 ? 2 : 1;
  struct Shared {
    Block<Half, kHeadDim, kKeys> blocks[kDecodeWarps][kStages];
    Quarters<kRows, kHeadDim, kBuffers> quarters;
  };

  __device__ Worker(const Params& p, Shared& shared, const Walk& walk, const TokenRun& run,
                    const SegmentRange& range, const BlockRows& rows)
      : p_(p),
        shared_(shared),
        walk_(walk),
        keys_{run.segment_keys / kDecodeWarps, run.n_keys, static_cast<int>(threadIdx.x) / 32 % kDecodeWarps},
        group_(threadIdx.x / kDecodeThreads),
        last_segment_(range.last),
        ahead_{range.first, 0} {
#pragma unroll
    for (int stage = 0; stage < kStages - 1; ++stage) load_next(stage);
#pragma unroll
    for (int side = 0; side < kSides; ++side) {
      const bool exists = rows.exists(row(side));
      const int token = exists ? rows.token(row(side)) : 0, head = exists ? rows.head(row(side)) : 0;
      rows_.start(p, side, static_cast<int64_t>(token) * p.n_head + head, exists ? p.pos[token] + 1 : 0,
                  exists);
    }
  }

  __device__ void add_segment(int segment, int buffer) {
    rows_.start_segment();
    const int n_steps = keys_.n_steps(segment, kKeys);
    for (int step = 0; step < n_steps; ++step) {
      load_next((stage_ + kStages - 1) % kStages);
      wait_for_copies<kStages - 1>();
      wait_for_quarter();
      rows_.add(shared_.blocks[keys_.warp][stage_], keys_.first(segment) + step * kKeys, keys_.n_keys);
      wait_for_quarter();
      stage_ = (stage_ + 1) % kStages;
    }
#pragma unroll
    for (int side = 0; side < kSides; ++side) {
      float sum = rows_.sum[side];
      for (int mask = 1; mask < 4; mask *= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
      if (row(side) >= kRows) continue;
      const int in_row = 2 * (threadIdx.x % 4);
      float* out = &shared_.quarters.out[buffer][keys_.warp][row(side)][in_row];
#pragma unroll
      for (int i = 0; i < kHeadDim / 8; ++i)
        *reinterpret_cast<float2*>(out + 8 * i) =
            make_float2(rows_.out[i][2 * side], rows_.out[i][2 * side + 1]);
      if (in_row == 0)
        shared_.quarters.stats[buffer][keys_.warp][row(side)] = make_float2(rows_.largest[side], sum);
    }
  }

 private:
  __device__ int row(int side) const {
    return group_ * 16 + side * 8 + static_cast<int>(threadIdx.x) % 32 / 4;
  }

  __device__ void load_next(int stage) {
    ahead_.settle(keys_, last_segment_);
    if (ahead_.segment < last_segment_) {
      const int first = keys_.first(ahead_.segment) + ahead_.step * kKeys;
      shared_.blocks[keys_.warp][stage].template load<32 * kGroups>(
          p_, walk_, first, keys_.n_keys, group_ * 32 + static_cast<int>(threadIdx.x) % 32);
      ++ahead_.step;
    }
    end_copy_group();
  }

  // The warps that share this quarter's keys.
  __device__ void wait_for_quarter() const {
    if constexpr (kGroups == 1) {
      __syncwarp();
    } else {
      asm volatile("bar.sync %0, %1;" ::"r"(1 + keys_.warp), "r"(32 * kGroups) : "memory");
    }
  }

  const Params& p_;
  Shared& shared_;
  const Walk walk_;
  const WarpKeys keys_;
  const int group_;
  const int last_segment_;
  Cursor ahead_;
  int stage_ = 0;
  WarpRows<Half, kHeadDim, kKeys, kSides> rows_;
};

template <class Half, int kHeadDim, int kRows>
__global__ void __launch_bounds__(Worker<Half, kHeadDim, kRows>::kThreads)
    decode(const __grid_constant__ Params p) {
  extern __shared__ uint4 dynamic[];
  using W = Worker<Half, kHeadDim, kRows>;
  decode_tile<W>(p, *reinterpret_cast<typename W::Shared*>(dynamic));
}

// Calls visit(rows of a block) for tiles of so many rows.
template <class Visit>
auto with_rows(int n_rows, const Visit& visit) {
  if (n_rows <= 2) return visit(std::integral_constant<int, 2>());
  if (n_rows <= 4) return visit(std::integral_constant<int, 4>());
  if (n_rows <= kDecodeHeads) return visit(std::integral_constant<int, kDecodeHeads>());
  return visit(std::integral_constant<int, kDraftRows>());
}

template <int kHeadDim>
size_t shared_bytes(int n_rows) {
  return with_rows(n_rows, [](auto rows) {
    return sizeof(typename Worker<__half, kHeadDim, decltype(rows)::value>::Shared);
  });
}

template <class Half, int kHeadDim>
void launch_decode(Stream& stream, const Params& params, const AttentionArgs& args) {
  const dim3 grid(blocks_of_tiles(params), static_cast<unsigned>(args.kv.n_head_kv * params.tiling.parts));
  const int n_rows = params.tiling.heads * params.tiling.tokens;
  with_rows(n_rows, [&](auto rows) {
    constexpr int kRows = decltype(rows)::value;
    launch(stream, decode<Half, kHeadDim, kRows>,
           {.grid = grid,
            .block = dim3(Worker<Half, kHeadDim, kRows>::kThreads),
            .shared_bytes = shared_bytes<kHeadDim>(n_rows)},
           params);
  });
}

}  // namespace

bool decode_halves_serves(const AttentionArgs& args, int n_rows, size_t room) {
  return prefill_serves(args) &&
         (args.kv.head_dim_k == 64 ? shared_bytes<64>(n_rows) : shared_bytes<128>(n_rows)) <= room;
}

void run_decode_halves(Stream& stream, const Params& params, const AttentionArgs& args) {
  const bool is_f16 = args.kv.k.format == KvFormat::f16;
  if (args.kv.head_dim_k == 64) {
    (is_f16 ? launch_decode<__half, 64> : launch_decode<__nv_bfloat16, 64>)(stream, params, args);
  } else {
    (is_f16 ? launch_decode<__half, 128> : launch_decode<__nv_bfloat16, 128>)(stream, params, args);
  }
}

}  // namespace parlance::cuda::attention
