// Products by the copies of weights that a device keeps as wide floats, beside those by the weights
// themselves: the same values, in sums of another order.
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include "kernels/between_attentions.h"
#include "kernels/fused_ops.h"
#include "kernels/support/devices.h"
#include "kernels/support/weights.h"
#include "kernels/widens_weights.h"

namespace parlance::test {
namespace {

class WidenedWeights : public KernelTest {
 protected:
  static constexpr float kEps = 1e-6f;

  struct Both {
    Linear plain, widened;
  };

  static Both random_linear(OpBench& bench, const WeightType& type, int64_t n_in, int64_t n_out,
                            uint32_t seed) {
    Random random(seed);
    OwnedTensor weight(type.dtype, n_in, n_out);
    fill_weight(random, type, weight.tensor);
    const std::span bytes(weight.tensor.data, weight.tensor.size());
    Both both;
    for (Linear* linear : {&both.plain, &both.widened}) {
      linear->weight = bench.upload(type.dtype, {n_in, n_out, 1, 1}, bytes);
      if (seed % 2 == 1) {
        OwnedTensor bias(DType::f32, n_out, 1);
        Random of_bias(seed);
        fill_normal(of_bias, bias.tensor);
        linear->bias = bench.upload(DType::f32, {n_out, 1, 1, 1}, {bias.tensor.data, bias.tensor.size()});
      }
    }
    EXPECT_TRUE(bench.stream().synchronize().has_value());
    if (widener(bench)->widened_bytes(both.widened.weight) > 0) {
      EXPECT_TRUE(widener(bench)->widen(both.widened.weight).has_value());
    }
    return both;
  }

  static WidensWeights* widener(OpBench& bench) { return dynamic_cast<WidensWeights*>(&bench.device()); }

  // Both are f16 with as many bits; of f32 weights, which lose next to none, those of the sums: tensor cores
  // cut off what is below the 24th bit of a sum at each 16 values, of which 2048 have 384 in three
  // passes, 4.6e-5 of it at most.
  static void expect_same(const std::vector<float>& got, const std::vector<float>& want) {
    ASSERT_EQ(got.size(), want.size());
    double squares = 0;
    for (const float value : want) squares += static_cast<double>(value) * value;
    const auto size = static_cast<float>(std::sqrt(squares / static_cast<double>(want.size())));
    expect_close(got, want, 1e-4f * size + 1e-30f, 1e-4f);
  }

  void expect_products(OpBench& bench, const WeightType& type, int64_t n_in, int64_t n_out, int64_t n_rows) {
    SCOPED_TRACE(testing::Message() << name_of(type.dtype) << " " << n_in << " x " << n_out << ", " << n_rows
                                    << " rows");
    const Both a = random_linear(bench, type, n_in, n_out, 3), b = random_linear(bench, type, n_in, n_out, 4),
               c = random_linear(bench, type, n_in, n_out / 2 + 1, 5);
    const Tensor x = bench.upload({n_in, n_rows, 1, 1}, random_floats(n_rows * n_in, 3));
    for (size_t i = 0; i < 3; ++i) {
      expect_same(bench.run([&](Stream& s) {
        return matmul(s, {&a.widened, &b.widened, &c.widened}, x).out[i];
      }),
                  bench.run([&](Stream& s) {
                    return matmul(s, {&a.plain, &b.plain, &c.plain}, x).out[i];
                  }));
      if (HasFatalFailure()) return;
    }
    if (!fuses_rows(bench.stream(), n_rows)) return;
    const Tensor norm = bench.upload({n_in, 1, 1, 1}, random_floats(n_in));
    const Normed normed{x, norm, kEps};
    expect_same(bench.run([&](Stream& s) { return matmul_swiglu(s, a.widened, b.widened, normed); }),
                bench.run([&](Stream& s) { return matmul_swiglu(s, a.plain, b.plain, normed); }));
    const std::vector<float> h = random_floats(n_rows * n_out);
    const auto added = [&](const Linear& w) {
      const Tensor to = bench.upload({n_out, n_rows, 1, 1}, h);
      return bench.run([&](Stream& s) {
        const Tensor sum = s.workspace().allocate(DType::f32, n_out, n_rows);
        copy(s, sum, to);
        matmul_add(s, sum, w, x);
        return sum;
      });
    };
    expect_same(added(a.widened), added(a.plain));
    if (n_out % (is_float(type.dtype) ? 8 : traits(type.dtype).block_elements) != 0) return;
    const Both down = random_linear(bench, type, n_out, n_in, 6);
    const std::vector<float> rows = random_floats(n_rows * n_in);
    const auto through = [&](const Linear& gate, const Linear& up, const Linear& down) {
      const Tensor to = bench.upload({n_in, n_rows, 1, 1}, rows);
      return bench.run([&](Stream& s) {
        const Tensor sum = s.workspace().allocate(DType::f32, n_in, n_rows);
        copy(s, sum, to);
        mlp_add(s, sum, gate, up, down, norm, kEps);
        return sum;
      });
    };
    // Gates that are close to the middle between two bytes may become either.
    EXPECT_LT(mean_square_error(through({a.widened.weight, {}}, b.widened, down.widened),
                                through({a.plain.weight, {}}, b.plain, down.plain)),
              1e-6);
  }

