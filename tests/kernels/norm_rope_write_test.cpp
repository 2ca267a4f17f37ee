#include "kernels/support/kv_pages.h"

namespace parlance::test {
namespace {

struct Setting {
  KvFormat format = KvFormat::f32;
  bool has_q_norm = true;
  bool has_k_norm = true;
  RopeStyle style = RopeStyle::halves;
  int64_t head_dim = 64;
  int64_t n_rot = 64;
  int64_t n_head = 4;
};

class NormRopeWrite : public KernelTest {
 protected:
  struct Result {
    std::vector<float> q;
    std::vector<std::byte> pages;
  };

  // The operation, or (is_fused = false) the three that it stands for.
  static Result run(OpBench& bench, const Setting& setting, const KvPages& pages, const TokenPlaces& places,
                    const std::vector<std::vector<float>>& inputs, bool is_fused) {
    const int64_t n = places.size(), n_head_kv = 2;
    const KvLayers layers = pages.on(bench, pages.unwritten());
    const KvView kv = layers.layer(1);
    const BatchView batch = places.on(bench);
    const Tensor q = bench.upload({setting.head_dim, setting.n_head, n, 1}, inputs[0]);
    const Tensor k = bench.upload({setting.head_dim, n_head_kv, n, 1}, inputs[1]);
    const Tensor v = bench.upload({setting.head_dim, n_head_kv, n, 1}, inputs[2]);
    const Tensor norm = bench.upload({setting.head_dim, 1, 1, 1}, inputs[3]);
    const Tensor angles = bench.upload({setting.n_rot / 2, 2, n, 1}, inputs[4]);
    const Tensor q_norm = setting.has_q_norm ? norm : Tensor{}, k_norm = setting.has_k_norm ? norm : Tensor{};
    Result result;
    result.q = bench.run([&](Stream& s) {
      if (is_fused) {
        norm_rope_write(s, q, k, v, {q_norm, k_norm, 1e-6f}, angles, setting.style, kv, batch);
        return q;
      }
      const Tensor normed_q = q_norm ? rms_norm(s, q, q_norm, 1e-6f) : q;
      const Tensor normed_k = k_norm ? rms_norm(s, k, k_norm, 1e-6f) : k;
      rope(s, normed_q, angles, setting.style);
      rope(s, normed_k, angles, setting.style);
      kv_write(s, kv, normed_k, v, batch);
      return normed_q;
    });
    result.pages = KvPages::contents(bench, layers);
    return result;
  }

  void compare(const Setting& setting, const TokenPlaces& places) {
    const KvShape shape{.k = {.format = setting.format},
                        .v = {.format = setting.format},
                        .head_dim_k = setting.head_dim,
                        .head_dim_v = setting.head_dim};
    const KvPages pages(shape, {40, 20}, random_);
    const int64_t n = places.size();
    const std::vector<std::vector<float>> inputs = {
        random_floats(setting.head_dim * setting.n_head * n, 3), random_floats(setting.head_dim * 2 * n, 3),
        random_floats(setting.head_dim * 2 * n), random_floats(setting.head_dim),
        random_floats(setting.n_rot * n)};
    OpBench a = tested(), b = reference();
    const Result got = run(a, setting, pages, places, inputs, true);
    const Result want = run(b, setting, pages, places, inputs, false);
    expect_close(got.q, want.q, 1e-6f, 1e-5f);
    expect_close(decoded(got.pages, setting.format), decoded(want.pages, setting.format), 1e-6f,
                 setting.format == KvFormat::f32 ? 1e-5f : 1e-2f);
  }

