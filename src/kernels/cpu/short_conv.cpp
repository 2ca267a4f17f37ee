// short_conv on the CPU: the definition, and which kernels serve which instruction set.
#include <cmath>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/delta_net/kernels.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/sequence_runs.h"

namespace parlance {

namespace {

// One channel of a run. Its inputs are those of the state, those that were kept, and those of the run.
void convolve_channel(const ShortConvArgs& args, const SequenceRun& run, int64_t channel) {
  const int64_t n_channel = args.x.ne[0], n_tap = args.weight.ne[0], n_back = n_tap - 1;
  const Tensor& memory = args.memory.kept;
  const auto* x = args.x.as<const float>() + run.first * n_channel + channel;
  const auto* weight = args.weight.as<const float>() + channel * n_tap;
  auto* state = args.memory.state.as<float>() + run.seq * n_back * n_channel + channel;
  auto* kept = memory ? memory.as<float>() + run.seq * memory.ne[1] * n_channel + channel : nullptr;
  auto* out = args.out.as<float>() + run.first * n_channel + channel;
  const auto input = [&](int64_t pos) {
    if (pos >= run.pos) return x[(pos - run.pos) * n_channel];
    if (pos >= run.from) return kept[pos % memory.ne[1] * n_channel];
    return run.starts_from_zero() ? 0.0f : state[(pos - run.from + n_back) * n_channel];
  };
  for (int64_t token = 0; token < run.n_tokens(); ++token) {
    double sum = 0;
    for (int64_t tap = 0; tap < n_tap; ++tap) {
      sum += static_cast<double>(weight[tap]) * static_cast<double>(input(run.pos + token + tap - n_back));
    }
    out[token * n_channel] = static_cast<float>(sum / (1 + std::exp(-sum)));
  }
  // In ascending order: each input is read before its place is written.
  for (int64_t i = 0; i < n_back; ++i) state[i * n_channel] = input(run.to + i - n_back);
  for (int64_t pos = run.first_kept(); pos < run.end_pos(); ++pos)
    kept[pos % memory.ne[1] * n_channel] = input(pos);
}

void run_short_conv_scalar(Stream& stream, const ShortConvArgs& args) {
  const int64_t n_channel = args.x.ne[0], n_tokens = args.x.ne[1];
  parallel_rows(pool_of(stream), n_channel, n_tokens * args.weight.ne[0],
                [&](int64_t first_channel, int64_t end_channel) {
                  for (int64_t first = 0; first < n_tokens;) {
                    const SequenceRun run = run_from(args.batch, first);
                    for (int64_t channel = first_channel; channel < end_channel; ++channel) {
                      convolve_channel(args, run, channel);
                    }
                    first = run.end;
                  }
                });
}

template <const delta_net::Kernels& kernels>
void run_short_conv(Stream& stream, const ShortConvArgs& args) {
  delta_net::run_channels(stream, args, kernels);
}

}  // namespace

void fill_short_conv(OpTable& table, [[maybe_unused]] Isa isa) {
  table.short_conv = {run_short_conv_scalar};
#if PARLANCE_X86
  if (isa == Isa::avx2) {
    table.short_conv = {run_short_conv<delta_net::kAvx2>, delta_net::scratch_of_channels};
  }
  if (is_avx512(isa)) {
    table.short_conv = {run_short_conv<delta_net::kAvx512>, delta_net::scratch_of_channels};
  }
#elif PARLANCE_NEON
  if (is_neon(isa)) {
    table.short_conv = {run_short_conv<delta_net::kNeon>, delta_net::scratch_of_channels};
  }
#endif
}

}  // namespace parlance
