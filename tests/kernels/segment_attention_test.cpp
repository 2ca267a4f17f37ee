#include "kernels/support/devices.h"

namespace parlance::test {
namespace {

struct SegmentShape {
  int64_t head_dim, n_head, n_head_kv;
  std::vector<int32_t> bounds;
};

class SegmentAttention : public KernelTest {};

TEST_P(SegmentAttention, MatchesDefinition) {
  OpBench a = tested(), b = reference();
  if (may_skip(a.device().ops().segment_attention)) GTEST_SKIP() << "this device has no segment_attention";
  const SegmentShape shapes[] = {
      {64, 14, 14, {0, 104}},          // a window of Qwen3-ASR
      {64, 2, 2, {0, 104, 208, 221}},  // several, the last one short
      {64, 2, 2, {0, 25, 50, 75}},
      {32, 2, 2, {0, 1}},
      {32, 2, 1, {0, 7, 8, 15}},             // fewer rows than a tile of many
      {128, 4, 2, {0, 300, 300, 457}},       // several blocks of keys; an empty segment
      {20, 3, 1, {0, 47, 48, 49, 96, 145}},  // an odd head
      {8, 1, 1, {0, 128, 256, 385}},
      {128, 2, 1, {0, 641, 770}},  // many steps of keys
      {64, 2, 2, {0, 129, 258}},   // a step more than whole ones
  };
  for (const SegmentShape& shape : shapes) {
    SCOPED_TRACE(fmt::format("head_dim {} tokens {}", shape.head_dim, shape.bounds.back()));
    const int64_t n = shape.bounds.back();
    const auto q = random_floats(shape.head_dim * shape.n_head * n, 2);
    const auto k = random_floats(shape.head_dim * shape.n_head_kv * n, 2);
    const auto v = random_floats(shape.head_dim * shape.n_head_kv * n);
    const int64_t longest = n;  // wider than any segment
    const auto bias = random_floats(longest * n, 3);
    const auto on = [&](OpBench& bench, bool is_biased) {
      const Tensor tq = bench.upload({shape.head_dim, shape.n_head, n, 1}, q);
      const Tensor tk = bench.upload({shape.head_dim, shape.n_head_kv, n, 1}, k);
      const Tensor tv = bench.upload({shape.head_dim, shape.n_head_kv, n, 1}, v);
      const Tensor bounds = bench.upload(shape.bounds);
      const Tensor tb = is_biased ? bench.upload({longest, n, 1, 1}, bias) : Tensor{};
      return bench.run([&](Stream& s) { return segment_attention(s, tq, tk, tv, bounds, 0.125f, tb); });
    };
    expect_close(on(a, false), on(b, false), 3e-6f, 3e-6f);
    expect_close(on(a, true), on(b, true), 3e-6f, 3e-6f);
  }
}

// What a token sees is its segment: other segments do not change a bit of it.
TEST_P(SegmentAttention, SegmentsDoNotSeeEachOther) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().segment_attention))
    GTEST_SKIP() << "this device has no segment_attention";
  const int64_t n = 60;
  const auto x = random_floats(64 * n);
  const auto run = [&](int64_t n_tokens, const std::vector<int32_t>& bounds) {
    const Tensor t =
        bench.upload({64, 1, n_tokens, 1}, std::vector<float>(x.begin(), x.begin() + 64 * n_tokens));
    const Tensor at = bench.upload(bounds);
    return bench.run([&](Stream& s) { return segment_attention(s, t, t, t, at, 0.125f); });
  };
  const auto both = run(n, {0, 40, 60}), one = run(40, {0, 40});
  EXPECT_TRUE(std::equal(one.begin(), one.end(), both.begin()));
}

