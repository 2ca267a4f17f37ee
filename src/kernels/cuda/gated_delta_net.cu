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
  float* state;   // (head_dim, head_dim, n_value_head, n_seq)
  float* beyond;  // the same for states that go on where the stored ones stay, of heads in memory; or null
  float* kept;    // (n_kept, n_places, n_seq): qkv, alpha and beta of a token; or null
  float* out;     // (head_dim, n_value_head, n_tokens)
  TokenPlaces places;
  int n_places;
  int window;  // tokens
  int head_dim;
  int n_key_head;
  int n_value_head;
  float eps;
};

// What is taken in of a token.
struct Inputs {
  const float* qkv;    // (head_dim, 2 n_key_head + n_value_head)
  const float* alpha;  // (n_value_head)
  const float* beta;
};

__device__ int64_t qkv_values(const Net& net) {
  return static_cast<int64_t>(2 * net.n_key_head + net.n_value_head) * net.head_dim;
}

__device__ float* kept_at(const Net& net, int seq, int pos) {
  const int64_t place = static_cast<int64_t>(seq) * net.n_places + pos % net.n_places;
  return net.kept + place * (qkv_values(net) + 2 * net.n_value_head);
}

// A run of tokens, of which `first` is the first.
struct Run {
  int first;
  int seq;
  Way way;

  __device__ int token(int pos) const { return first + pos - way.pos; }
  __device__ Inputs inputs(const Net& net, int pos) const {
    if (pos < way.pos) {
      const float* qkv = kept_at(net, seq, pos);
      return {qkv, qkv + qkv_values(net), qkv + qkv_values(net) + net.n_value_head};
    }
    const int64_t gates = static_cast<int64_t>(token(pos)) * net.n_value_head;
    return {net.qkv + token(pos) * qkv_values(net), net.alpha + gates, net.beta + gates};
  }
};

// The row of the state that a group of lanes works on.
struct Place {
  int head;
  int value;
  int lane;
  bool exists;  // others compute what the last one does, so that warps stay together

  __device__ int64_t q_at(const Net& net) const {
    return static_cast<int64_t>(head % net.n_key_head) * net.head_dim;
  }
  __device__ int64_t k_at(const Net& net) const {
    return q_at(net) + static_cast<int64_t>(net.n_key_head) * net.head_dim;
  }
  __device__ int64_t v_at(const Net& net) const {
    return static_cast<int64_t>(2 * net.n_key_head + head) * net.head_dim + value;
  }
  __device__ int64_t row_at(const Net& net, int seq) const {
    return ((static_cast<int64_t>(seq) * net.n_value_head + head) * net.head_dim + value) * net.head_dim;
  }
};

// Each value's lanes keep the element of their number of what is to be kept of a token.
__device__ void keep(const Net& net, const Place& place, const Run& run, int pos) {
  if (!place.exists || pos < max(run.way.pos, run.way.to)) return;
  const Inputs inputs = run.inputs(net, pos);
  float* kept = kept_at(net, run.seq, pos);
  const auto copy = [&](int64_t at) { kept[at] = inputs.qkv[at]; };
  if (place.lane == 0) copy(place.v_at(net));
  if (place.lane == 1 && place.head < net.n_key_head) copy(place.q_at(net) + place.value);
  if (place.lane == 2 && place.head < net.n_key_head) copy(place.k_at(net) + place.value);
  if (place.lane == 3 && place.value == 0) {
    kept[qkv_values(net) + place.head] = inputs.alpha[place.head];
    kept[qkv_values(net) + net.n_value_head + place.head] = inputs.beta[place.head];
  }
}

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

// All lanes of the warp take part, with sums of their own keys; the first one stores the token's output, if
// the token is one of the batch.
__device__ Change change_of(const Net& net, const Place& place, const Run& run, int pos,
                            const Sums& lanes_sums) {
  const Inputs inputs = run.inputs(net, pos);
  const float step = softplus(inputs.alpha[place.head] + net.dt_bias[place.head]);
  const float decay = expf(net.a[place.head] * step);
  const float beta = 1 / (1 + expf(-inputs.beta[place.head]));
  const float v = inputs.qkv[place.v_at(net)];
  const float k_scale = 1 / fmaxf(sqrtf(sum_of_lanes(lanes_sums.kk)), net.eps);
  const float q_scale =
      1 / (fmaxf(sqrtf(sum_of_lanes(lanes_sums.qq)), net.eps) * sqrtf(static_cast<float>(net.head_dim)));
  const float seen = decay * k_scale * sum_of_lanes(lanes_sums.sk);
  const float learned = beta * (v - seen) * k_scale;
  const float read = fmaf(decay, sum_of_lanes(lanes_sums.sq), learned * sum_of_lanes(lanes_sums.kq));
  if (place.exists && place.lane == 0 && pos >= run.way.pos) {
    const int64_t head = static_cast<int64_t>(run.token(pos)) * net.n_value_head + place.head;
    net.out[head * net.head_dim + place.value] = q_scale * read;
  }
  return {decay, learned};
}

// Walks a run with the row in registers: lane l has the keys l, l + kLanes, ….
template <int kKeys>
__device__ void walk_run(const Net& net, const Place& place, const Run& run) {
  const auto [pos, end, from, to] = run.way;
  float* row = net.state + place.row_at(net, run.seq);
  const int64_t q_at = place.q_at(net), k_at = place.k_at(net);
  const auto load = [&](const float* x, int i) {
    const int key = place.lane + i * kLanes;
    return key < net.head_dim ? x[key] : 0.0f;
  };
  float state[kKeys], next_q[kKeys], next_k[kKeys];
  const auto load_next = [&](int next) {
    const float* qkv = run.inputs(net, next).qkv;
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      next_q[i] = load(qkv + q_at, i);
      next_k[i] = load(qkv + k_at, i);
    }
  };
  const auto store = [&] {
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      const int key = place.lane + i * kLanes;
      if (place.exists && key < net.head_dim) row[key] = state[i];
    }
  };
