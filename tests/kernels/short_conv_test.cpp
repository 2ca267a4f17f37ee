#include "kernels/support/kv_pages.h"

namespace parlance::test {
namespace {

class ShortConv : public KernelTest {
 protected:
  void SetUp() override {
    if (may_skip(tested().device().ops().short_conv)) GTEST_SKIP() << "the device has no short_conv";
  }

  // Both devices make the same of the same inputs, and keep the same of them.
  void expect_match(int64_t n_channel, int64_t n_tap, const TokenPlaces& places) {
    const int64_t n_tokens = places.size();
    const int64_t n_seq = 1 + *std::max_element(places.seq.begin(), places.seq.end());
    const auto x = random_floats(n_channel * n_tokens, 5), weight = random_floats(n_tap * n_channel, 2);
    const auto state = random_floats(n_channel * (n_tap - 1) * n_seq, 5);
    const auto on = [&](OpBench bench) {
      const Tensor tx = bench.upload({n_channel, n_tokens, 1, 1}, x);
      const Tensor tw = bench.upload({n_tap, n_channel, 1, 1}, weight);
      const Tensor ts = bench.upload({n_channel, n_tap - 1, n_seq, 1}, state);
      const BatchView batch = places.on(bench);
      const auto out = bench.run([&](Stream& s) { return short_conv(s, tx, tw, {ts}, batch); });
      return std::pair{out, bench.download(ts)};
    };
    SCOPED_TRACE(testing::Message() << n_channel << " channels, " << n_tap << " taps, " << n_tokens
                                    << " tokens");
    const auto got = on(tested()), want = on(reference());
    expect_close(got.first, want.first, 2e-5f, 1e-6f);
    EXPECT_EQ(got.second, want.second);
  }
};

TEST_P(ShortConv, NumbersOfChannels) {
  for (const int64_t n : {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 511, 512, 513, 1000, 6144, 8192}) {
    expect_match(n, 4, TokenPlaces().add(0, 3, 1));
    expect_match(n, 4, TokenPlaces().add(0, 0, 7));
  }
}

TEST_P(ShortConv, NumbersOfTokens) {
  for (const int32_t n : {1, 2, 3, 4, 5, 150}) {
    for (const int32_t first : {0, 1, 2, 90}) expect_match(40, 4, TokenPlaces().add(0, first, n));
  }
}

TEST_P(ShortConv, NumbersOfTaps) {
  for (const int64_t n_tap : {2, 3, 4, 5, 8, 16}) {
    for (const int32_t n : {1, 2, 20}) expect_match(50, n_tap, TokenPlaces().add(0, 6, n));
  }
}

TEST_P(ShortConv, SequencesSideBySide) {
  expect_match(70, 4, TokenPlaces().add(2, 9, 1).add(0, 0, 1).add(3, 70, 1));
  expect_match(70, 4, TokenPlaces().add(1, 12, 40).add(4, 0, 2).add(0, 7, 1).add(2, 0, 50));
  // Every length around that of the window, at the start of a sequence and later.
  TokenPlaces places;
  for (int32_t s = 0; s < 14; ++s) places.add(13 - s, s % 2 == 0 ? 0 : 3 + s, 1 + s / 2);
  for (const int64_t n_tap : {2, 4, 8}) expect_match(70, n_tap, places);
}

PARLANCE_FOR_EACH_DEVICE(ShortConv, &OpTable::short_conv);

}  // namespace
}  // namespace parlance::test
