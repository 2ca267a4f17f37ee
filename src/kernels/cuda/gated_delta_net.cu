// gated_delta_net on CUDA: kLanes lanes for each row of the state (the keys of one value), which they hold in
// registers while they walk along the tokens of a run. What q sees of a new state follows from what it sees
// of the old one, so that a token takes one round of sums.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/runs.cuh"
#include "kernels/cuda/runtime/launch.h"

namespace parlance::cuda {

namespace {

constexpr int kLanes = 16;
constexpr int kThreads = 128;
constexpr int kRows = kThreads / kLanes;  // of a block
// Tokens are shared out in as many windows; a block walks the runs that begin in its window.
constexpr int kWindows = 64;

struct Net {
  const float* qkv;    // (head_dim, 2 n_key_head + n_value_head, n_tokens)
  const float* alpha;  // (n_value_head, n_tokens)
  const float* beta;
  const float* a;  // (n_value_head)
  const float* dt_bias;
  float* state;  // (head_dim, head_dim, n_value_head, n_seq)
  float* out;    // (head_dim, n_value_head, n_tokens)
  TokenPlaces places;
  int window;  // tokens
  int head_dim;
  int n_key_head;
  int n_value_head;
  float eps;
};

// The row of the state that a group of lanes works on.
struct Place {
  int head;
  int value;
  int lane;
  bool exists;  // others compute what the last one does, so that warps stay together

  __device__ const float* q(const Net& net, int token) const {
    const int64_t first_head = static_cast<int64_t>(token) * (2 * net.n_key_head + net.n_value_head);
    return net.qkv + (first_head + head % net.n_key_head) * net.head_dim;
  }
  __device__ const float* k(const Net& net, int token) const {
    return q(net, token) + static_cast<int64_t>(net.n_key_head) * net.head_dim;
  }
  __device__ float v(const Net& net, int token) const {
    const int64_t first_head = static_cast<int64_t>(token) * (2 * net.n_key_head + net.n_value_head);
    return net.qkv[(first_head + 2 * net.n_key_head + head) * net.head_dim + value];
  }
  __device__ int64_t gate(const Net& net, int token) const {
    return static_cast<int64_t>(token) * net.n_value_head + head;
  }
  __device__ float* row(const Net& net, int seq) const {
    return net.state +
           ((static_cast<int64_t>(seq) * net.n_value_head + head) * net.head_dim + value) * net.head_dim;
  }
};

__device__ float sum_of_lanes(float value) {
  for (int mask = kLanes / 2; mask > 0; mask /= 2) value += __shfl_xor_sync(kAllLanes, value, mask);
  return value;
}

__device__ float softplus(float x) {
  return x > 20 ? x : log1pf(expf(x));
}

// Sums over the keys of a token.
struct Sums {
  float qq, kk, kq;
  float sq, sk;  // with the row of the state

  __device__ void add(float state, float q, float k) {
    qq = fmaf(q, q, qq);
    kk = fmaf(k, k, kk);
    kq = fmaf(k, q, kq);
    sq = fmaf(state, q, sq);
    sk = fmaf(state, k, sk);
  }
};

// What becomes of a row with a token: row = decay row + learned k.
struct Change {
  float decay;
  float learned;
};

// All lanes of the warp take part, with sums of their own keys; the first one stores the token's output.
__device__ Change change_of(const Net& net, const Place& place, int token, const Sums& lanes_sums) {
  const int64_t gate = place.gate(net, token);
  const float decay = expf(net.a[place.head] * softplus(net.alpha[gate] + net.dt_bias[place.head]));
  const float beta = 1 / (1 + expf(-net.beta[gate]));
  const float v = place.v(net, token);
  const float k_scale = 1 / fmaxf(sqrtf(sum_of_lanes(lanes_sums.kk)), net.eps);
  const float q_scale =
      1 / (fmaxf(sqrtf(sum_of_lanes(lanes_sums.qq)), net.eps) * sqrtf(static_cast<float>(net.head_dim)));
  const float seen = decay * k_scale * sum_of_lanes(lanes_sums.sk);
  const float learned = beta * (v - seen) * k_scale;
  const float read = fmaf(decay, sum_of_lanes(lanes_sums.sq), learned * sum_of_lanes(lanes_sums.kq));
  if (place.exists && place.lane == 0) net.out[gate * net.head_dim + place.value] = q_scale * read;
  return {decay, learned};
}

// Walks a run with the row in registers: lane l has the keys l, l + kLanes, ….
template <int kKeys>
__device__ void walk_run(const Net& net, const Place& place, int first, int end) {
  float* row = place.row(net, net.places.seq[first]);
  const auto load = [&](const float* from, int i) {
    const int key = place.lane + i * kLanes;
    return key < net.head_dim ? from[key] : 0.0f;
  };
  float state[kKeys], next_q[kKeys], next_k[kKeys];
#pragma unroll
  for (int i = 0; i < kKeys; ++i) {
    state[i] = net.places.pos[first] == 0 ? 0.0f : load(row, i);
    next_q[i] = load(place.q(net, first), i);
    next_k[i] = load(place.k(net, first), i);
  }
  for (int token = first; token < end; ++token) {
    float k[kKeys];
    Sums sums{};
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      k[i] = next_k[i];
      sums.add(state[i], next_q[i], k[i]);
    }
    const int next = min(token + 1, end - 1);
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      next_q[i] = load(place.q(net, next), i);
      next_k[i] = load(place.k(net, next), i);
    }
    const Change change = change_of(net, place, token, sums);
#pragma unroll
    for (int i = 0; i < kKeys; ++i) state[i] = fmaf(change.learned, k[i], change.decay * state[i]);
  }
#pragma unroll
  for (int i = 0; i < kKeys; ++i) {
    const int key = place.lane + i * kLanes;
    if (place.exists && key < net.head_dim) row[key] = state[i];
  }
}

