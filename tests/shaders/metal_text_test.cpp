// Every Metal shader, run on the CPU (support/workgroup.h), against the definition; recorded numbers pass
// through them; and what the shim is there to find, it finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "kernels/fused_ops.h"
#include "kernels/support/kv_pages.h"
#include "quant/block_format.h"
#include "shaders/support/imitated_metal.h"
#include "support/fixtures.h"
#include "verify/kernels.h"

namespace parlance::test {
namespace {

class MetalText : public ::testing::Test {
 protected:
  std::vector<float> random_floats(int64_t n, float limit = 1) {
    return test::random_floats(random_, n, limit);
  }

  // `operation`(OpBench&) yields numbers.
  template <class Operation>
  void expect_same(const Operation& operation, float absolute = 2e-6f, float relative = 2e-6f,
                   uint32_t simd_width = 32, bool has_dot = false, bool orders_groups = false) {
    const MetalLimits limits{.simd_width = simd_width, .orders_groups = orders_groups};
    OpBench tested(metal_device_on({.limits = limits, .seed = n_devices_++}, has_dot));
    OpBench reference{std::shared_ptr<Device>(reference_device())};
    std::vector<float> got;
    try {
      got = operation(tested);
    } catch (const std::runtime_error& error) {
      FAIL() << error.what();
    }
    expect_close(got, operation(reference), absolute, relative);
  }

