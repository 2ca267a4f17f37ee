// Vulkan devices without subgroup arithmetic: every kernel that has another form for them, against the
// definition.
#include <cstdlib>

#include "base/os/environment_variable.h"
#include "kernels/fused_ops.h"
#include "kernels/support/kv_pages.h"

namespace parlance::test {
namespace {

class WithoutSubgroups : public ::testing::Test {
 protected:
  void SetUp() override {
    device_cases();  // the validation layer is asked for before the first use of Vulkan
    const EnvironmentVariable wanted("PARLANCE_VULKAN_SUBGROUPS", "0");
    auto device = make_vulkan_device(0);
    if (!device) GTEST_SKIP() << device.error().message;
    tested_.emplace(std::move(*device));
    reference_.emplace(reference_device());
  }

  std::vector<float> random_floats(int64_t n, float limit = 1) {
    return test::random_floats(random_, n, limit);
  }

  template <class Operation>
  void expect_same(const Operation& operation, float absolute, float relative) {
    expect_close(operation(*tested_), operation(*reference_), absolute, relative);
  }

  std::optional<OpBench> tested_, reference_;
  std::mt19937 random_{5};
};

TEST_F(WithoutSubgroups, Norms) {
  for (const int64_t n : {1, 3, 64, 100, 1000}) {
    SCOPED_TRACE(n);
    const auto x = random_floats(3 * n, 2), gate = random_floats(3 * n), weight = random_floats(n),
               bias = random_floats(n);
    const auto put = [&](OpBench& bench, const std::vector<float>& values) {
      return bench.upload({n, std::ssize(values) / n, 1, 1}, values);
    };
    expect_same(
        [&](OpBench& bench) {
          const Tensor tx = put(bench, x), tw = put(bench, weight);
          return bench.run([&](Stream& s) { return rms_norm(s, tx, tw, 1e-6f); });
        },
        2e-6f, 2e-6f);
    expect_same(
        [&](OpBench& bench) {
          const Tensor tx = put(bench, x), ty = put(bench, gate), tw = put(bench, weight);
          return bench.run([&](Stream& s) {
            const Tensor out = s.workspace().allocate(DType::f32, n, 3);
            add_rms_norm(s, tx, ty, tw, 1e-6f, out);
            return out;
          });
        },
        2e-6f, 2e-6f);
    expect_same(
        [&](OpBench& bench) {
          const Tensor tx = put(bench, x), tg = put(bench, gate), tw = put(bench, weight);
          return bench.run([&](Stream& s) { return gated_rms_norm(s, tx, tw, tg, 1e-6f); });
        },
        4e-6f, 4e-6f);
    expect_same(
        [&](OpBench& bench) {
          const Tensor tx = put(bench, x);
          const NormWeights w{put(bench, weight), put(bench, bias)};
          return bench.run([&](Stream& s) { return layer_norm(s, tx, w, 1e-5f); });
        },
        4e-6f, 4e-6f);
  }
}

// Few lanes and many, one token and several.
TEST_F(WithoutSubgroups, Matmul) {
  for (const auto& [n_in, n_out] : {std::pair{int64_t{64}, int64_t{5}}, {int64_t{4096}, 33}}) {
    for (const int64_t n_tokens : {1, 3}) {
      SCOPED_TRACE(testing::Message() << n_in << " x " << n_out << ", " << n_tokens);
      const auto weight = random_floats(n_in * n_out, 0.1f), x = random_floats(n_in * n_tokens);
      expect_same(
          [&](OpBench& bench) {
            const Linear w{bench.upload({n_in, n_out, 1, 1}, weight), {}};
            const Tensor tx = bench.upload({n_in, n_tokens, 1, 1}, x);
            return bench.run([&](Stream& s) { return matmul(s, w, tx); });
          },
          2e-5f, 1e-5f);
    }
  }
}

// With the bits of the operations on the same device.
TEST_F(WithoutSubgroups, ProductsOfARow) {
  constexpr int64_t kOut = 33;
  for (const int64_t n_in : {64, 1536}) {
    SCOPED_TRACE(n_in);
    OpBench& bench = *tested_;
    const Linear a{bench.upload({n_in, kOut, 1, 1}, random_floats(n_in * kOut, 0.1f)), {}};
    const Linear b{bench.upload({n_in, kOut, 1, 1}, random_floats(n_in * kOut, 0.1f)), {}};
    const Tensor x = bench.upload({n_in, 1, 1, 1}, random_floats(n_in)),
                 norm = bench.upload({n_in, 1, 1, 1}, random_floats(n_in));
    EXPECT_EQ(bench.run([&](Stream& s) {
      return matmul_swiglu(s, a, b, Normed{x, norm, 1e-6f});
    }),
              bench.run([&](Stream& s) {
                const Products both = matmul(s, {&a, &b}, rms_norm(s, x, norm, 1e-6f));
                return swiglu(s, both.out[0], both.out[1]);
              }));
  }
}

TEST_F(WithoutSubgroups, NormRopeWriteAndAttention) {
  for (const KvFormat format : {KvFormat::f16, KvFormat::tbq4_0}) {
    const KvShape shape{.k = {.format = format}, .v = {.format = format}};
    const KvPages pages(shape, {150, 20}, random_);
    const TokenPlaces all = TokenPlaces().add(0, 0, 150).add(1, 0, 20);
    const TokenPlaces places = TokenPlaces().add(0, 149, 1).add(1, 15, 5);
    const auto k = random_floats(64 * 2 * all.size()), v = random_floats(64 * 2 * all.size());
    const auto q = random_floats(64 * 6 * all.size(), 3);
    const auto angles = random_floats(64 * all.size()), weight = random_floats(64);
    const auto on = [&](OpBench& bench) {
      const KvLayers layers = pages.on(bench, pages.unwritten());
      const auto heads = [&](const std::vector<float>& x, int64_t n_head) {
        return bench.upload({64, n_head, all.size(), 1}, x);
      };
      const Tensor tq = heads(q, 6), tk = heads(k, 2), tv = heads(v, 2);
      const Tensor tangles = bench.upload({32, 2, all.size(), 1}, angles),
                   tw = bench.upload({64, 1, 1, 1}, weight);
      const BatchView written = all.on(bench), batch = places.on(bench);
      bench.run([&](Stream& s) {
        norm_rope_write(s, tq, tk, tv, {tw, tw, 1e-6f}, tangles, RopeStyle::halves, layers.layer(0), written);
        return tk;
      });
      const Tensor queries = bench.upload({64, 6, places.size(), 1},
                                          std::vector<float>(q.begin(), q.begin() + 64 * 6 * places.size()));
      return bench.run([&](Stream& s) { return attention(s, queries, layers.layer(0), batch, 0.125f); });
    };
    // Where a norm's last bit moves a value to another code, a few of a thousand values move by a step of one
    // key.
    expect_same(on, format == KvFormat::f16 ? 1e-3f : 2e-2f, 0);
  }
}

}  // namespace
}  // namespace parlance::test
