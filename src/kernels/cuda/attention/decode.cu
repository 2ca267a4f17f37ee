// attention for answers, from caches of any plain format: a block takes the query heads of one KV head and
// some segments of the keys, or all of them. Each of its warps has a quarter of a segment, and streams keys
// and values from memory into registers, 16 bytes a lane, the next ones while these are worked on.
#include "kernels/cuda/attention/combine.cuh"
#include "kernels/cuda/kv_formats.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda::attention {

namespace {

// Keys that a group of lanes works on at a time: as many as the registers hold.
template <KvFormat k_format, KvFormat v_format, int kHeads>
constexpr int kKeysAtATime = kHeads > 2 && (k_format == KvFormat::f32 || v_format == KvFormat::f32) ? 2 : 4;

// A head vector takes kLanes lanes of eight elements, so a warp has several groups of lanes with keys of
// their own.
template <int kHeadDim, int kKeys>
struct Lanes {
  static constexpr int kLanes = kHeadDim / 8;
  static constexpr int kGroups = 32 / kLanes;
  static constexpr int kWarpKeys = kGroups * kKeys;
};

// One lane's share of kKeys consecutive keys and their values. Those past the end are the last ones again.
template <KvFormat k_format, KvFormat v_format, int kKeys>
struct Loaded {
  KvEight<k_format> k[kKeys];
  KvEight<v_format> v[kKeys];

  __device__ void load(const Params& p, const Walk& walk, int first, int end, int eighth) {
    int pos = min(first, end - 1);
    int index = pos / p.page_tokens;
    int slot = pos - index * p.page_tokens;
#pragma unroll
    for (int key = 0; key < kKeys; ++key) {
      const int64_t page = walk.page(index) * p.page_bytes;
      k[key].load(walk.keys + page + slot * p.k_row_bytes, eighth);
      v[key].load(walk.values + page + slot * p.v_row_bytes, eighth);
      if (pos + 1 == end) continue;
      ++pos;
      if (++slot == p.page_tokens) ++index, slot = 0;
    }
  }
};

// The running softmax of a lane: its eight elements of each head's weighted values.
template <int kHeads>
struct Running {
  float largest[kHeads];
  float sum[kHeads];
  float out[kHeads][8];

  __device__ Running() {
#pragma unroll
    for (int head = 0; head < kHeads; ++head) {
      largest[head] = kLowest;
      sum[head] = 0;
      for (int i = 0; i < 8; ++i) out[head][i] = 0;
    }
  }

  __device__ void scale(int head, float factor) {
    sum[head] *= factor;
    for (int i = 0; i < 8; ++i) out[head][i] *= factor;
  }

  template <int kLanes, KvFormat k_format, KvFormat v_format, int kKeys>
  __device__ void add(const Loaded<k_format, v_format, kKeys>& loaded, const float (&q)[kHeads][8],
                      int n_keys) {
    float weights[kHeads][kKeys];
#pragma unroll
    for (int key = 0; key < kKeys; ++key) {
      float k[8];
      loaded.k[key].decode(k);
#pragma unroll
      for (int head = 0; head < kHeads; ++head) {
        float score = 0;
        for (int i = 0; i < 8; ++i) score += q[head][i] * k[i];
        for (int mask = kLanes / 2; mask > 0; mask /= 2) score += __shfl_xor_sync(kAllLanes, score, mask);
        weights[head][key] = key < n_keys ? score : -INFINITY;
      }
    }
#pragma unroll
    for (int head = 0; head < kHeads; ++head) {
      float after = largest[head];
      for (int key = 0; key < kKeys; ++key) after = fmaxf(after, weights[head][key]);
      scale(head, exp2f(largest[head] - after));
      largest[head] = after;
      for (int key = 0; key < kKeys; ++key) {
        weights[head][key] = exp2f(weights[head][key] - after);
        sum[head] += weights[head][key];
      }
    }
#pragma unroll
    for (int key = 0; key < kKeys; ++key) {
      float v[8];
      loaded.v[key].decode(v);
#pragma unroll
      for (int head = 0; head < kHeads; ++head) {
        for (int i = 0; i < 8; ++i) out[head][i] += weights[head][key] * v[i];
      }
    }
  }

  // Puts the groups of lanes of a warp together.
  template <int kLanes>
  __device__ void merge_groups() {
#pragma unroll
    for (int head = 0; head < kHeads; ++head) {
      float after = largest[head];
      for (int mask = kLanes; mask < 32; mask *= 2)
        after = fmaxf(after, __shfl_xor_sync(kAllLanes, after, mask));
      scale(head, exp2f(largest[head] - after));
      largest[head] = after;
      for (int mask = kLanes; mask < 32; mask *= 2) {
        sum[head] += __shfl_xor_sync(kAllLanes, sum[head], mask);
        for (int i = 0; i < 8; ++i) out[head][i] += __shfl_xor_sync(kAllLanes, out[head][i], mask);
      }
    }
  }
};

template <KvFormat k_format, KvFormat v_format, int kDim, int kHeads>
class Worker {
  static constexpr int kKeys = kKeysAtATime<k_format, v_format, kHeads>;
  using L = Lanes<kDim, kKeys>;