  std::mt19937 random_{11};
  uint32_t n_devices_ = 1;
};

TEST_F(MetalText, OneElementAtATime) {
  for (const int64_t n : {1, 300}) {
    const auto x = random_floats(n, 9), y = random_floats(n, 3);
    const auto on = [&](const auto& operation) {
      return [&](OpBench& bench) {
        const Tensor tx = bench.upload({n, 1, 1, 1}, x), ty = bench.upload({n, 1, 1, 1}, y);
        return bench.run([&](Stream& s) { return operation(s, tx, ty); });
      };
    };
    const auto in_place = [](const auto& operation) {
      return [operation](Stream& s, const Tensor& tx, const Tensor& ty) {
        operation(s, tx, ty);
        return tx;
      };
    };
    expect_same(on(in_place([](Stream& s, const Tensor& a, const Tensor& b) { add(s, a, b); })));
    expect_same(on(in_place([](Stream& s, const Tensor& a, const Tensor& b) { sigmoid_gate(s, a, b); })));
    expect_same(on([](Stream& s, const Tensor& a, const Tensor& b) { return swiglu(s, a, b); }));
    expect_same(on([](Stream& s, const Tensor& a, const Tensor&) { return gelu(s, a); }), 1e-12f, 6e-6f);
    expect_same(on([](Stream& s, const Tensor& a, const Tensor&) { return elu(s, a); }));
  }
}

TEST_F(MetalText, CopiesOfManyBytes) {
  const auto x = random_floats(int64_t{1} << 18);
  expect_same(
      [&](OpBench& bench) {
        const Tensor tx = bench.upload({1 << 18, 1, 1, 1}, x);
        return bench.run([&](Stream& s) {
          const Tensor out = s.workspace().allocate(DType::f32, tx.ne[0]);
          copy(s, out, tx);
          return out;
        });
      },
      0, 0);
}

// Whatever the width of a simdgroup.
TEST_F(MetalText, Norms) {
  for (const uint32_t simd_width : {32u, 4u, 8u}) {
    for (const int64_t n : {1, 100, 300}) {
      SCOPED_TRACE(testing::Message() << n << ", simdgroups of " << simd_width);
      const auto x = random_floats(2 * n, 2), y = random_floats(2 * n), weight = random_floats(n),
                 bias = random_floats(n);
      const auto on = [&](const auto& operation) {
        return [&](OpBench& bench) {
          const Tensor tx = bench.upload({n, 2, 1, 1}, x), ty = bench.upload({n, 2, 1, 1}, y);
          const NormWeights w{bench.upload({n, 1, 1, 1}, weight), bench.upload({n, 1, 1, 1}, bias)};
          return bench.run([&](Stream& s) { return operation(s, tx, ty, w); });
        };
      };
      using Operand = const Tensor&;
      using Weights = const NormWeights&;
      expect_same(
          on([](Stream& s, Operand a, Operand, Weights w) { return rms_norm(s, a, w.weight, 1e-6f); }), 2e-6f,
          2e-6f, simd_width);
      expect_same(on([](Stream& s, Operand a, Operand b, Weights w) {
                    const Tensor out = s.workspace().allocate(DType::f32, a.ne[0], a.ne[1]);
                    add_rms_norm(s, a, b, w.weight, 1e-6f, out);
                    return out;
                  }),
                  2e-6f, 2e-6f, simd_width);
      expect_same(on([](Stream& s, Operand a, Operand b, Weights w) {
                    return gated_rms_norm(s, a, w.weight, b, 1e-6f);
                  }),
                  4e-6f, 4e-6f, simd_width);
      expect_same(on([](Stream& s, Operand a, Operand, Weights w) { return layer_norm(s, a, w, 1e-5f); }),
                  4e-6f, 4e-6f, simd_width);
    }
  }
}

TEST_F(MetalText, MatmulAndRowsOfEveryType) {
  const int64_t n_in = 256, n_out = 5;
  for (uint32_t id = 0; id < kDTypeCount; ++id) {
    const auto dtype = dtype_from_id(id);
    if (!dtype || !block_format(*dtype).decode_row || !block_format(*dtype).encode_row) continue;
    SCOPED_TRACE(name_of(*dtype));
    std::vector<std::byte> bytes(row_bytes(*dtype, n_in) * n_out);
    for (size_t row = 0; row < n_out; ++row)
      block_format(*dtype).encode_row(random_floats(n_in).data(),
                                      bytes.data() + row * row_bytes(*dtype, n_in), n_in);
    const auto x = random_floats(n_in * 70);
    const bool is_float = traits(*dtype).block_elements == 1;
    // Types whose runs have, in tiles of bytes, codes alone, a centre, a minimum, and both halves these of
    // their own.
    const bool is_kind_of_its_own = *dtype == DType::q8_0 || *dtype == DType::q4_0 || *dtype == DType::q4_k ||
                                    *dtype == DType::q6_k || *dtype == DType::q2_k;
    struct Case {
      int64_t n_tokens;
      bool has_dot;
      bool is_tested;
    };
    for (const Case& c : {Case{1, false, true}, Case{3, true, *dtype == DType::f32 || *dtype == DType::q8_0},
                          Case{70, false, *dtype == DType::f16 || *dtype == DType::q4_k},
                          Case{70, true, is_kind_of_its_own}}) {  // 70: in tiles
      if (!c.is_tested) continue;
      const int64_t n_tokens = c.n_tokens;
      expect_same(
          [&](OpBench& bench) {
            const Linear w{bench.upload(*dtype, {n_in, n_out, 1, 1}, bytes), {}};
            const Tensor tx = bench.upload({n_in, n_tokens, 1, 1},
                                           std::vector<float>(x.begin(), x.begin() + n_in * n_tokens));
            return bench.run([&](Stream& s) { return matmul(s, w, tx); });
          },
          is_float ? 2e-5f : 1e-4f, 1e-5f, n_tokens == 3 ? 8 : 32, c.has_dot);
    }
    expect_same(
        [&](OpBench& bench) {
          const Tensor table = bench.upload(*dtype, {n_in, n_out, 1, 1}, bytes);
          const Tensor rows = bench.upload(std::vector<int32_t>{4, 0, 2});
          return bench.run([&](Stream& s) { return get_rows(s, table, rows); });
        },
        0, 0);
  }
}

TEST_F(MetalText, RopeAndItsAngles) {
  const std::vector<float> inverse = {1, 0.5f, 0.25f, 0.01f, 0, 0, 0, 0};
  for (const auto style : {RopeStyle::neighbours, RopeStyle::halves}) {
    const auto x = random_floats(12 * 3 * 2);
    expect_same([&](OpBench& bench) {
      const Tensor tx = bench.upload({12, 3, 2, 1}, x), frequencies = bench.upload({4, 2, 1, 1}, inverse);
      const Tensor pos = bench.upload(std::vector<int32_t>{7, 100000});
      return bench.run([&](Stream& s) {
        rope(s, tx, rope_angles(s, pos, frequencies, 1.25f), style);
        return tx;
      });
    });
  }
}

TEST_F(MetalText, Argmax) {
  const auto x = random_floats(500 * 3);
  expect_same(
      [&](OpBench& bench) {
        const Tensor tx = bench.upload({500, 3, 1, 1}, x);
        auto out = bench.run([&](Stream& s) { return top_k_with_probability(s, tx, 3); });
        std::vector<float> told;
        for (size_t i = 0; i < out.size(); ++i)
          told.push_back(i % 2 == 0 ? static_cast<float>(std::bit_cast<int32_t>(out[i])) : out[i]);
        return told;
      },
      1e-6f, 1e-5f);
}

// Of rows with many equal logits, too, which are told apart by halves.
TEST_F(MetalText, TopLogits) {
  auto x = random_floats(3000 * 3);
  std::fill(x.begin(), x.begin() + 3000, 0.5f);
  expect_same(
      [&](OpBench& bench) {
        const Tensor tx = bench.upload({3000, 3, 1, 1}, x);
        auto out = bench.run([&](Stream& s) { return top_logits(s, tx, 40); });
        std::vector<float> told;
        for (size_t i = 0; i < out.size(); ++i) {
          const size_t word = i % 82;  // how many, their sum, tokens, logits
          const bool is_float = word == 1 || word >= 42;
          told.push_back(is_float ? out[i] : static_cast<float>(std::bit_cast<int32_t>(out[i])));
        }
        return told;
      },
      1e-6f, 1e-5f);
}

TEST_F(MetalText, DrawTokens) {
  constexpr int64_t kRows = 7;
  const auto x = random_floats(3000 * kRows, 4);
  std::vector<int32_t> draws;
  for (const std::array<float, kRows>& word : {std::array{0.0f, 0.7f, 1.0f, 1.6f, 0.9f, 2.0f, 0.5f},
                                               {1.0f, 0.95f, 1.0f, 0.5f, 0.9f, 1.0f, 0.1f},
                                               {0.0f, 0.05f, 0.0f, 0.0f, 0.1f, 0.0f, 0.0f},
                                               {0.5f, 0.6f, 0.9f, 0.0f, 0.2f, 0.99f, 0.4f}}) {
    for (const float value : word) draws.push_back(std::bit_cast<int32_t>(value));
  }
  for (const int32_t top_k : {0, 40, 0, 128, 3, 20, 40}) draws.push_back(top_k);
  expect_same(
      [&](OpBench& bench) {
        const Tensor tx = bench.upload({3000, kRows, 1, 1}, x);
        const Tensor words = bench.upload(draws).reshaped(kRows, kDrawWords);
        std::vector<float> drawn;
        for (const int64_t k : {int64_t{0}, kMostTopLogits}) {
          const auto tokens = bench.run([&](Stream& s) {
            Tensor tokens = s.workspace().allocate(DType::i32, kRows);
            draw_tokens(s, k > 0 ? top_logits(s, tx, k) : argmax(s, tx), words, tokens);
            tokens.dtype = DType::f32;
            return tokens;
          });
          for (const float token : tokens) drawn.push_back(static_cast<float>(std::bit_cast<int32_t>(token)));
        }
        return drawn;
      },
      0, 0);
}

TEST_F(MetalText, GatesAndRecurrences) {
  const int64_t head_dim = 32, n_head = 2, n_channel = 3 * n_head * head_dim;
  const TokenPlaces places = TokenPlaces().add(0, 3, 4).add(1, 0, 2);
  const auto x = random_floats(n_channel * places.size()), gates = random_floats(n_head * places.size());
  const auto state = random_floats(head_dim * head_dim * n_head * 2),
             before = random_floats(n_channel * 3 * 2);
  const auto taps = random_floats(4 * n_channel);
  expect_same(
      [&](OpBench& bench) {
        const Tensor tx = bench.upload({n_channel, places.size(), 1, 1}, x);
        const Tensor tw = bench.upload({4, n_channel, 1, 1}, taps),
                     tb = bench.upload({n_channel, 3, 2, 1}, before);
        const Tensor ts = bench.upload({head_dim, head_dim, n_head, 2}, state);
        const auto gate = [&] { return bench.upload({n_head, places.size(), 1, 1}, gates); };
        const Tensor a = bench.upload({n_head, 1, 1, 1}, std::vector<float>(n_head, -0.7f));
        const DeltaNetGates tg{.alpha = gate(), .beta = gate(), .a = a, .dt_bias = a};
        const BatchView batch = places.on(bench);
        return bench.run([&](Stream& s) {
          return gated_delta_net(s, short_conv(s, tx, tw, {tb}, batch), tg, {ts}, batch, 1e-6f);
        });
      },
      1e-5f, 1e-5f);
  expect_same(
      [&](OpBench& bench) {
        const Tensor tx = bench.upload({2 * head_dim, 3, places.size(), 1}, x);
        return bench.run([&](Stream& s) { return split_gate(s, tx).gate; });
      },
      0, 0);
}

// What is written, copied and attended to: plain pages with norms and rope, then compressed ones beside exact
// ones.
TEST_F(MetalText, CachesAndAttention) {
  struct Case {
    KvCoding k, v;
    bool has_exact;
    uint32_t simd_width;
  };
  const auto of = [](KvFormat format) { return KvCoding{.format = format}; };
  const Case cases[] = {{of(KvFormat::f16), of(KvFormat::f16), false, 32},
                        {of(KvFormat::q8_0), of(KvFormat::bf16), false, 4},
                        {of(KvFormat::f32), of(KvFormat::f32), false, 8},
                        {of(KvFormat::tbq4_0), of(KvFormat::tbq3_0), true, 32},
                        {of(KvFormat::q4_polar), of(KvFormat::q4_polar_residual), false, 32},
                        {of(KvFormat::qjl1_256), of(KvFormat::tbq3_tcq), true, 32},
                        {{.format = KvFormat::q4_0, .rotated = true}, of(KvFormat::qjl1_256), false, 32}};
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << name_of(c.k.format) << " " << name_of(c.v.format));
    const KvShape shape{.k = c.k, .v = c.v, .n_head_kv = 1, .head_dim_k = 128, .head_dim_v = 128};
    KvShape exact_shape = shape;
    exact_shape.k = exact_shape.v = of(KvFormat::f16);
    const std::vector<int32_t> lengths = {c.has_exact ? 80 : 140, 20};
    const KvPages pages(shape, lengths, random_), exact_pages(exact_shape, lengths, random_);
    const TokenPlaces all = pages.places(), places = TokenPlaces().add(0, lengths[0] - 1, 1).add(1, 15, 3);
    const int64_t n_head = 2, n = 128;
    const auto k = random_floats(n * all.size()), v = random_floats(n * all.size());
    const auto q = random_floats(n * n_head * all.size(), 3), angles = random_floats(64 * all.size());
    const auto weight = random_floats(n);
    expect_same(
        [&](OpBench& bench) {
          const KvLayers main = pages.on(bench, pages.unwritten()),
                         exact = exact_pages.on(bench, exact_pages.unwritten());
          KvView kv = main.layer(0);
          if (c.has_exact) {
            kv.exact = &exact.layer(0);
            kv.main_pages = bench.upload(std::vector<int32_t>{1, 3, 1, 1});
          }
          const auto heads = [&](const std::vector<float>& x, int64_t n_heads, int64_t n_tokens) {
            return bench.upload({n, n_heads, n_tokens, 1},
                                std::vector<float>(x.begin(), x.begin() + n * n_heads * n_tokens));
          };
          const Tensor tq = heads(q, n_head, all.size()), tk = heads(k, 1, all.size()),
                       tv = heads(v, 1, all.size());
          const Tensor ta = bench.upload({32, 2, all.size(), 1}, angles),
                       tw = bench.upload({n, 1, 1, 1}, weight);
          const BatchView written = all.on(bench), batch = places.on(bench);
          bench.run([&](Stream& s) {
            norm_rope_write(s, tq, tk, tv, {tw, tw, 1e-6f}, ta, RopeStyle::halves, kv, written);
            return tk;
          });
          if (c.has_exact) {
            const auto page = [&](int32_t i) {
              return bench.download_bytes(kv.page_table)[static_cast<size_t>(4 * i)];
            };
            const auto number = [&](int32_t i) { return static_cast<int32_t>(page(i)); };
            const auto exact_page = [&](int32_t i) {
              return static_cast<int32_t>(
                  bench.download_bytes(exact.layer(0).page_table)[static_cast<size_t>(4 * i)]);
            };
            Tensor moves =
                bench.upload(std::vector<int32_t>{exact_page(1), number(1), exact_page(2), number(2)});
            moves.ne = {2, 2, 1, 1};
            bench.run([&](Stream& s) {
              kv_compress(s, kv, moves);
              return moves;
            });
          } else {
            // Positions 2..4 of the other sequence become the first's.
            Tensor copies = bench.upload(std::vector<int32_t>{0, 1, 2, 3});
            copies.ne = {4, 1, 1, 1};
            bench.run([&](Stream& s) {
              kv_copy(s, kv, copies);
              return copies;
            });
          }
          const Tensor queries = heads(q, n_head, places.size());
          return bench.run([&](Stream& s) { return attention(s, queries, kv, batch, 0.09f); });
        },
        // Where a norm's last bit moves a value to another code, some results move by a step of one key.
        c.k.format <= KvFormat::bf16 && c.v.format <= KvFormat::bf16 ? 1e-3f : 5e-2f, 0, c.simd_width);
  }
}