// NaN and infinities in a key or a value show in the rows of its segment, and change no bit of another's. (On CUDA a
// score of minus infinity has no weight.)
TEST_P(SegmentAttention, WhatIsNoNumberShowsInItsSegment) {
  OpBench bench = tested();
  constexpr int64_t kSize = 64, kTokens = 190, kDamaged = 64 * 130 + 17;  // in the last segment, of 5 and 100
  const auto q = random_floats(kSize * kTokens), k = random_floats(kSize * kTokens),
             v = random_floats(kSize * kTokens);
  const auto run = [&](const std::vector<float>& keys, const std::vector<float>& values) {
    const auto upload = [&](const std::vector<float>& x) { return bench.upload({kSize, 1, kTokens, 1}, x); };
    const Tensor tq = upload(q), tk = upload(keys), tv = upload(values);
    const Tensor bounds = bench.upload(std::vector<int32_t>{0, 85, 90, kTokens});
    return bench.run([&](Stream& s) { return segment_attention(s, tq, tk, tv, bounds, 0.125f); });
  };
  const auto sound = run(k, v);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(~0u), kInf, -kInf}) {
    for (const bool is_key : {true, false}) {
      if (is_key && std::isinf(odd) && device_cases()[GetParam()].name.starts_with("cuda")) continue;
      auto damaged = is_key ? k : v;
      damaged[kDamaged] = odd;
      const auto got = is_key ? run(damaged, v) : run(k, damaged);
      for (size_t i = 0; i < got.size(); ++i) {
        const bool is_shown = i >= kSize * 90 && (is_key || i % kSize == kDamaged % kSize);
        ASSERT_TRUE(is_shown ? !std::isfinite(got[i]) : got[i] == sound[i])
            << odd << (is_key ? " in a key" : " in a value") << ": element " << i << " is " << got[i];
      }
    }
  }
}

// Heads that are normed and turned on the way have the bits of the operations.
TEST_P(SegmentAttention, TurnsHeadsAsTheOperationsDo) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().segment_attention))
    GTEST_SKIP() << "this device has no segment_attention";
  constexpr float kEps = 1e-6f, kScale = 0.125f;
  struct Shape {
    int64_t head_dim, n_head, n_head_kv, n_pairs;
    bool has_norms;
    RopeStyle style;
  };
  for (const Shape& shape : {Shape{128, 4, 2, 64, true, RopeStyle::halves},
                             {64, 2, 2, 32, true, RopeStyle::halves},
                             {128, 2, 1, 64, false, RopeStyle::halves},
                             {128, 2, 1, 64, true, RopeStyle::neighbours},
                             {96, 2, 1, 24, true, RopeStyle::halves}}) {
    SCOPED_TRACE(fmt::format("head_dim {} pairs {}", shape.head_dim, shape.n_pairs));
    const int64_t n = 150;
    const auto q = random_floats(shape.head_dim * shape.n_head * n, 2);
    const auto k = random_floats(shape.head_dim * shape.n_head_kv * n, 2);
    const auto v = random_floats(shape.head_dim * shape.n_head_kv * n);
    const auto q_norm = random_floats(shape.head_dim), k_norm = random_floats(shape.head_dim);
    const auto angles = random_floats(shape.n_pairs * 2 * n);
    const auto run = [&](const auto& attend) {
      const Tensor tq = bench.upload({shape.head_dim, shape.n_head, n, 1}, q);
      const Tensor tk = bench.upload({shape.head_dim, shape.n_head_kv, n, 1}, k);
      const Tensor tv = bench.upload({shape.head_dim, shape.n_head_kv, n, 1}, v);
      const Tensor ta = bench.upload({shape.n_pairs, 2, n, 1}, angles);
      const Tensor bounds = bench.upload(std::vector<int32_t>{0, 37, 150});
      HeadNorms norms{{}, {}, kEps};
      if (shape.has_norms) {
        norms.q = bench.upload({shape.head_dim, 1, 1, 1}, q_norm);
        norms.k = bench.upload({shape.head_dim, 1, 1, 1}, k_norm);
      }
      return bench.run([&](Stream& s) { return attend(s, tq, tk, tv, norms, ta, bounds); });
    };
    const auto got = run([&](Stream& s, const Tensor& tq, const Tensor& tk, const Tensor& tv,
                             const HeadNorms& norms, const Tensor& ta, const Tensor& bounds) {
      return segment_attention(s, tq, tk, tv, norms, ta, shape.style, bounds, kScale);
    });
    const auto want = run([&](Stream& s, const Tensor& tq, const Tensor& tk, const Tensor& tv,
                              const HeadNorms& norms, const Tensor& ta, const Tensor& bounds) {
      const Tensor nq = norms.q ? rms_norm(s, tq, norms.q, kEps) : tq;
      const Tensor nk = norms.k ? rms_norm(s, tk, norms.k, kEps) : tk;
      rope(s, nq, ta, shape.style);
      rope(s, nk, ta, shape.style);
      return segment_attention(s, nq, nk, tv, bounds, kScale);
    });
    EXPECT_EQ(got, want);
  }
}

PARLANCE_FOR_EACH_DEVICE(SegmentAttention, &OpTable::segment_attention);

}  // namespace
}  // namespace parlance::test
