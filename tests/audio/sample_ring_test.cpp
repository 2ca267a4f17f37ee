#include "audio/sample_ring.h"

#include <thread>

#include "gtest/gtest.h"

namespace parlance {
namespace {

TEST(SampleRing, HoldsWhatFits) {
  SampleRing ring(4);
  EXPECT_EQ(ring.write(std::vector<float>{1, 2, 3}), 3u);
  EXPECT_EQ(ring.write(std::vector<float>{4, 5, 6}), 1u);
  EXPECT_EQ(ring.write(std::vector<float>{7}), 0u);
  std::vector<float> out(3);
  EXPECT_EQ(ring.read(out), 3u);
  EXPECT_EQ(out, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(ring.read(out), 1u);
  EXPECT_EQ(out[0], 4);
  EXPECT_EQ(ring.read(out), 0u);
  EXPECT_EQ(ring.written(), 4u);
  EXPECT_EQ(ring.taken(), 4u);
}

TEST(SampleRing, SkipsWhatWasWrittenBefore) {
  SampleRing ring(8);
  ring.write(std::vector<float>{1, 2, 3});
  const uint64_t position = ring.written();
  ring.write(std::vector<float>{4, 5});
  ring.skip_to(position);
  std::vector<float> out(8);
  EXPECT_EQ(ring.read(out), 2u);
  EXPECT_EQ(out[0], 4);
  ring.skip_to(position);  // long read
  ring.skip_to(position + 100);
  EXPECT_EQ(ring.taken(), ring.written());
}

TEST(SampleRing, TwoThreadsSeeEverySampleInOrder) {
  constexpr int kSamples = 300000;
  SampleRing ring(64);
  std::thread writer([&] {
    std::vector<float> piece;
    for (int next = 0; next < kSamples;) {
      piece.clear();
      for (int i = 0; i < 1 + next % 50 && next + i < kSamples; ++i)
        piece.push_back(static_cast<float>(next + i));
      const size_t n = ring.write(piece);
      if (n == 0) std::this_thread::yield();
      next += static_cast<int>(n);
    }
  });
  std::vector<float> out(37);
  int n_wrong = 0;
  for (int next = 0; next < kSamples;) {
    const size_t n = ring.read(out);
    if (n == 0) std::this_thread::yield();
    for (size_t i = 0; i < n; ++i) n_wrong += out[i] != static_cast<float>(next++);
  }
  writer.join();
  EXPECT_EQ(n_wrong, 0);
}

}  // namespace
}  // namespace parlance