// A token alone, in fewer launches. Weights that share a launch lie in one buffer.
TEST_F(MetalText, ProductsOfARow) {
  const int64_t n_in = 256, n_out = 21;
  const auto x = random_floats(n_in), norm = random_floats(n_in), h = random_floats(n_out);
  for (const DType dtype : {DType::q8_0, DType::q4_k, DType::f16}) {
    std::vector<std::byte> bytes(row_bytes(dtype, n_in) * 2 * n_out);
    for (size_t row = 0; row < 2 * n_out; ++row)
      block_format(dtype).encode_row(random_floats(n_in).data(), bytes.data() + row * row_bytes(dtype, n_in),
                                     n_in);
    for (const bool has_dot : {false, true}) {
      SCOPED_TRACE(testing::Message() << name_of(dtype) << (has_dot ? ", dot products" : ""));
      const auto on = [&](const auto& fused, const auto& plain) {
        return [&](OpBench& bench) {
          const Tensor both = bench.upload(dtype, {n_in, 2 * n_out, 1, 1}, bytes);
          const Linear a{both.rows(0, n_out), {}}, b{both.rows(n_out, n_out), {}};
          const Normed nx{bench.upload({n_in, 1, 1, 1}, x), bench.upload({n_in, 1, 1, 1}, norm), 1e-6f};
          const Tensor th = bench.upload({n_out, 1, 1, 1}, h);
          return bench.run(
              [&](Stream& s) { return fuses_rows(s, 1) ? fused(s, a, b, nx, th) : plain(s, a, b, nx, th); });
        };
      };
      using Weight = const Linear&;
      using Rows = const Tensor&;
      expect_same(
          on([](Stream& s, Weight a, Weight b, const Normed& nx, Rows) { return matmul_swiglu(s, a, b, nx); },
             [](Stream& s, Weight a, Weight b, const Normed& nx, Rows) {
               const Products both = matmul(s, {&a, &b}, rms_norm(s, nx.x, nx.weight, nx.eps));
               return swiglu(s, both.out[0], both.out[1]);
             }),
          1e-4f, 1e-5f, has_dot ? 8 : 32, has_dot);
      expect_same(on(
                      [](Stream& s, Weight a, Weight b, const Normed& nx, Rows) {
                        return matmul(s, {&a, &b}, nx).out[1];
                      },
                      [](Stream& s, Weight, Weight b, const Normed& nx, Rows) {
                        return matmul(s, b, rms_norm(s, nx.x, nx.weight, nx.eps));
                      }),
                  1e-4f, 1e-5f, 32, has_dot);
      expect_same(on(
                      [](Stream& s, Weight a, Weight, const Normed& nx, Rows th) {
                        matmul_add(s, th, a, nx.x);
                        return th;
                      },
                      [](Stream& s, Weight a, Weight, const Normed& nx, Rows th) {
                        add(s, th, matmul(s, a, nx.x));
                        return th;
                      }),
                  1e-4f, 1e-5f, 32, has_dot);
    }
  }
}

