// norm_rope_write on CUDA: a warp for each head of q, k and v, or, where heads are few and encoded as a
// whole, a block.
#include "kernels/cuda/kept_head.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_encode.cuh"
#include "kernels/cuda/rotate.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kWarps = 4;            // of a block
constexpr int64_t kFewHeads = 4096;  // that are a block's each

struct Heads {
  float* x;           // (head_dim, n_head, n_tokens)
  const float* norm;  // (head_dim), or null
  int n_head;
};

struct Rotation {
  const float* angles;  // (n_pairs, 2, n_tokens): cos, then sin
  int n_pairs;
  bool is_halves;
};

// The lanes share the pairs, then what lies behind them.
__device__ void prepare_head(float* head, const float* norm, const float* cosines, const Rotation& rotation,
                             int head_dim, float eps, int lane) {
  float scale = 1;
  if (norm) {
    float sum = 0;
    for (int i = lane; i < head_dim; i += 32) sum += head[i] * head[i];
    scale = 1 / sqrtf(sum_of_warp(sum) / static_cast<float>(head_dim) + eps);
  }
  const auto element = [&](int i) { return norm ? head[i] * scale * norm[i] : head[i]; };
  for (int pair = lane; pair < rotation.n_pairs; pair += 32) {
    const int first = rotation.is_halves ? pair : 2 * pair;
    const int second = first + (rotation.is_halves ? rotation.n_pairs : 1);
    const float2 turned =
        rotated(element(first), element(second), cosines[pair], cosines[rotation.n_pairs + pair]);
    head[first] = turned.x;
    head[second] = turned.y;
  }
  if (norm) {
    for (int i = 2 * rotation.n_pairs + lane; i < head_dim; i += 32) head[i] = element(i);
  }
}

// What is written into the cache: all heads of k and v.
struct Written {
  Side k, v;
  Places places;
  int room;  // bytes of shared memory for each team, where head vectors are encoded as a whole

  __device__ float* room_of(const Team& team) const {
    extern __shared__ __align__(16) std::byte rooms[];
    return reinterpret_cast<float*>(rooms + (team.n_warps == 1 ? threadIdx.x / 32 * room : 0));
  }

  // A head vector of k or v, into its place.
  template <bool is_whole>
  __device__ void encode(const Side& side, const float* head, std::byte* to, const Team& team) const {
    const int lane = team.lane;
    if constexpr (is_whole) {
      float* const x = room_of(team);
      for (int i = team.warp * 32 + lane; i < side.head_dim; i += 32 * team.n_warps) x[i] = head[i];
      team.sync();
      encode_whole(side, x, to, team);
    } else {
      constexpr int kAtOnce = 4;
      for (int first = lane; first - lane < side.head_dim; first += kAtOnce * kChunk) {
        float x[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
          x[i] = first + i * kChunk < side.head_dim ? head[first + i * kChunk] : 0.0f;
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const int at = first + i * kChunk;
          if (at - lane < side.head_dim) encode_plain(side.format, x[i], at < side.head_dim, at, to, lane);
        }
      }
    }
  }
};

// See KvView: (head_dim, n_head_kv) each, or null.
struct Equaliser {
  const float *k_shift, *k_scale, *q_scale;
  int n_shared;  // query heads of a KV head
};

