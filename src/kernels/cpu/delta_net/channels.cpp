// short_conv by channels: each thread takes blocks of them through all tokens.
#include <algorithm>
#include <cassert>

#include "base/checked.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/delta_net/kernels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/sequence_runs.h"

namespace parlance::delta_net {

namespace {

// A thread's scratch memory.
struct ChannelScratch {
  explicit ChannelScratch(const ShortConvArgs& args) : n_tap(args.weight.ne[0]) {
    inputs = 2 * n_tap * kChannelBlock * static_cast<int64_t>(sizeof(float));
    total = align_up<int64_t>(inputs + n_tap * static_cast<int64_t>(sizeof(const float*)), 64);
  }
  int64_t n_tap;
  int64_t inputs;  // where the addresses of a token's inputs are, behind the taps and the inputs before a run
  int64_t total;
};

// taps [n_tap][kChannelBlock] = weight [n][n_tap]. The compiler makes shuffles of it when it knows n_tap.
template <int64_t kTaps>
void collect_taps(const float* weight, int64_t n, int64_t n_tap, float* taps) {
  if (kTaps > 0) n_tap = kTaps;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t tap = 0; tap < n_tap; ++tap) taps[tap * kChannelBlock + i] = weight[i * n_tap + tap];
  }
}

// Some channels, at most kChannelBlock, and their part of the state.
class ChannelBlock {
 public:
  ChannelBlock(const ShortConvArgs& args, const Kernels& kernels, int64_t first, int64_t n,
               std::byte* scratch)
      : args_(args),
        kernels_(kernels),
        first_(first),
        n_(n),
        n_channel_(args.x.ne[0]),
        n_tap_(args.weight.ne[0]),
        taps_(reinterpret_cast<float*>(scratch)),
        before_(taps_ + n_tap_ * kChannelBlock),
        inputs_(reinterpret_cast<const float**>(scratch + ChannelScratch(args).inputs)) {
    const auto* weight = args.weight.as<const float>() + first * n_tap_;
    (n_tap_ == 4 ? collect_taps<4> : collect_taps<0>)(weight, n_, n_tap_, taps_);
  }

  void advance(const SequenceRun& run) {
    const int64_t n_back = n_tap_ - 1;
    const Tensor& memory = args_.memory.kept;
    const float* x = args_.x.as<const float>() + run.first * n_channel_ + first_;
    float* out = args_.out.as<float>() + run.first * n_channel_ + first_;
    float* state = args_.memory.state.as<float>() + run.seq * n_back * n_channel_ + first_;
    float* kept = memory ? memory.as<float>() + run.seq * memory.ne[1] * n_channel_ + first_ : nullptr;
    for (int64_t i = 0; i < n_back; ++i) {
      if (run.starts_from_zero()) {
        std::fill_n(before_ + i * kChannelBlock, n_, 0.0f);
      } else {
        std::copy_n(state + i * n_channel_, n_, before_ + i * kChannelBlock);
      }
    }
    const auto input = [&](int64_t pos) -> const float* {
      if (pos >= run.pos) return x + (pos - run.pos) * n_channel_;
      if (pos >= run.from) return kept + pos % memory.ne[1] * n_channel_;
      return before_ + (pos - run.from + n_back) * kChannelBlock;
    };
    for (int64_t token = 0; token < run.n_tokens(); ++token) {
      for (int64_t tap = 0; tap < n_tap_; ++tap) inputs_[tap] = input(run.pos + token + tap - n_back);
      kernels_.convolve(taps_, inputs_, n_tap_, n_, out + token * n_channel_);
    }
    for (int64_t i = 0; i < n_back; ++i) std::copy_n(input(run.to + i - n_back), n_, state + i * n_channel_);
    for (int64_t pos = run.first_kept(); pos < run.end_pos(); ++pos)
      std::copy_n(input(pos), n_, kept + pos % memory.ne[1] * n_channel_);
  }

 private:
  const ShortConvArgs& args_;
  const Kernels& kernels_;
  const int64_t first_;
  const int64_t n_;
  const int64_t n_channel_;
  const int64_t n_tap_;
  float* const taps_;           // [n_tap_][kChannelBlock]
  float* const before_;         // [n_tap_ - 1][kChannelBlock]: inputs before the run, oldest first
  const float** const inputs_;  // [n_tap_]: of one token, oldest first
};

}  // namespace

void run_channels(Stream& stream, const ShortConvArgs& args, const Kernels& kernels) {
  ThreadPool& pool = pool_of(stream);
  const ChannelScratch layout(args);
  assert(stream.scratch().size() >= scratch_of_channels(args, pool.n_threads()));
  const int64_t n_channel = args.x.ne[0], n_tokens = args.x.ne[1];
  const auto run_block = [&](int64_t block, int thread) {
    const int64_t first = block * kChannelBlock;
    ChannelBlock channels(args, kernels, first, std::min(kChannelBlock, n_channel - first),
                          stream.scratch().data() + thread * layout.total);
    for (int64_t token = 0; token < n_tokens;) {
      const SequenceRun run = run_from(args.batch, token);
      channels.advance(run);
      token = run.end;
    }
  };
  pool.run(div_up(n_channel, kChannelBlock), run_block);
}

size_t scratch_of_channels(const ShortConvArgs& args, int n_threads) {
  return static_cast<size_t>(n_threads * ChannelScratch(args).total);
}

}  // namespace parlance::delta_net