TEST_F(MetalText, AttentionOfARow) {
  const int64_t n = 64, n_head = 2;
  for (const KvFormat format : {KvFormat::f16, KvFormat::q8_0}) {
    SCOPED_TRACE(name_of(format));
    const KvPages pages(
        {.k = {.format = format}, .v = {.format = format}, .n_head_kv = 1, .head_dim_k = n, .head_dim_v = n},
        {200}, random_);
    const auto k = random_floats(n * 200), v = random_floats(n * 200),
               fresh = random_floats(n * (n_head + 2), 3), angles = random_floats(n),
               weight = random_floats(n);
    for (const int32_t position : {5, 199}) {  // of one part and of two
      expect_same(
          [&](OpBench& bench) {
            const KvLayers layers = pages.on(bench, pages.unwritten());
            KvView kv = layers.layer(0);
            const Tensor tk = bench.upload({n, 1, 200, 1}, k), tv = bench.upload({n, 1, 200, 1}, v);
            const BatchView written = pages.places().on(bench),
                            batch = TokenPlaces().add(0, position, 1).on(bench);
            bench.run([&](Stream& s) {
              kv_write(s, kv, tk, tv, written);
              return tk;
            });
            const Tensor heads = bench.upload({n, n_head + 2, 1, 1}, fresh),
                         tw = bench.upload({n, 1, 1, 1}, weight);
            const Tensor ta = bench.upload({n / 2, 2, 1, 1}, angles);
            return bench.run([&](Stream& s) {
              // In the workspace, as a step has them.
              const Tensor q = s.workspace().allocate(DType::f32, n, n_head, 1),
                           fk = s.workspace().allocate(DType::f32, n, 1, 1),
                           fv = s.workspace().allocate(DType::f32, n, 1, 1),
                           fa = s.workspace().allocate(DType::f32, n / 2, 2, 1);
              const Tensor all = heads.reshaped(n, n_head + 2);
              copy(s, q, all.rows(0, n_head).reshaped(n, n_head, 1));
              copy(s, fk, all.rows(n_head, 1).reshaped(n, 1, 1));
              copy(s, fv, all.rows(n_head + 1, 1).reshaped(n, 1, 1));
              copy(s, fa, ta);
              const HeadNorms norms{tw, tw, 1e-6f};
              if (fuses_rows(s, 1))
                return attention(s, q, fk, fv, norms, fa, RopeStyle::halves, kv, batch, 0.09f);
              norm_rope_write(s, q, fk, fv, norms, fa, RopeStyle::halves, kv, batch);
              return attention(s, q, kv, batch, 0.09f);
            });
          },
          1e-3f, 0, 32, false, true);
    }
  }
}