#pragma unroll
  for (int i = 0; i < kKeys; ++i) state[i] = from == 0 ? 0.0f : load(row, i);
  load_next(from);
  for (int p = from; p < end; ++p) {
    if (p == to) store();
    keep(net, place, run, p);
    float k[kKeys];
    Sums sums{};
#pragma unroll
    for (int i = 0; i < kKeys; ++i) {
      k[i] = next_k[i];
      sums.add(state[i], next_q[i], k[i]);
    }
    load_next(min(p + 1, end - 1));
    const Change change = change_of(net, place, run, p, sums);
#pragma unroll
    for (int i = 0; i < kKeys; ++i) state[i] = fmaf(change.learned, k[i], change.decay * state[i]);
  }
  if (to == end) store();
}

// The same with the row where it lies, for heads that registers do not hold.
template <>
__device__ void walk_run<0>(const Net& net, const Place& place, const Run& run) {
  const auto [pos, end, from, to] = run.way;
  float* row = net.state + place.row_at(net, run.seq);
  for (int p = from; p < end; ++p) {
    if (p == to) {  // the stored one stays
      float* beyond = net.beyond + place.row_at(net, run.seq);
      for (int key = place.lane; place.exists && key < net.head_dim; key += kLanes) beyond[key] = row[key];
      row = beyond;
    }
    keep(net, place, run, p);
    const bool is_empty = p == 0;
    const float* qkv = run.inputs(net, p).qkv;
    const float *q = qkv + place.q_at(net), *k = qkv + place.k_at(net);
    Sums sums{};
    for (int key = place.lane; key < net.head_dim; key += kLanes) {
      sums.add(is_empty ? 0.0f : row[key], q[key], k[key]);
    }
    const Change change = change_of(net, place, run, p, sums);
    for (int key = place.lane; place.exists && key < net.head_dim; key += kLanes) {
      row[key] = fmaf(change.learned, k[key], change.decay * (is_empty ? 0.0f : row[key]));
    }
  }
}

// Block (window, value head, rows).
template <int kKeys>
__global__ void __launch_bounds__(kThreads) advance(const __grid_constant__ Net net) {
  let_next_start();
  wait_for_previous();
  const int row = blockIdx.z * kRows + threadIdx.x / kLanes;
  const Place place{static_cast<int>(blockIdx.y), min(row, net.head_dim - 1),
                    static_cast<int>(threadIdx.x) % kLanes, row < net.head_dim};
  const int window_end = min(net.places.n_tokens, static_cast<int>(blockIdx.x + 1) * net.window);
  for (int token = blockIdx.x * net.window; token < window_end; ++token) {
    if (!starts_run(net.places, token)) continue;
    walk_run<kKeys>(net, place, {token, net.places.seq[token], way_of(net.places, token)});
  }
}

constexpr int kMostKeysInRegisters = 16 * kLanes;

// For states beyond the stored ones, of heads in memory.
size_t scratch_of_gated_delta_net(const GatedDeltaNetArgs& args, int) {
  const bool is_wanted = args.memory.kept && args.memory.state.ne[0] > kMostKeysInRegisters;
  return is_wanted ? args.memory.state.size() : 0;
}

void run_gated_delta_net(Stream& stream, const GatedDeltaNetArgs& args) {
  const Recurrence& memory = args.memory;
  const auto n = static_cast<int>(memory.state.ne[0]), n_value_head = static_cast<int>(memory.state.ne[2]);
  const auto n_tokens = static_cast<int>(args.qkv.ne[1]);
  if (n_tokens == 0) return;
  const Net net{.qkv = args.qkv.as<const float>(),
                .alpha = args.alpha.as<const float>(),
                .beta = args.beta.as<const float>(),
                .a = args.a.as<const float>(),
                .dt_bias = args.dt_bias.as<const float>(),
                .state = memory.state.as<float>(),
                .beyond = reinterpret_cast<float*>(scratch_of(stream)),
                .kept = memory.kept.as<float>(),
                .out = args.out.as<float>(),
                .places = places_of(args.batch),
                .n_places = static_cast<int>(memory.kept.ne[1]),
                .window = div_up(n_tokens, kWindows),
                .head_dim = n,
                .n_key_head = (static_cast<int>(args.qkv.ne[0]) / n - n_value_head) / 2,
                .n_value_head = n_value_head,
                .eps = args.eps};
  const Shape shape{
      .grid = dim3(static_cast<unsigned>(div_up(n_tokens, net.window)), static_cast<unsigned>(n_value_head),
                   static_cast<unsigned>(div_up(n, kRows))),
      .block = dim3(kThreads)};
  const auto kernel = n <= 4 * kLanes             ? advance<4>
                      : n <= 8 * kLanes           ? advance<8>
                      : n <= kMostKeysInRegisters ? advance<16>
                                                  : advance<0>;
  launch(stream, kernel, shape, net);
}

}  // namespace

void fill_gated_delta_net(OpTable& table) {
  table.gated_delta_net = {run_gated_delta_net, scratch_of_gated_delta_net};
}

}  // namespace parlance::cuda