  // What lies between two attentions, with kept weights.
  struct BetweenLayers {
    static constexpr int64_t kEmbd = 1024, kHeads = 2048, kFf = 3072;
    Linear o, gate, up, down;
    Tensor mlp_norm, next_norm;

    BetweenLayers(WidenedWeights& test, OpBench& bench, const WeightType& type)
        : o(linear(bench, type, kHeads, kEmbd, 1)),
          gate(linear(bench, type, kEmbd, kFf, 2)),
          up(linear(bench, type, kEmbd, kFf, 3)),
          down(linear(bench, type, kFf, kEmbd, 4)),
          mlp_norm(bench.upload({kEmbd, 1, 1, 1}, test.random_floats(kEmbd))),
          next_norm(bench.upload({kEmbd, 1, 1, 1}, test.random_floats(kEmbd))) {}

    // Without a bias.
    static Linear linear(OpBench& bench, const WeightType& type, int64_t n_in, int64_t n_out, uint32_t seed) {
      return random_linear(bench, type, n_in, n_out, 2 * seed).widened;
    }
    BetweenAttentionsArgs args(const Tensor& h, const Tensor& y) const {
      return {.h = h,
              .y = y,
              .o = o,
              .mlp_norm = mlp_norm,
              .gate = gate,
              .up = up,
              .down = down,
              .next_norm = next_norm,
              .norm_eps = kEps,
              .gates = {},
              .next = {}};
    }
    Products apart(Stream& s, const Tensor& h, const Tensor& y,
                   std::initializer_list<const Linear*> next) const {
      matmul_add(s, h, o, y);
      matmul_add(s, h, down, matmul_swiglu(s, gate, up, Normed{h, mlp_norm, kEps}));
      return matmul(s, next, Normed{h, next_norm, kEps});
    }
  };
};

// Tiles that are full and not, one and several of them and of parts of their sums, alone and in clusters.
TEST_P(WidenedWeights, GiveTheProductsOfTheWeights) {
  OpBench bench = tested();
  if (!widener(bench)) GTEST_SKIP() << "the device has no use for copies";
  std::vector<WeightType> types = quantised_types();
  types.insert(types.end(), float_types().begin(), float_types().end());
  for (const WeightType& type : types) {
    const int64_t block = is_float(type.dtype) ? 8 : traits(type.dtype).block_elements;
    Tensor weight;
    weight.dtype = type.dtype;
    weight.ne = {1024, 8, 1, 1};
    if (widener(bench)->widened_bytes(weight) == 0) continue;
    const bool is_usual = type.dtype == DType::q8_0;
    std::vector<int64_t> n_ins{block, 5 * block, 1024};
    if (is_usual) n_ins.insert(n_ins.end(), {2048, 3072});
    for (const int64_t n_in : n_ins) {
      for (const int64_t n_out : {int64_t{1}, int64_t{37}, int64_t{200}, int64_t{is_usual ? 2016 : 512}}) {
        for (const int64_t n_rows : {65, 128, 130, 500}) {
          expect_products(bench, type, n_in, n_out, n_rows);
          if (HasFailure()) return;
        }
      }
    }
    if (is_usual || type.dtype == DType::f32) {
      expect_products(bench, type, 1024, 3072, 961);
      expect_products(bench, type, 2048, 1024, 961);
    }
    if (HasFailure()) return;
    if (!is_usual) continue;
    for (const int64_t n_out : {1, 37, 1001, 3000}) {
      for (const int64_t n_rows : {512, 513, 700, 1025}) {
        expect_products(bench, type, 1024, n_out, n_rows);
        if (HasFailure()) return;
      }
    }
  }
}

// The copy is of all rows; products with some of them are those of the weight without one.
TEST_P(WidenedWeights, RowsOfAWeightAreItsOwn) {
  OpBench bench = tested();
  if (!widener(bench)) GTEST_SKIP() << "the device has no use for copies";
  constexpr int64_t kIn = 192, kOut = 520;
  const std::vector<std::pair<int64_t, int64_t>> ranges{{0, 65}, {0, kOut - 1}, {65, 65}, {0, kOut}};
  std::vector<WeightType> types = quantised_types();
  types.insert(types.end(), float_types().begin(), float_types().end());
  for (const WeightType& type : types) {
    if (kIn % (is_float(type.dtype) ? 8 : traits(type.dtype).block_elements) != 0) continue;
    const Both both = random_linear(bench, type, kIn, kOut, 4);
    for (const int64_t n_rows : {65, 200, 600}) {
      const Tensor x = bench.upload({kIn, n_rows, 1, 1}, random_floats(n_rows * kIn, 3));
      const auto products = [&](const Tensor& weight, int64_t first, int64_t n) {
        return bench.run([&](Stream& s) { return matmul(s, Linear{weight.rows(first, n), {}}, x); });
      };
      for (const auto& [first, n] : ranges) {
        SCOPED_TRACE(testing::Message() << name_of(type.dtype) << ", " << n << " rows from " << first << ", "
                                        << n_rows << " tokens");
        expect_same(products(both.widened.weight, first, n), products(both.plain.weight, first, n));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(WidenedWeights, JoinedLayersHaveTheBitsOfTheirOperations) {
  OpBench bench = tested();
  if (!widener(bench)) GTEST_SKIP() << "the device has no use for copies";
  constexpr int64_t kEmbd = BetweenLayers::kEmbd, kHeads = BetweenLayers::kHeads, kKv = 1000;
  const WeightType& type = quantised_types().front();
  const BetweenLayers layers(*this, bench, type);
  const Linear q = BetweenLayers::linear(bench, type, kEmbd, kHeads, 5),
               k = BetweenLayers::linear(bench, type, kEmbd, kKv, 6);
  int n_joined = 0;
  for (const int64_t n : {100, 512, 738, 961}) {
    SCOPED_TRACE(n);
    const Tensor rows = bench.upload({kEmbd, n, 1, 1}, random_floats(n * kEmbd, 3)),
                 y = bench.upload({kHeads, n, 1, 1}, random_floats(n * kHeads, 3));
    if (!joins_layers(bench.stream(), layers.args(rows, y), {&q, &k})) continue;
    ++n_joined;
    for (int result = 0; result < 3; ++result) {
      const auto through = [&](bool is_joined) {
        return bench.run([&](Stream& s) {
          const Tensor h = s.workspace().allocate(DType::f32, kEmbd, n);
          copy(s, h, rows);
          Products next;
          if (is_joined) {
            next.out[0] = s.workspace().allocate(DType::f32, kHeads, n);
            next.out[1] = s.workspace().allocate(DType::f32, kKv, n);
            between_attentions(s, layers.args(h, y), {&q, &k}, next);
          } else {
            next = layers.apart(s, h, y, {&q, &k});
          }
          return result == 2 ? h : next.out[static_cast<size_t>(result)];
        });
      };
      EXPECT_EQ(through(true), through(false)) << result;
    }
  }
  EXPECT_TRUE(n_joined == 0 || n_joined == 3) << n_joined;
}

// The attention of q, k and v in the same go: where a segment ends at every place of a tile, where segments
// are empty or of one token, with norms and angles and without, and of heads and weights that have no kernel
// for it.
TEST_P(WidenedWeights, JoinedAttentionHasTheBitsOfTheOperations) {
  OpBench bench = tested();
  if (!widener(bench)) GTEST_SKIP() << "the device has no use for copies";
  constexpr int64_t kEmbd = BetweenLayers::kEmbd, kHeads = BetweenLayers::kHeads, kKv = 256;
  const WeightType &type = quantised_types().front(), &other = quantised_types().back();
  const BetweenLayers layers(*this, bench, type);
  const Linear q = BetweenLayers::linear(bench, type, kEmbd, kHeads, 5),
               k = BetweenLayers::linear(bench, type, kEmbd, kKv, 6),
               v = BetweenLayers::linear(bench, type, kEmbd, kKv, 7),
               other_v = BetweenLayers::linear(bench, other, kEmbd, kKv, 8);
  const auto floats = [&](std::array<int64_t, 4> ne, float scale) {
    return bench.upload(ne, random_floats(ne[0] * ne[1] * ne[2] * ne[3], scale));
  };
  struct Case {
    std::vector<int32_t> bounds;
    int64_t head_dim = 128;
    bool has_norms = true, has_angles = true, has_bias = false, has_other = false;
  };
  std::vector<Case> cases{
      {.bounds = {0, 738}},  // where a GPU has room for it, products have parts, and attention rounds heads
      {.bounds = {0, 512}},
      {.bounds = {0, 1024}},
      {.bounds = {0, 256, 512, 768, 1024}},
      {.bounds = {0, 0, 300, 300, 300, 961, 961}, .has_bias = true},
      {.bounds = {0, 961}, .has_norms = false},
      {.bounds = {0, 500, 961}, .has_angles = false},
      {.bounds = {0, 500, 961}, .head_dim = 64},
      {.bounds = {0, 500, 961}, .has_other = true},
      {.bounds = {0, 50, 100}},
  };
  for (int32_t end = 255; end < 264; ++end) cases.push_back({.bounds = {0, end, end + 1, 770}});
  cases.push_back({.bounds = {0}});
  for (int32_t end = 1; end < 64; ++end) cases.back().bounds.push_back(end * (end + 1) / 2 % 13 + 16 * end);
  int n_joined = 0;
  for (const Case& c : cases) {
    const int64_t n = c.bounds.back();
    SCOPED_TRACE(testing::Message() << n << " tokens, " << c.bounds.size() - 1
                                    << " segments, the first ends at " << c.bounds[1] << ", heads of "
                                    << c.head_dim);
    const Linear& w_v = c.has_other ? other_v : v;
    const Tensor rows = floats({kEmbd, n, 1, 1}, 3), y = floats({kHeads, n, 1, 1}, 3),
                 bounds = bench.upload(c.bounds), norm = floats({c.head_dim, 1, 1, 1}, 1),
                 angles = floats({c.head_dim / 2, 2, n, 1}, 1),
                 bias = c.has_bias ? floats({n, n, 1, 1}, 3) : Tensor{};
    if (!joins_layers(bench.stream(), layers.args(rows, y), {&q, &k, &w_v})) continue;
    ++n_joined;
    for (const bool asks_for_h : {false, true}) {
      const auto through = [&](bool is_joined) {
        return bench.run([&](Stream& s) {
          const auto room = [&](int64_t n_values) { return s.workspace().allocate(DType::f32, n_values, n); };
          const Tensor h = room(kEmbd), seen = room(kHeads);
          copy(s, h, rows);
          copy(s, seen, y);
          Products qkv;
          if (is_joined) {
            qkv.out = {room(kHeads), room(kKv), room(kKv)};
          } else {
            qkv = layers.apart(s, h, seen, {&q, &k, &w_v});
          }
          SegmentAttentionArgs a{.q = qkv.out[0].reshaped(c.head_dim, kHeads / c.head_dim, n),
                                 .k = qkv.out[1].reshaped(c.head_dim, kKv / c.head_dim, n),
                                 .v = qkv.out[2].reshaped(c.head_dim, kKv / c.head_dim, n),
                                 .bounds = bounds,
                                 .bias = bias,
                                 .scale = 0.125f,
                                 .out = seen.reshaped(c.head_dim, kHeads / c.head_dim, n)};
          a.eps = kEps;
          if (c.has_norms) a.q_norm = a.k_norm = norm;
          if (c.has_angles) a.angles = angles;
          if (is_joined) {
            BetweenAttentionsArgs args = layers.args(h, seen);
            args.attention = a;
            between_attentions(s, args, {&q, &k, &w_v}, qkv);
            return asks_for_h ? h : seen;
          }
          const auto turned = [&](const Tensor& x) {
            const Tensor normed = c.has_norms ? rms_norm(s, x, norm, kEps) : x;
            if (c.has_angles) rope(s, normed, angles, RopeStyle::halves);
            return normed;
          };
          const Tensor sees = segment_attention(s, turned(a.q), turned(a.k), a.v, bounds, a.scale, bias);
          return asks_for_h ? h : sees;
        });
      };
      EXPECT_EQ(through(true), through(false)) << asks_for_h;
    }
    if (HasFailure()) return;
  }
  EXPECT_TRUE(n_joined == 0 || n_joined == static_cast<int>(cases.size()) - 1) << n_joined;
}

PARLANCE_FOR_EACH_DEVICE(WidenedWeights);

}  // namespace
}  // namespace parlance::test