// A value that is no number, in a tile with a row that does not see it.
TEST_F(MetalText, WhatIsNoNumberShowsWhereItIsSeen) {
  const KvShape shape{.n_head_kv = 1, .head_dim_k = 128, .head_dim_v = 128};
  const KvPages pages(shape, {20}, random_);
  const int64_t n = 128, n_head = 2, n_tokens = 2;
  const auto k = random_floats(n * 20), q = random_floats(n * n_head * n_tokens);
  auto v = random_floats(n * 20);
  v[19 * n + 5] = std::numeric_limits<float>::quiet_NaN();
  v[19 * n + 6] = std::numeric_limits<float>::infinity();
  expect_same(
      [&](OpBench& bench) {
        const KvLayers layers = pages.on(bench, pages.unwritten());
        const KvView& kv = layers.layer(0);
        const Tensor tk = bench.upload({n, 1, 20, 1}, k), tv = bench.upload({n, 1, 20, 1}, v),
                     tq = bench.upload({n, n_head, n_tokens, 1}, q);
        const BatchView written = pages.places().on(bench), batch = TokenPlaces().add(0, 18, 2).on(bench);
        bench.run([&](Stream& s) {
          kv_write(s, kv, tk, tv, written);
          return tk;
        });
        auto result = bench.run([&](Stream& s) { return attention(s, tq, kv, batch, 0.09f); });
        EXPECT_EQ(std::ranges::count_if(result, [](float x) { return !std::isfinite(x); }), 2 * n_head);
        for (float& x : result) x = std::isfinite(x) ? x : 12345;
        return result;
      },
      1e-3f, 0);
}

