// attention for answers from caches of 16-bit floats, on tensor cores: a block takes the query heads of one
// KV head and some segments of the keys, or all of them. Each of its warps has a quarter of a segment, and
// keys and values on their way to shared memory of its own while it works on those before.
#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/attention/warp_rows.cuh"
#include "kernels/cuda/kv_formats.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

constexpr int kKeys = 16;  // of a step of a warp
constexpr int kStages = 2;

// Where a warp is among its keys.
struct Cursor {
  int segment, step;

  // The next one that has keys, from here on.
  __device__ void settle(const WarpKeys& keys, int last_segment) {
    while (segment < last_segment && step >= keys.n_steps(segment, kKeys)) ++segment, step = 0;
  }
};

template <class Half, int kHeadDim, int kHeads>
struct Shared {
  Block<Half, kHeadDim, kKeys> blocks[kDecodeWarps][kStages];
  Quarters<kHeads, kHeadDim> quarters;
};

template <class Half, int kHeadDim, int kHeads>
__global__ void __launch_bounds__(kDecodeThreads) decode(const __grid_constant__ Params p) {
  extern __shared__ uint4 dynamic[];
  auto& shared = *reinterpret_cast<Shared<Half, kHeadDim, kHeads>*>(dynamic);
  wait_for_previous();
  let_next_start();

  const BlockPlace place(p);
  const int token = place.tile;
  const int head_kv = blockIdx.y / p.tiling.parts;
  const int in_group = blockIdx.y % p.tiling.parts * p.tiling.heads;
  const int n_heads = min(p.tiling.heads, p.group - in_group);
  const int first_head = head_kv * p.group + in_group;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  // A recorded step is replayed at any position up to its bound: later blocks may have nothing to do.
  const TokenRun run(p, token, token + 1);
  const SegmentRange range(p, run, place.split);
  if (!run.is_served || range.first >= range.last) return;

  const Walk walk(p, p.seq[token], head_kv);
  const WarpKeys keys{run.segment_keys / kDecodeWarps, run.n_keys, warp};
  auto& blocks = shared.blocks[warp];
  Cursor ahead{range.first, 0};
  const auto load_next = [&](int stage) {
    ahead.settle(keys, range.last);
    if (ahead.segment < range.last) {
      const int first = keys.first(ahead.segment) + ahead.step * kKeys;
      blocks[stage].template load<32>(p, walk, first, run.n_keys, lane);
      ++ahead.step;
    }
    end_copy_group();
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) load_next(stage);

  static_assert(kHeads <= 8);
  WarpRows<Half, kHeadDim, kKeys, 1> rows;
  const int head = lane / 4;
  const bool is_present = head < n_heads;
  rows.start(p, 0, static_cast<int64_t>(token) * p.n_head + first_head + (is_present ? head : 0),
             is_present ? run.n_keys : 0, is_present);
  RowsSoFar<kHeads, kHeadDim> so_far(p, token, first_head, n_heads, is_split(p, run));
  int stage = 0;
  for (int segment = range.first; segment < range.last; ++segment) {
    rows.start_segment();
    const int n_steps = keys.n_steps(segment, kKeys);
    for (int step = 0; step < n_steps; ++step) {
      load_next((stage + kStages - 1) % kStages);
      wait_for_copies<kStages - 1>();
      __syncwarp();
      rows.add(blocks[stage], keys.first(segment) + step * kKeys, run.n_keys);
      __syncwarp();
      stage = (stage + 1) % kStages;
    }
    const int half = segment % 2;
    float sum = rows.sum[0];
    for (int mask = 1; mask < 4; mask *= 2) sum += __shfl_xor_sync(0xffffffff, sum, mask);
    if (head < kHeads) {
      float* out = &shared.quarters.out[half][warp][head][2 * (lane % 4)];
#pragma unroll
      for (int i = 0; i < kHeadDim / 8; ++i)
        *reinterpret_cast<float2*>(out + 8 * i) = make_float2(rows.out[i][0], rows.out[i][1]);
      if (lane % 4 == 0) shared.quarters.stats[half][warp][head] = make_float2(rows.largest[0], sum);
    }
    __syncthreads();
    so_far.add(shared.quarters, half, segment);
  }
  so_far.store();
}

template <class Half, int kHeadDim>
void launch_decode(Stream& stream, const Shape& shape, const Params& params) {
  const int heads = params.tiling.heads;
  launch(stream,
         heads <= 2   ? decode<Half, kHeadDim, 2>
         : heads <= 4 ? decode<Half, kHeadDim, 4>
                      : decode<Half, kHeadDim, kDecodeHeads>,
         shape, params);
}

size_t shared_bytes(int64_t head_dim, int heads) {
  const auto of = [&](auto dim) {
    constexpr int kHeadDim = decltype(dim)::value;
    return heads <= 2   ? sizeof(Shared<__half, kHeadDim, 2>)
           : heads <= 4 ? sizeof(Shared<__half, kHeadDim, 4>)
                        : sizeof(Shared<__half, kHeadDim, kDecodeHeads>);
  };
  return head_dim == 64 ? of(std::integral_constant<int, 64>()) : of(std::integral_constant<int, 128>());
}

}  // namespace

bool decode_halves_serves(const AttentionArgs& args, int heads, size_t room) {
  return prefill_serves(args) && shared_bytes(args.kv.head_dim_k, heads) <= room;
}

void run_decode_halves(Stream& stream, const Params& params, const AttentionArgs& args) {
  const int64_t head_dim = args.kv.head_dim_k;
  const Shape shape{
      .grid = dim3(blocks_of_tiles(params), static_cast<unsigned>(args.kv.n_head_kv * params.tiling.parts)),
      .block = dim3(kDecodeThreads),
      .shared_bytes = shared_bytes(head_dim, params.tiling.heads)};
  const bool is_f16 = args.kv.k.format == KvFormat::f16;
  if (head_dim == 64) {
    (is_f16 ? launch_decode<__half, 64> : launch_decode<__nv_bfloat16, 64>)(stream, shape, params);
  } else {
    (is_f16 ? launch_decode<__half, 128> : launch_decode<__nv_bfloat16, 128>)(stream, shape, params);
  }
}

}  // namespace parlance::cuda::attention
