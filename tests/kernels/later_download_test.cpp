// Downloads that are begun and waited for later bring what was there when they were begun, in that order,
// whatever is queued behind them and whenever they are waited for.
#include <deque>

#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

class LaterDownload : public KernelTest {};

TEST_P(LaterDownload, BringsWhatWasThere) {
  OpBench bench = tested();
  Stream& stream = bench.stream();
  for (const int64_t n : {1, 3, 255, 256, 1000, 5000, 100000}) {
    const std::vector<float> ones(static_cast<size_t>(n), 1.0f), none(static_cast<size_t>(n), 0.0f);
    const Tensor x = bench.upload({n, 1, 1, 1}, none), one = bench.upload({n, 1, 1, 1}, ones);
    const int64_t n_few = std::min<int64_t>(n, 7);
    const Tensor few = bench.upload({n_few, 1, 1, 1}, std::vector<float>(static_cast<size_t>(n_few), 9.0f));
    // Whether one is begun or waited for next, in every order: by the bits of a number.
    for (int order = 0; order < 64; ++order) {
      std::deque<float> begun;
      std::vector<float> bytes(static_cast<size_t>(n + few.ne[0]));
      const auto end_first = [&] {
        ASSERT_TRUE(stream.end_download(std::as_writable_bytes(std::span(bytes))));
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(bytes[static_cast<size_t>(i)], begun.front()) << i << " of " << n;
        for (size_t i = static_cast<size_t>(n); i < bytes.size(); ++i) ASSERT_EQ(bytes[i], 9.0f);
        begun.pop_front();
      };
      stream.upload(x, std::as_bytes(std::span(none)));
      for (int step = 0; step < 6; ++step) {
        stream.step(1 + static_cast<uint64_t>(n), [&] { add(stream, x, one); });
        if (begun.size() == 3 || (!begun.empty() && (order >> step) % 2 == 1)) end_first();
        stream.begin_download(x, few);
        begun.push_back(static_cast<float>(step + 1));
      }
      while (!begun.empty() && !HasFatalFailure()) end_first();
      if (HasFatalFailure()) return;
      EXPECT_EQ(bench.download(x), std::vector<float>(static_cast<size_t>(n), 6.0f));
    }
  }
}

TEST_P(LaterDownload, OfAllThereMayBe) {
  OpBench bench = tested();
  const auto x = random_floats(static_cast<int64_t>(Stream::kMostLater / sizeof(float)));
  const Tensor tx = bench.upload({std::ssize(x), 1, 1, 1}, x);
  std::vector<float> got(x.size());
  for (int i = 0; i < 3; ++i) bench.stream().begin_download(tx);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(bench.stream().end_download(std::as_writable_bytes(std::span(got))));
    EXPECT_EQ(got, x);
    std::ranges::fill(got, 0.0f);
  }
}

PARLANCE_FOR_EACH_DEVICE(LaterDownload, &OpTable::add);

}  // namespace
}  // namespace parlance::test
