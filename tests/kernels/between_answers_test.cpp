// What lies between two attentions in one go, of many answers: the bits of the operations that it stands for,
// by which a few of the rows go at a time.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/between_attentions.h"
#include "kernels/fused_ops.h"
#include "kernels/support/devices.h"
#include "kernels/support/weights.h"

namespace parlance::test {
namespace {

struct LayerShape {
  int64_t n_embd, n_heads, n_ff, n_kv, n_v;
  bool has_biases;
};

class BetweenAnswers : public KernelTest {
 protected:
  static constexpr float kEps = 1e-6f;
  static constexpr size_t kResults = 4;  // q, k, v, and the residual stream

  struct Layer {
    Linear o, gate, up, down;
    std::array<Linear, 3> next;
    Tensor mlp_norm, next_norm;
  };

  Layer random_layer(OpBench& bench, const WeightType& type, const LayerShape& shape) {
    const auto linear = [&](int64_t n_in, int64_t n_out) {
      return random_linear(bench, random_, type, n_in, n_out, shape.has_biases);
    };
    const auto norm = [&] { return bench.upload({shape.n_embd, 1, 1, 1}, random_floats(shape.n_embd)); };
    return {linear(shape.n_heads, shape.n_embd),
            linear(shape.n_embd, shape.n_ff),
            linear(shape.n_embd, shape.n_ff),
            linear(shape.n_ff, shape.n_embd),
            {linear(shape.n_embd, shape.n_heads), linear(shape.n_embd, shape.n_kv),
             linear(shape.n_embd, shape.n_v)},
            norm(),
            norm()};
  }
  static BetweenAttentionsArgs args_of(const Layer& layer, const Tensor& h, const Tensor& y) {
    return {.h = h,
            .y = y,
            .o = layer.o,
            .mlp_norm = layer.mlp_norm,
            .gate = layer.gate,
            .up = layer.up,
            .down = layer.down,
            .next_norm = layer.next_norm,
            .norm_eps = kEps,
            .gates = {},
            .next = {}};
  }
  static bool joins(OpBench& bench, const Layer& layer, const Tensor& h, const Tensor& y) {
    return joins_layers(bench.stream(), args_of(layer, h, y),
                        {&layer.next[0], &layer.next[1], &layer.next[2]});
  }

  // All rows in one go; and some of them, operation by operation.
  static std::vector<float> in_one_go(OpBench& bench, const Layer& layer, const Tensor& rows, const Tensor& y,
                                      size_t result) {
    return bench.run([&](Stream& s) {
      const int64_t n = rows.n_rows();
      const Tensor h = s.workspace().allocate(DType::f32, rows.ne[0], n);
      copy(s, h, rows);
      Products next;
      for (size_t i = 0; i < layer.next.size(); ++i)
        next.out[i] = s.workspace().allocate(DType::f32, layer.next[i].weight.n_rows(), n);
      between_attentions(s, args_of(layer, h, y), {&layer.next[0], &layer.next[1], &layer.next[2]}, next);
      return result < layer.next.size() ? next.out[result] : h;
    });
  }
  static std::vector<float> apart(OpBench& bench, const Layer& layer, const Tensor& rows, const Tensor& y,
                                  size_t result) {
    return bench.run([&](Stream& s) {
      const Tensor h = s.workspace().allocate(DType::f32, rows.ne[0], rows.n_rows());
      copy(s, h, rows);
      add(s, h, matmul(s, layer.o, y));
      const Products both = matmul(s, {&layer.gate, &layer.up}, rms_norm(s, h, layer.mlp_norm, kEps));
      add(s, h, matmul(s, layer.down, swiglu(s, both.out[0], both.out[1])));
      if (result == layer.next.size()) return h;
      return matmul(s, layer.next[result], rms_norm(s, h, layer.next_norm, kEps));
    });
  }

  // False where the device does not join such rows.
  bool expect_bits_of_operations(OpBench& bench, const Layer& layer, const LayerShape& shape, int64_t n) {
    constexpr int64_t kFew = 7;
    const Tensor h = bench.upload({shape.n_embd, n, 1, 1}, random_floats(n * shape.n_embd, 3)),
                 y = bench.upload({shape.n_heads, n, 1, 1}, random_floats(n * shape.n_heads, 3));
    if (!joins(bench, layer, h, y)) return false;
    for (size_t result = 0; result < kResults; ++result) {
      SCOPED_TRACE(testing::Message() << n << " rows, result " << result);
      std::vector<float> want;
      for (int64_t first = 0; first < n; first += kFew) {
        const int64_t n_few = std::min(kFew, n - first);
        const std::vector<float> few =
            apart(bench, layer, h.rows(first, n_few), y.rows(first, n_few), result);
        want.insert(want.end(), few.begin(), few.end());
      }
      EXPECT_EQ(in_one_go(bench, layer, h, y, result), want);
      if (HasFailure()) return true;
    }
    return true;
  }
};

// Outputs whose rows are no multiple of a tile's, or of the rows that are stored at once, so that tiles have
// rows of several; parts of products that blocks share and that they do not; each number of rows.
TEST_P(BetweenAnswers, HaveTheBitsOfOperationsOfAFew) {
  OpBench bench = tested();
  constexpr LayerShape kSmall{512, 320, 456, 200, 37, true}, kLike{1024, 2048, 3072, 1024, 1024, false},
      kLarge{4096, 1024, 12288, 136, 64, true}, kMany{256, 256, 8 * 132 * 32, 64, 64, false};
  for (const WeightType& type : float_types()) {
    if (type.dtype == DType::f32) continue;
    SCOPED_TRACE(name_of(type.dtype));
    const Layer small = random_layer(bench, type, kSmall);
    int n_joined = 0;
    for (int64_t n = 1; n <= 66; ++n) {
      if (expect_bits_of_operations(bench, small, kSmall, n)) ++n_joined;
      if (HasFailure()) return;
    }
    if (n_joined == 0) GTEST_SKIP() << "the device does not join layers of answers";
    EXPECT_EQ(n_joined, 64 - 16);
    for (const LayerShape& shape : {kLike, kLarge, kMany}) {
      const Layer layer = random_layer(bench, type, shape);
      for (const int64_t n : {17, 33, 64}) {
        EXPECT_TRUE(expect_bits_of_operations(bench, layer, shape, n));
        if (HasFailure()) return;
      }
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(BetweenAnswers);

}  // namespace
}  // namespace parlance::test
