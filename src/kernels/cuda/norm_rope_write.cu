// norm_rope_write on CUDA: a warp for each head of q, k and v.
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_encode.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kWarps = 4;  // heads of a block

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
    const float a = element(first);
    const float b = element(second);
    const float cosine = cosines[pair];
    const float sine = cosines[rotation.n_pairs + pair];
    head[first] = a * cosine - b * sine;
    head[second] = a * sine + b * cosine;
  }
  if (norm) {
    for (int i = 2 * rotation.n_pairs + lane; i < head_dim; i += 32) head[i] = element(i);
  }
}

// What is written into the cache: all heads of k and v.
struct Written {
  Side k, v;
  Places places;

  __device__ void encode(const Side& side, int64_t row, int lane) const {
    for (int chunk = 0; chunk < side.n_chunks; ++chunk)
      encode_chunk(side, places, row * side.n_chunks + chunk, lane);
  }
};

// Heads of q, then of k, then of v, token by token.
__global__ void prepare_heads(Heads q, Heads k, const __grid_constant__ Written written, Rotation rotation,
                              int head_dim, float eps, int64_t n) {
  let_next_start();
  wait_for_previous();
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (index >= n) return;
  const int n_heads = q.n_head + 2 * k.n_head, lane = threadIdx.x % 32;
  const int64_t token = index / n_heads;
  const int head = static_cast<int>(index % n_heads);
  const int64_t row_of_k = token * k.n_head + (head - q.n_head);  // if it is one
  if (head >= q.n_head + k.n_head) {
    written.encode(written.v, row_of_k - k.n_head, lane);
    return;
  }
  const bool is_q = head < q.n_head;
  const Heads& heads = is_q ? q : k;
  const int64_t row = is_q ? token * q.n_head + head : row_of_k;
  prepare_head(heads.x + row * head_dim, heads.norm, rotation.angles + token * 2 * rotation.n_pairs, rotation,
               head_dim, eps, lane);
  if (is_q) return;
  __syncwarp();
  written.encode(written.k, row, lane);
}

Heads heads_of(const Tensor& x, const Tensor& norm) {
  return {x.as<float>(), norm ? norm.as<const float>() : nullptr, static_cast<int>(x.ne[1])};
}

void run_norm_rope_write(Stream& stream, const NormRopeWriteArgs& args) {
  const Heads q = heads_of(args.q, args.q_norm);
  const Heads k = heads_of(args.write.k, args.k_norm);
  const Rotation rotation{args.angles.as<const float>(), static_cast<int>(args.angles.ne[0]),
                          args.style == RopeStyle::halves};
  const Written written{keys_of(args.write), values_of(args.write), places_of(args.write)};
  const int64_t n = (q.n_head + 2 * k.n_head) * args.q.ne[2];
  if (n == 0) return;
  launch(stream, prepare_heads,
         {.grid = dim3(static_cast<unsigned>((n + kWarps - 1) / kWarps)), .block = dim3(kWarps * 32)}, q, k,
         written, rotation, static_cast<int>(args.q.ne[0]), args.eps, n);
}

}  // namespace

void fill_norm_rope_write(OpTable& table) {
  fill_plain_formats(table.norm_rope_write, {run_norm_rope_write});
}

}  // namespace parlance::cuda