TEST_F(MetalText, Speech) {
  const int64_t n_channel = 20, n = 30;
  const auto x = random_floats(n_channel * n, 5), weight = random_floats(n_channel),
             bias = random_floats(n_channel);
  expect_same(
      [&](OpBench& bench) {
        const Tensor tx = bench.upload({n_channel, n, 1, 1}, x);
        const NormWeights w{bench.upload({n_channel, 1, 1, 1}, weight),
                            bench.upload({n_channel, 1, 1, 1}, bias)};
        return bench.run([&](Stream& s) { return channel_norm(s, tx, w, 1e-5f); });
      },
      1e-5f, 1e-5f);
  auto alpha = weight;
  for (float& value : alpha) value = std::fabs(value) + 0.1f;
  expect_same(
      [&](OpBench& bench) {
        const Tensor tx = bench.upload({n_channel, n, 1, 1}, x),
                     ta = bench.upload({n_channel, 1, 1, 1}, alpha);
        return bench.run([&](Stream& s) { return snake(s, tx, ta); });
      },
      2e-5f, 2e-6f);
  const auto kernel = random_floats(3 * 10 * 6), up = random_floats(n_channel * 4 * 4);
  expect_same(
      [&](OpBench& bench) {
        const Tensor tx = bench.upload({n_channel, n, 1, 1}, x);
        const std::vector<Linear> groups(2, Linear{bench.upload({3 * 10, 6, 1, 1}, kernel), {}});
        const Linear wide{bench.upload({n_channel, 4 * 4, 1, 1}, up),
                          bench.upload({4, 1, 1, 1}, {1, 2, 3, 4})};
        return bench.run([&](Stream& s) {
          const Tensor first = conv1d(s, groups, tx, {.width = 3, .height = 1, .pad_x = 1});
          const Tensor second = conv_transpose1d(s, wide, tx, 2);
          const Tensor out = s.workspace().allocate(DType::f32, 12 + 4, n);
          put_channels(s, out, 0, first);
          put_channels(s, out, 12, second.rows(0, n));
          return out;
        });
      },
      5e-5f, 1e-5f);
  const auto q = random_floats(32 * 2 * 75, 2), k = random_floats(32 * 75, 2), v = random_floats(32 * 75);
  expect_same(
      [&](OpBench& bench) {
        const Tensor tq = bench.upload({32, 2, 75, 1}, q), tk = bench.upload({32, 1, 75, 1}, k),
                     tv = bench.upload({32, 1, 75, 1}, v);
        const Tensor bounds = bench.upload(std::vector<int32_t>{0, 70, 70, 75});
        return bench.run([&](Stream& s) { return segment_attention(s, tq, tk, tv, bounds, 0.125f); });
      },
      5e-6f, 5e-6f);
}