 public:
  static constexpr int kRows = kHeads, kHeadDim = kDim, kThreads = kDecodeThreads, kBuffers = 2;
  struct Shared {
    Quarters<kRows, kHeadDim, kBuffers> quarters;
  };

  __device__ Worker(const Params& p, Shared& shared, const Walk& walk, const TokenRun& run,
                    const SegmentRange& range)
      : p_(p),
        shared_(shared),
        walk_(walk),
        keys_{run.segment_keys / kDecodeWarps, run.n_keys, static_cast<int>(threadIdx.x) / 32},
        eighth_(threadIdx.x % L::kLanes),
        group_(threadIdx.x % 32 / L::kLanes),
        first_segment_(range.first) {}

  static constexpr bool kStartsEarly = false, kPrepares = false;
  static constexpr KnownRows kKnown = KnownRows::none;
  struct Norms {
    __device__ explicit Norms(const Params& /*p*/) {}
  };
  __device__ void start(const BlockRows& rows) {
#pragma unroll
    for (int head = 0; head < kHeads; ++head) {
      const int64_t row = static_cast<int64_t>(rows.first_token) * p_.n_head + rows.first_head + head;
      for (int i = 0; i < 8; ++i)
        q_[head][i] = head < rows.n_heads ? p_.q[row * kHeadDim + eighth_ * 8 + i] * p_.scale : 0.0f;
    }
    loaded_.load(p_, walk_, keys_.first(first_segment_) + group_ * kKeys, keys_.n_keys, eighth_);
  }

  __device__ void add_segment(int segment, int buffer) {
    Running<kHeads> running;
    const int n_steps = keys_.n_steps(segment, L::kWarpKeys);
    for (int step = 0; step < n_steps; ++step) {
      const int first = keys_.first(segment) + step * L::kWarpKeys + group_ * kKeys;
      const int after = step + 1 < n_steps ? first + L::kWarpKeys : keys_.first(segment + 1) + group_ * kKeys;
      Loaded<k_format, v_format, kKeys> next;
      next.load(p_, walk_, after, keys_.n_keys, eighth_);
      running.template add<L::kLanes>(loaded_, q_, keys_.n_keys - first);
      loaded_ = next;
    }
    running.template merge_groups<L::kLanes>();
    if (group_ != 0) return;
#pragma unroll
    for (int head = 0; head < kHeads; ++head) {
      auto* row = reinterpret_cast<float4*>(&shared_.quarters.out[buffer][keys_.warp][head][eighth_ * 8]);
      const float(&out)[8] = running.out[head];
      row[0] = make_float4(out[0], out[1], out[2], out[3]);
      row[1] = make_float4(out[4], out[5], out[6], out[7]);
      if (eighth_ == 0)
        shared_.quarters.stats[buffer][keys_.warp][head] =
            make_float2(running.largest[head], running.sum[head]);
    }
  }

 private:
  const Params& p_;
  Shared& shared_;
  const Walk walk_;
  const WarpKeys keys_;
  const int eighth_, group_;  // this lane's part of a head vector; its group of lanes
  const int first_segment_;
  float q_[kHeads][8];
  Loaded<k_format, v_format, kKeys> loaded_;
};

template <KvFormat k_format, KvFormat v_format, int kHeadDim, int kHeads>
__global__ void __launch_bounds__(kDecodeThreads) decode(const __grid_constant__ Params p) {
  using W = Worker<k_format, v_format, kHeadDim, kHeads>;
  __shared__ typename W::Shared shared;
  decode_tile<W>(p, shared);
}

template <KvFormat k_format, KvFormat v_format, int kHeadDim>
void launch_decode(Stream& stream, const Shape& shape, const Params& params) {
  const int heads = params.tiling.heads;
  launch(stream,
         heads <= 2   ? decode<k_format, v_format, kHeadDim, 2>
         : heads <= 4 ? decode<k_format, v_format, kHeadDim, 4>
                      : decode<k_format, v_format, kHeadDim, kDecodeHeads>,
         shape, params);
}

}  // namespace

bool decode_serves(const AttentionArgs& args) {
  return has_wide_rows(args.kv);
}

void run_decode(Stream& stream, const Params& params, const AttentionArgs& args) {
  const dim3 grid(static_cast<unsigned>(blocks_of_tiles(params)),
                  static_cast<unsigned>(args.kv.n_head_kv * params.tiling.parts));
  const Shape shape{.grid = grid, .block = dim3(kDecodeThreads)};
  with_format(args.kv.k.format, [&](auto k) {
    with_format(args.kv.v.format, [&](auto v) {
      if (args.kv.head_dim_k == 64) {
        launch_decode<decltype(k)::value, decltype(v)::value, 64>(stream, shape, params);
      } else {
        launch_decode<decltype(k)::value, decltype(v)::value, 128>(stream, shape, params);
      }
    });
  });
}

}  // namespace parlance::cuda::attention