  // The values of all rows, with a number in place of those that nobody wrote.
  static std::vector<float> decoded(const std::vector<std::byte>& pages, KvFormat format) {
    const KvFormatTraits& t = traits(format);
    std::vector<float> values(pages.size() / t.block_bytes * t.block_elements);
    t.decode_stored_row(pages.data(), values.data(), static_cast<int64_t>(values.size()));
    for (float& value : values) value = std::isnan(value) ? 12345.0f : value;
    return values;
  }
};

TEST_P(NormRopeWrite, EqualsTheOperationsThatItStandsFor) {
  const TokenPlaces places = TokenPlaces().add(0, 13, 7).add(1, 2, 3).add(0, 39, 1);
  for (const bool has_q_norm : {false, true}) {
    for (const bool has_k_norm : {false, true}) {
      for (const auto style : {RopeStyle::halves, RopeStyle::neighbours}) {
        compare({.has_q_norm = has_q_norm, .has_k_norm = has_k_norm, .style = style}, places);
      }
    }
  }
  for (const auto format : {KvFormat::f16, KvFormat::bf16, KvFormat::q8_0})
    compare({.format = format}, places);
}

TEST_P(NormRopeWrite, AwkwardShapes) {
  for (const int64_t head_dim : {2, 6, 30, 34, 80, 128, 256}) {
    for (const int64_t rest : {0, 2}) {
      if (head_dim - rest < 2) continue;
      for (const int64_t n_head : {2, 6}) {
        compare({.head_dim = head_dim, .n_rot = head_dim - rest, .n_head = n_head},
                TokenPlaces().add(0, 3, 1));
        compare({.head_dim = head_dim, .n_rot = head_dim - rest, .n_head = n_head},
                TokenPlaces().add(0, 0, 33));
      }
    }
  }
  compare({.head_dim = 256, .n_rot = 64, .n_head = 8}, TokenPlaces().add(0, 0, 33));  // a quarter rotates
  compare({}, TokenPlaces());
}

TEST_P(NormRopeWrite, EqualisesKeysAndQueries) {
  if (!tested().device().ops().equalises_kv) GTEST_SKIP() << "this device does not equalise keys";
  constexpr int64_t kDim = 64, kHeads = 4, kHeadsKv = 2;
  const KvPages pages({.k = {.format = KvFormat::f32}, .v = {.format = KvFormat::f32}}, {40}, random_);
  const TokenPlaces places = TokenPlaces().add(0, 3, 5);
  const int64_t n = places.size();
  const std::vector<float> q_in = random_floats(kDim * kHeads * n), k_in = random_floats(kDim * kHeadsKv * n),
                           angles = random_floats(kDim * n), shift = random_floats(kDim * kHeadsKv);
  std::vector<float> scale, inverse;
  for (const float x : random_floats(kDim * kHeadsKv)) {
    scale.push_back(std::exp2(std::round(2 * x)));  // powers of two, so that nothing is rounded
    inverse.push_back(1 / scale.back());
  }
  const auto run = [&](bool is_equalised) {
    OpBench bench = tested();
    const KvLayers layers = pages.on(bench, pages.unwritten());
    KvView kv = layers.layer(0);
    if (is_equalised) {
      kv.k_shift = bench.upload({kDim, kHeadsKv, 1, 1}, shift);
      kv.k_scale = bench.upload({kDim, kHeadsKv, 1, 1}, scale);
      kv.q_scale = bench.upload({kDim, kHeadsKv, 1, 1}, inverse);
    }
    const Tensor q = bench.upload({kDim, kHeads, n, 1}, q_in), k = bench.upload({kDim, kHeadsKv, n, 1}, k_in);
    const Tensor v = bench.upload({kDim, kHeadsKv, n, 1}, k_in);
    const Tensor turns = bench.upload({kDim / 2, 2, n, 1}, angles);
    Result result;
    const BatchView batch = places.on(bench);
    result.q = bench.run([&](Stream& s) {
      norm_rope_write(s, q, k, v, {}, turns, RopeStyle::halves, kv, batch);
      return q;
    });
    result.pages = KvPages::contents(bench, layers);
    return result;
  };
  const Result plain = run(false), got = run(true);
  for (size_t i = 0; i < plain.q.size(); ++i) {
    const size_t head = i / kDim % kHeads / (kHeads / kHeadsKv);
    ASSERT_EQ(got.q[i], plain.q[i] * inverse[head * kDim + i % kDim]) << i;
  }
  // Where keys of a head lie in a page of 16 positions, before all values.
  const std::vector<float> before = decoded(plain.pages, KvFormat::f32),
                           after = decoded(got.pages, KvFormat::f32);
  int n_keys = 0;
  for (size_t i = 0; i < before.size() / 2; ++i) {
    const size_t in_page = i % (2 * kHeadsKv * 16 * kDim), head = in_page / (16 * kDim);
    if (before[i] == 12345.0f || head >= kHeadsKv) {
      ASSERT_EQ(after[i], before[i]) << i;  // values, and what nobody wrote
      continue;
    }
    const size_t element = head * kDim + in_page % kDim;
    ASSERT_EQ(after[i], (before[i] - shift[element]) * scale[element]) << i;
    ++n_keys;
  }
  EXPECT_EQ(n_keys, n * kHeadsKv * kDim);
}

PARLANCE_FOR_EACH_DEVICE(NormRopeWrite, &OpTable::norm_rope_write, &OpTable::rms_norm, &OpTable::rope,
                         &OpTable::kv_write);

}  // namespace
}  // namespace parlance::test