// The same with the row where it lies, for heads that registers do not hold.
template <>
__device__ void walk_run<0>(const Net& net, const Place& place, int first, int end) {
  float* row = place.row(net, net.places.seq[first]);
  for (int token = first; token < end; ++token) {
    const bool is_empty = token == first && net.places.pos[first] == 0;
    const float *q = place.q(net, token), *k = place.k(net, token);
    Sums sums{};
    for (int key = place.lane; key < net.head_dim; key += kLanes) {
      sums.add(is_empty ? 0.0f : row[key], q[key], k[key]);
    }
    const Change change = change_of(net, place, token, sums);
    for (int key = place.lane; place.exists && key < net.head_dim; key += kLanes) {
      row[key] = fmaf(change.learned, k[key], change.decay * (is_empty ? 0.0f : row[key]));
    }
  }
}

// Block (window, value head, rows).
template <int kKeys>
__global__ void __launch_bounds__(kThreads) advance(const __grid_constant__ Net net) {
  wait_for_previous();
  let_next_start();
  const int row = blockIdx.z * kRows + threadIdx.x / kLanes;
  const Place place{static_cast<int>(blockIdx.y), min(row, net.head_dim - 1),
                    static_cast<int>(threadIdx.x) % kLanes, row < net.head_dim};
  const int window_end = min(net.places.n_tokens, static_cast<int>(blockIdx.x + 1) * net.window);
  for (int token = blockIdx.x * net.window; token < window_end; ++token) {
    if (!starts_run(net.places, token)) continue;
    walk_run<kKeys>(net, place, token, end_of_run(net.places, token));
  }
}

void run_gated_delta_net(Stream& stream, const GatedDeltaNetArgs& args) {
  const auto n = static_cast<int>(args.state.ne[0]), n_value_head = static_cast<int>(args.state.ne[2]);
  const auto n_tokens = static_cast<int>(args.qkv.ne[1]);
  if (n_tokens == 0) return;
  const Net net{.qkv = args.qkv.as<const float>(),
                .alpha = args.alpha.as<const float>(),
                .beta = args.beta.as<const float>(),
                .a = args.a.as<const float>(),
                .dt_bias = args.dt_bias.as<const float>(),
                .state = args.state.as<float>(),
                .out = args.out.as<float>(),
                .places = places_of(args.batch),
                .window = div_up(n_tokens, kWindows),
                .head_dim = n,
                .n_key_head = (static_cast<int>(args.qkv.ne[0]) / n - n_value_head) / 2,
                .n_value_head = n_value_head,
                .eps = args.eps};
  const Shape shape{
      .grid = dim3(static_cast<unsigned>(div_up(n_tokens, net.window)), static_cast<unsigned>(n_value_head),
                   static_cast<unsigned>(div_up(n, kRows))),
      .block = dim3(kThreads)};
  const auto kernel = n <= 4 * kLanes    ? advance<4>
                      : n <= 8 * kLanes  ? advance<8>
                      : n <= 16 * kLanes ? advance<16>
                                         : advance<0>;
  launch(stream, kernel, shape, net);
}

}  // namespace

void fill_gated_delta_net(OpTable& table) {
  table.gated_delta_net = {run_gated_delta_net};
}

}  // namespace parlance::cuda