// Heads of q, then of k, then of v, token by token. Of the warps that encode a head, the first one prepares
// it.
template <bool is_whole, int kTeam>
__global__ void prepare_heads(Heads q, Heads k, const __grid_constant__ Written written, Rotation rotation,
                              Equaliser equaliser, int head_dim, float eps, int64_t n) {
  let_next_start();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = threadIdx.x % 32;
  const Team team{warp % kTeam, kTeam, lane};
  const int64_t index = static_cast<int64_t>(blockIdx.x) * (kWarps / kTeam) + warp / kTeam;
  const int n_heads = q.n_head + 2 * k.n_head;
  const int64_t token = index / n_heads;
  const int head = static_cast<int>(index % n_heads);
  const bool is_q = head < q.n_head;
  const Heads& heads = is_q ? q : k;
  const bool is_kept = head_dim == kKeptDim && rotation.is_halves && 2 * rotation.n_pairs == kKeptDim;
  const KeptNorm kept(is_kept ? heads.norm : nullptr, lane);
  const bool is_v = head >= q.n_head + k.n_head;
  const int head_kv = is_q ? head / equaliser.n_shared : (head - q.n_head) % k.n_head;
  // Where tokens lie is not what kernels write.
  const Side& side = is_v ? written.v : written.k;
  std::byte* const to = is_q || index >= n ? nullptr : row_of(side, written.places, token, head_kv);
  wait_for_previous();
  if (index >= n || (is_q && team.warp > 0)) return;
  if (is_v)
    return written.encode<is_whole>(side, side.x + (token * k.n_head + head_kv) * side.head_dim, to, team);
  float* const x = heads.x + (is_q ? token * q.n_head + head : token * k.n_head + head_kv) * head_dim;
  const float* const angles = rotation.angles + token * 2 * rotation.n_pairs;
  if (is_kept) {
    const bool is_written = !is_q && !equaliser.q_scale;  // from where it is kept
    if (team.warp == 0) {
      const KeptHead own(x, heads.norm, kept, angles, eps, lane);
      if constexpr (is_whole) {
        own.store(is_written ? written.room_of(team) : x, lane);
      } else if (is_written) {
#pragma unroll
        for (int i = 0; i < 2 * kKeptPairs; ++i)
          encode_plain(side.format, own.x[i], true, lane + 32 * i, to, lane);
      } else {
        own.store(x, lane);
      }
    }
    if (is_written) {
      if constexpr (is_whole) {
        team.sync();
        encode_whole(side, written.room_of(team), to, team);
      }
      return;
    }
  } else if (team.warp == 0) {
    prepare_head(x, heads.norm, angles, rotation, head_dim, eps, lane);
  }
  __syncwarp();
  if (equaliser.q_scale && team.warp == 0) {
    for (int i = lane; i < head_dim; i += 32) {
      const int at = head_kv * head_dim + i;
      x[i] = is_q ? __fmul_rn(x[i], equaliser.q_scale[at])
                  : __fmul_rn(__fsub_rn(x[i], equaliser.k_shift[at]), equaliser.k_scale[at]);
    }
  }
  if (is_q) return;
  team.sync();
  written.encode<is_whole>(side, x, to, team);
}

Heads heads_of(const Tensor& x, const Tensor& norm) {
  return {x.as<float>(), norm ? norm.as<const float>() : nullptr, static_cast<int>(x.ne[1])};
}

void run_norm_rope_write(Stream& stream, const NormRopeWriteArgs& args) {
  const Heads q = heads_of(args.q, args.q_norm);
  const Heads k = heads_of(args.write.k, args.k_norm);
  const Rotation rotation{args.angles.as<const float>(), static_cast<int>(args.angles.ne[0]),
                          args.style == RopeStyle::halves};
  const KvView& kv = written_view(args.write.kv);
  Written written{keys_of(stream, kv, k.x), values_of(stream, kv, args.write.v.as<const float>()),
                  places_of(kv, args.write.batch), 0};
  const Equaliser equaliser{kv.k_shift.as<const float>(), kv.k_scale.as<const float>(),
                            kv.q_scale.as<const float>(), q.n_head / k.n_head};
  const int64_t n = (q.n_head + 2 * k.n_head) * args.q.ne[2];
  if (n == 0) return;
  const bool is_whole = is_encoded_whole(written.k) || is_encoded_whole(written.v);
  const int team = is_whole && n <= kFewHeads ? kWarps : 1, n_teams = kWarps / team;
  if (is_whole) written.room = std::max(encoding_room(written.k, team), encoding_room(written.v, team));
  launch(stream,
         !is_whole   ? prepare_heads<false, 1>
         : team == 1 ? prepare_heads<true, 1>
                     : prepare_heads<true, kWarps>,
         {.grid = dim3(static_cast<unsigned>((n + n_teams - 1) / n_teams)),
          .block = dim3(kWarps * 32),
          .shared_bytes = static_cast<size_t>(n_teams) * static_cast<size_t>(written.room)},
         q, k, written, rotation, equaliser, static_cast<int>(args.q.ne[0]), args.eps, n);
}

}  // namespace

void fill_norm_rope_write(OpTable& table) {
  for (auto& row : table.norm_rope_write) row.fill({run_norm_rope_write});
}

}  // namespace parlance::cuda