// Numbers that other programs recorded: all files of the harness, and rows of each format, which are also
// written.
void expect_recorded_numbers(const verify::TestedDevice& tested) {
  auto fixtures = verify::read_fixtures(fixtures_root() / "kv" / "upstream");
  ASSERT_TRUE(fixtures.has_value()) << fixtures.error().message;
  for (const char* format : {"tbq3_0", "tbq4_0", "tbq3_tcq", "qjl1_256", "q4_polar"}) {
    const std::string name = fmt::format("rows_{}.json", format);
    std::ifstream file(fixtures_root() / "kv" / name);
    auto rows = verify::parse_fixture(name, std::string(std::istreambuf_iterator<char>(file), {}));
    ASSERT_TRUE(rows.has_value()) << rows.error().message;
    fixtures->push_back(std::move(*rows));
  }
  std::set<std::string> operations;
  for (const verify::Fixture& fixture : *fixtures) {
    for (const verify::Check& check : verify::check_against_fixture(tested, fixture)) {
      EXPECT_TRUE(check.has_passed())
          << fixture.name << ": " << check.subject.operation << " " << check.max_error << check.problem;
      operations.insert(check.subject.operation);
    }
  }
  for (const char* operation : {"kv_write", "get_rows", "mul_mv", "attn_score_tbq", "attn_score_qjl",
                                "attn_score_polar", "fused_attn_qjl_tbq", "fused_attn_qjl_polar"})
    EXPECT_TRUE(operations.contains(operation)) << operation;
}

TEST_F(MetalText, RecordedNumbers) {
  PARLANCE_REQUIRE_FIXTURES("kv");
  expect_recorded_numbers({"metal_text", metal_device_on({}), std::nullopt});
}

TEST(VulkanShaders, RecordedNumbers) {
  PARLANCE_REQUIRE_FIXTURES("kv");
  device_cases();  // the validation layer is asked for before the first use of Vulkan
  auto device = make_vulkan_device(0);
  if (!device) GTEST_SKIP() << device.error().message;
  expect_recorded_numbers({"vulkan:0", std::move(*device), std::nullopt});
  EXPECT_EQ(vulkan_counters().validation_messages, 0u) << "see the log above";
}

