// norm_rope_write on CUDA: a warp for each head of q and k, then kv_write.
#include "kernels/cuda/kernels.h"
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

// Heads of q, then of k, token by token.
__global__ void prepare_heads(Heads q, Heads k, Rotation rotation, int head_dim, float eps, int64_t n) {
  let_next_start();
  wait_for_previous();
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (index >= n) return;
  const int64_t token = index / (q.n_head + k.n_head);
  const int head = static_cast<int>(index % (q.n_head + k.n_head));
  const bool is_q = head < q.n_head;
  const Heads& heads = is_q ? q : k;
  const int64_t row = token * heads.n_head + (is_q ? head : head - q.n_head);
  prepare_head(heads.x + row * head_dim, heads.norm, rotation.angles + token * 2 * rotation.n_pairs, rotation,
               head_dim, eps, threadIdx.x % 32);
}

Heads heads_of(const Tensor& x, const Tensor& norm) {
  return {x.as<float>(), norm ? norm.as<const float>() : nullptr, static_cast<int>(x.ne[1])};
}

void run_norm_rope_write(Stream& stream, const NormRopeWriteArgs& args) {
  const KvView& kv = args.write.kv;
  const Heads q = heads_of(args.q, args.q_norm);
  const Heads k = heads_of(args.write.k, args.k_norm);
  const Rotation rotation{args.angles.as<const float>(), static_cast<int>(args.angles.ne[0]),
                          args.style == RopeStyle::halves};
  const int64_t n = (q.n_head + k.n_head) * args.q.ne[2];
  if (n == 0) return;
  launch(stream, prepare_heads,
         {.grid = dim3(static_cast<unsigned>((n + kWarps - 1) / kWarps)), .block = dim3(kWarps * 32)}, q, k,
         rotation, static_cast<int>(args.q.ne[0]), args.eps, n);
  op_table().kv_write[static_cast<size_t>(kv.k.format)][static_cast<size_t>(kv.v.format)].run(stream,
                                                                                              args.write);
}

}  // namespace

void fill_norm_rope_write(OpTable& table) {
  fill_plain_formats(table.norm_rope_write, {run_norm_rope_write});
}

}  // namespace parlance::cuda
