// col2im on the CPU. Two products meet at a place, since the window is twice the stride: no sums that an
// instruction set could order otherwise.
#include <algorithm>

#include "base/checked.h"
#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

void run_col2im(Stream& stream, const Col2imArgs& args) {
  const int64_t n_channel = args.out.ne[0], n_places = args.out.ne[1], n = args.columns.ne[1];
  const int64_t stride = args.stride, crop = div_up<int64_t>(stride, 2);
  const auto* columns = args.columns.as<const float>();
  const auto* bias = args.bias.as<const float>();
  auto* out = args.out.as<float>();
  const auto add_product = [&](int64_t t, int64_t tap, float* place) {
    const float* product = columns + (t * 2 * stride + tap) * n_channel;
    for (int64_t channel = 0; channel < n_channel; ++channel) place[channel] += product[channel];
  };
  parallel_rows(pool_of(stream), n_places, n_channel, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      float* place = out + i * n_channel;
      std::copy_n(bias, n_channel, place);
      if (stride % 2 != 0 && i + 1 == n_places) continue;
      const int64_t t = (i + crop) / stride, tap = (i + crop) % stride;
      if (t > 0) add_product(t - 1, tap + stride, place);
      if (t < n) add_product(t, tap, place);
    }
  });
}

}  // namespace

void fill_col2im(OpTable& table, Isa) {
  table.col2im = {run_col2im};
}

}  // namespace parlance
