// channel_norm and elu on the CPU: parts of what encodes a reference once, so plain loops for every
// instruction set.
#include <cmath>
#include <vector>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

// Channels [first, last), whose sums are kept side by side while the values are read in their order.
void normalise_channels(const ChannelNormArgs& args, int64_t first, int64_t last) {
  const int64_t n_channel = args.x.ne[0], n = args.x.ne[1];
  auto* x = args.x.as<float>();
  std::vector<double> mean(static_cast<size_t>(last - first)), squares(mean.size());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = first; c < last; ++c)
      mean[static_cast<size_t>(c - first)] += static_cast<double>(x[i * n_channel + c]);
  }
  for (double& value : mean) value /= static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = first; c < last; ++c) {
      const double d = static_cast<double>(x[i * n_channel + c]) - mean[static_cast<size_t>(c - first)];
      squares[static_cast<size_t>(c - first)] += d * d;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = first; c < last; ++c) {
      const auto at = static_cast<size_t>(c - first);
      const double scale =
          1 / std::sqrt(squares[at] / static_cast<double>(n) + static_cast<double>(args.eps));
      float& value = x[i * n_channel + c];
      value = static_cast<float>((static_cast<double>(value) - mean[at]) * scale) *
                  args.weight.as<const float>()[c] +
              args.bias.as<const float>()[c];
    }
  }
}

void run_channel_norm(Stream& stream, const ChannelNormArgs& args) {
  constexpr int64_t kChannels = 16;  // a cache line of each place
  parallel_for(pool_of(stream), args.x.ne[0], kChannels,
               [&](int64_t first, int64_t last) { normalise_channels(args, first, last); });
}

void run_elu(Stream& stream, const EluArgs& args) {
  constexpr int64_t kGrain = kGrainElements / 16;  // it takes as long as sixteen reads and writes
  auto* x = args.x.as<float>();
  parallel_for(pool_of(stream), args.x.n_elements(), kGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      if (x[i] < 0) x[i] = std::expm1(x[i]);
    }
  });
}

}  // namespace

void fill_channel_norm(OpTable& table, Isa) {
  table.channel_norm = {run_channel_norm};
}

void fill_elu(OpTable& table, Isa) {
  table.elu = {run_elu};
}

}  // namespace parlance
