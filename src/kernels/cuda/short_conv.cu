// short_conv on CUDA: a thread for each channel of each token. The first tokens of a run see what came before
// them; the first thread computes them all, and then renews the state.
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runs.cuh"
#include "kernels/cuda/silu.cuh"

namespace parlance::cuda {

namespace {

struct Conv {
  const float* x;       // (n_channel, n_tokens)
  const float* weight;  // (n_kept + 1, n_channel)
  float* state;         // (n_channel, n_back, n_seq)
  float* kept;          // (n_channel, n_places, n_seq), or null
  float* out;           // (n_channel, n_tokens)
  TokenPlaces places;
  int64_t n_channel;
  int n_back;
  int n_places;

  __device__ float* kept_at(int seq, int pos, int64_t channel) const {
    return kept + (static_cast<int64_t>(seq) * n_places + pos % n_places) * n_channel + channel;
  }
};

// Tokens from the beginning of the run to `token`, at most n_back.
__device__ int tokens_before(const Conv& conv, int token) {
  int n = 0;
  while (n < conv.n_back && !starts_run(conv.places, token - n)) ++n;
  return n;
}

// `input(tap)` is what each tap sees.
template <class Input>
__device__ float convolve(const Conv& conv, int64_t channel, const Input& input) {
  const float* weight = conv.weight + channel * (conv.n_back + 1);
  float sum = 0;
  for (int tap = 0; tap <= conv.n_back; ++tap) sum = fmaf(weight[tap], input(tap), sum);
  return silu(sum);
}

__device__ void begin_run(const Conv& conv, int first, int64_t channel) {
  const int seq = conv.places.seq[first];
  const auto [pos, end, from, to] = way_of(conv.places, first);
  float* state = conv.state + static_cast<int64_t>(seq) * conv.n_back * conv.n_channel + channel;
  const auto input = [&](int p) {
    if (p >= pos) return conv.x[(first + p - pos) * conv.n_channel + channel];
    if (p >= from) return *conv.kept_at(seq, p, channel);
    return from == 0 ? 0.0f : state[(p - from + conv.n_back) * conv.n_channel];
  };
  for (int p = pos; p < min(end, pos + conv.n_back); ++p) {
    conv.out[(first + p - pos) * conv.n_channel + channel] =
        convolve(conv, channel, [&](int tap) { return input(p - conv.n_back + tap); });
  }
  // In ascending order: each input is read before its place is written.
  for (int i = 0; i < conv.n_back; ++i) state[i * conv.n_channel] = input(to - conv.n_back + i);
  for (int p = max(pos, to); p < end; ++p) *conv.kept_at(seq, p, channel) = input(p);
}

__global__ void convolve_runs(const __grid_constant__ Conv conv) {
  let_next_start();
  wait_for_previous();
  for_each_element(conv.n_channel * conv.places.n_tokens, [&](int64_t i) {
    const int token = static_cast<int>(i / conv.n_channel);
    const int64_t channel = i % conv.n_channel;
    const int n_before = tokens_before(conv, token);
    if (n_before == conv.n_back) {
      const float* first = conv.x + (token - conv.n_back) * conv.n_channel + channel;
      conv.out[i] = convolve(conv, channel, [&](int tap) { return first[tap * conv.n_channel]; });
    } else if (n_before == 0) {
      begin_run(conv, token, channel);
    }
  });
}

void run_short_conv(Stream& stream, const ShortConvArgs& args) {
  const int64_t n = args.x.n_elements();
  if (n == 0) return;
  const Conv conv{.x = args.x.as<const float>(),
                  .weight = args.weight.as<const float>(),
                  .state = args.memory.state.as<float>(),
                  .kept = args.memory.kept.as<float>(),
                  .out = args.out.as<float>(),
                  .places = places_of(args.batch),
                  .n_channel = args.x.ne[0],
                  .n_back = static_cast<int>(args.weight.ne[0] - 1),
                  .n_places = static_cast<int>(args.memory.kept.ne[1])};
  launch(stream, convolve_runs, shape_of_elements(n), conv);
}

}  // namespace

void fill_short_conv(OpTable& table) {
  table.short_conv = {run_short_conv};
}

}  // namespace parlance::cuda