// The last of this file: nothing is left out.
TEST_F(MetalText, ZEveryShaderHasRun) {
  if (launched_kernels().size() < 2) GTEST_SKIP() << "only when the other tests of this program have run";
  const bool has_fixtures = std::filesystem::exists(fixtures_root() / "kv");
  for (const auto& entry : std::filesystem::directory_iterator(metal_folder())) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() != ".metal") continue;
    if (!has_fixtures && name.starts_with("packed_")) continue;  // those that only recorded numbers are for
    EXPECT_TRUE(launched_kernels().contains(name)) << name;
  }
}

// ---- What the shim finds ----

class MetalShim : public ::testing::Test {
 protected:
  // The text of a kernel for 64 threads, with `body` in it.
  static void run(const std::string& body, uint32_t simd_width = 32) {
    const std::string text = R"(
struct Out
{
    uint result[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(64u, 1u, 1u);

kernel void broken(device Out& v_1 [[buffer(0)]], uint3 gl_LocalInvocationID [[thread_position_in_threadgroup]])
{
    threadgroup uint shared_words[64];
    uint lane = gl_LocalInvocationID.x;
)" + body + "\n}\n";
    const MetalKernel kernel =
        load_kernel(prepared_kernel(text, "broken", {}, {}), "broken", metal_build_folder());
    results.assign(64, 0);
    const metal_shim::Binding binding{results.data(), 64 * sizeof(uint32_t)};
    std::mt19937 random(3);
    run_workgroups(kernel, std::span(&binding, 1), {1, 1, 1}, {.simd_width = simd_width}, random);
  }
  static void expect_error(const std::string& body, const std::string& words) {
    try {
      run(body);
      FAIL() << "nothing was found in: " << body;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }

  inline static std::vector<uint32_t> results;
};

constexpr const char* kTurned = R"(
    shared_words[lane] = lane;
    BARRIER
    v_1.result[lane] = shared_words[63u - lane];
)";

TEST_F(MetalShim, ABarrierIsNeeded) {
  std::string body = kTurned;
  body.replace(body.find("BARRIER"), 7, "threadgroup_barrier(mem_flags::mem_threadgroup);");
  run(body);
  std::vector<uint32_t> want;
  for (uint32_t i = 64; i-- > 0;) want.push_back(i);
  EXPECT_EQ(results, want);
  body = kTurned;
  body.replace(body.find("BARRIER"), 7, "");
  run(body);
  EXPECT_NE(results, want);
  EXPECT_NE(std::ranges::find(results, 0x7fa0deadu), results.end());
}

TEST_F(MetalShim, SimdgroupsAddUpTheirLanes) {
  for (const uint32_t width : {32u, 8u}) {
    run("v_1.result[lane] = uint(simd_sum(float(lane)));", width);
    EXPECT_EQ(results[0], width * (width - 1) / 2);
    EXPECT_EQ(results[63], width * (width - 1) / 2 + width * (64 - width));
  }
}

TEST_F(MetalShim, BrokenRulesAreErrors) {
  expect_error("if (lane < 7u) { v_1.result[lane] = uint(simd_sum(1.0)); }", "different operations");
  expect_error("if (lane < 32u) { threadgroup_barrier(mem_flags::mem_threadgroup); }", "barrier");
  expect_error("v_1.result[lane + 1u] = 1u;", "beyond the end");
  expect_error("spvUnsafeArray<uint, 4> own; own[lane] = 1u; v_1.result[lane] = own[0];", "beyond the end");
  expect_error("double wide = 1.0; v_1.result[lane] = uint(wide);", "double");
  expect_error("v_1.result[lane] = nobody_knows(lane);", "does not compile");
}

TEST_F(MetalShim, ThreadgroupMemoryIsBounded) {
  const std::string text = R"(
struct Out
{
    uint result[1];
};

constant uint3 gl_WorkGroupSize [[maybe_unused]] = uint3(64u, 1u, 1u);

kernel void wide(device Out& v_1 [[buffer(0)]])
{
    threadgroup uint words[8193];
    v_1.result[0] = words[0];
}
)";
  const MetalKernel kernel = load_kernel(prepared_kernel(text, "wide", {}, {}), "wide", metal_build_folder());
  uint32_t result = 0;
  const metal_shim::Binding binding{&result, sizeof result};
  std::mt19937 random(3);
  EXPECT_THROW(run_workgroups(kernel, std::span(&binding, 1), {1, 1, 1}, {}, random), std::runtime_error);
}

}  // namespace
}  // namespace parlance::test
