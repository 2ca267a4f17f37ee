// Operations on packed rows of every cache format, on every instruction set.
#include "verify/packed_rows.h"

#include <random>
#include <span>

#include "kernels/support/op_bench.h"
#include "quant/sketch_int8.h"

namespace parlance::verify {
namespace {

using test::expect_close;
using test::OpBench;

// Numbers of query heads, KV heads, rows, queries of a head, and sequences.
struct Shape {
  int64_t n_head, n_head_kv, n_rows, n_batch, n_seq;
};

constexpr Shape kShapes[] = {{1, 1, 1, 1, 1},  {1, 1, 31, 1, 1},  {2, 1, 32, 3, 1},
                             {6, 2, 33, 1, 1}, {4, 4, 100, 2, 2}, {8, 2, 65, 1, 1}};

class PackedRowsTest : public testing::TestWithParam<Isa> {
 protected:
  // On several threads, so that work is shared unevenly.
  static OpBench bench_on(Isa isa, int n_threads) {
    return OpBench(std::move(*make_cpu_device({.n_threads = n_threads, .isa = name_of(isa)})));
  }
  static OpBench tested() { return bench_on(GetParam(), 3); }
  static PackedOps ops() { return packed_ops(GetParam()); }

  // What `operation` yields on the tested instruction set, and by the definition.
  template <class Operation>
  static void expect_same(const Operation& operation, float absolute, float relative) {
    expect_close(operation(tested(), ops()), operation(bench_on(Isa::scalar, 1), packed_ops(Isa::scalar)),
                 absolute, relative);
  }

  // Uniform in [-limit, limit).
  std::vector<float> random_floats(int64_t n, float limit = 1) {
    std::vector<float> values(static_cast<size_t>(n));
    std::uniform_real_distribution<float> distribution(-limit, limit);
    for (float& value : values) value = distribution(random_);
    return values;
  }

  // The bytes of rows of random head vectors, the middle one of each KV head zero.
  struct Rows {
    KvFormat format;
    int64_t head_dim;
    std::array<int64_t, 4> ne;
    std::vector<std::byte> bytes;

    PackedRows on(OpBench& bench) const { return {bench.upload(DType::i8, ne, bytes), format, head_dim}; }
  };

  Rows random_rows(KvFormat format, int64_t head_dim, const Shape& shape) {
    const size_t row_bytes = kv_row_bytes(format, head_dim);
    const int64_t n_heads = shape.n_head_kv * shape.n_seq;
    Rows rows{format,
              head_dim,
              {static_cast<int64_t>(row_bytes), shape.n_rows, shape.n_head_kv, shape.n_seq},
              std::vector<std::byte>(row_bytes * static_cast<size_t>(shape.n_rows * n_heads))};
    const KvCoding coding{.format = format, .encoder = KvEncoder::compatible};
    for (int64_t i = 0; i < n_heads * shape.n_rows; ++i) {
      auto x = random_floats(head_dim);
      if (i % shape.n_rows == shape.n_rows / 2) std::fill(x.begin(), x.end(), 0.0f);
      coding.encode(x.data(), rows.bytes.data() + static_cast<size_t>(i) * row_bytes, head_dim);
    }
    return rows;
  }

  void expect_scores(KvFormat format, int64_t head_dim, const Shape& shape, PackedQuery query) {
    const Rows rows = random_rows(format, head_dim, shape);
    const int64_t n = query.is_stored ? stored_elements(traits(format).transform, head_dim) : head_dim;
    const auto q = random_floats(n * shape.n_head * shape.n_batch * shape.n_seq);
    const auto on = [&](OpBench bench, const PackedOps& ops) {
      const PackedRows k = rows.on(bench);
      query.q = bench.upload({n, shape.n_head, shape.n_batch, shape.n_seq}, q);
      return bench.run([&](Stream& s) { return packed_scores(s, ops, query, k); });
    };
    SCOPED_TRACE(testing::Message() << name_of(format) << " [" << head_dim << "], " << shape.n_head
                                    << " heads on " << shape.n_head_kv << ", " << shape.n_rows << " rows");
    expect_same(on, 2e-5f * std::sqrt(static_cast<float>(n)) * query.factor, 1e-5f);
  }

  void expect_attention(KvFormat v_format, const Shape& shape, const PackedMask& mask) {
    const Rows keys = random_rows(KvFormat::qjl1_256, 128, shape), values = random_rows(v_format, 128, shape);
    const auto q = random_floats(256 * shape.n_head * shape.n_batch * shape.n_seq, 20);
    const auto on = [&](OpBench bench, const PackedOps& ops) {
      const PackedRows k = keys.on(bench), v = values.on(bench);
      const Tensor sketch = bench.upload({256, shape.n_head, shape.n_batch, shape.n_seq}, q);
      return bench.run([&](Stream& s) { return fused_attn_qjl(s, ops, sketch, k, v, 0.0883883461f, mask); });
    };
    SCOPED_TRACE(testing::Message() << name_of(v_format) << ", " << shape.n_head << " heads on "
                                    << shape.n_head_kv << ", " << shape.n_rows << " rows, causal "
                                    << mask.is_causal << " from " << mask.q_pos_base);
    expect_same(on, 1e-5f, 1e-5f);
  }

  std::mt19937 random_{12345};
};

TEST_P(PackedRowsTest, ScoresOfEveryFormat) {
  for (size_t id = 0; id < kKvFormatCount; ++id) {
    const auto format = static_cast<KvFormat>(id);
    for (const int64_t head_dim : {32, 64, 96, 128, 256}) {
      if (head_dim % traits(format).block_elements != 0) continue;
      // Heads of other sizes walk the same loops: one shape shows that their rows are found.
      for (const Shape& shape : head_dim == 128 ? std::span(kShapes) : std::span(kShapes).subspan(3, 1)) {
        expect_scores(format, head_dim, shape, {});
        expect_scores(format, head_dim, shape, {.q = {}, .is_stored = true, .factor = 0.25f});
      }
    }
  }
  for (const int64_t head_dim : {1, 7, 80}) expect_scores(KvFormat::f16, head_dim, kShapes[3], {});
}

TEST_P(PackedRowsTest, RoundedSketches) {
  for (const int64_t head_dim : {128, 256}) {
    for (const Shape& shape : kShapes) {
      expect_scores(KvFormat::qjl1_256, head_dim, shape, {.q = {}, .is_stored = true, .is_rounded = true});
    }
  }
}

TEST_P(PackedRowsTest, AttentionFromSketches) {
  for (const KvFormat v : {KvFormat::tbq3_0, KvFormat::q4_polar, KvFormat::q4_polar_residual}) {
    for (const Shape& shape : kShapes) {
      expect_attention(v, shape, {});
      for (const int64_t base : {-2, 0, 17, 1000})
        expect_attention(v, shape, {.is_causal = true, .q_pos_base = base});
    }
  }
}

TEST_P(PackedRowsTest, RowsByNumber) {
  for (size_t id = 0; id < kKvFormatCount; ++id) {
    const auto format = static_cast<KvFormat>(id);
    const Rows rows = random_rows(format, 128, {1, 1, 7, 1, 1});
    const auto on = [&](OpBench bench, const PackedOps& ops) {
      const PackedRows table = rows.on(bench);
      const Tensor numbers = bench.upload(std::vector<int32_t>{6, 0, 3, 3});
      return bench.run([&](Stream& s) { return get_rows(s, ops, table, numbers); });
    };
    SCOPED_TRACE(name_of(format));
    expect_same(on, 1e-5f, 1e-5f);
  }
}

TEST_P(PackedRowsTest, ProductWithVectorsIsTheDotProductOfDecodedRows) {
  for (size_t id = 0; id < kKvFormatCount; ++id) {
    const auto format = static_cast<KvFormat>(id);
    const Rows rows = random_rows(format, 128, {1, 1, 5, 1, 1});
    const auto x = random_floats(128 * 2);
    OpBench bench = tested();
    const PackedOps ops = this->ops();
    const PackedRows table = rows.on(bench);
    const Tensor vectors = bench.upload({128, 2, 1, 1}, x),
                 numbers = bench.upload(std::vector<int32_t>{0, 1, 2, 3, 4});
    const auto products = bench.run([&](Stream& s) { return mul_mv(s, ops, table, vectors); });
    const auto decoded = bench.run([&](Stream& s) { return get_rows(s, ops, table, numbers); });
    std::vector<float> expected;
    for (size_t vector = 0; vector < 2; ++vector) {
      for (size_t row = 0; row < 5; ++row) {
        double sum = 0;
        for (size_t i = 0; i < 128; ++i) {
          sum += static_cast<double>(decoded[row * 128 + i]) * static_cast<double>(x[vector * 128 + i]);
        }
        expected.push_back(static_cast<float>(sum));
      }
    }
    SCOPED_TRACE(name_of(format));
    expect_close(products, expected, 1e-4f, 1e-4f);
  }
}

// Keys of infinite length have scores of plus and minus infinity.
TEST_P(PackedRowsTest, NothingComesOfAnInfiniteScore) {
  const Shape shape{1, 1, 40, 1, 1};
  Rows keys = random_rows(KvFormat::qjl1_256, 128, shape);
  const Rows values = random_rows(KvFormat::tbq3_0, 128, shape);
  const auto with_signs = [&](std::byte signs) {
    std::byte* row = keys.bytes.data() + 35 * 34;
    std::fill_n(row, 32, signs);
    row[32] = std::byte{0x80};
    row[33] = std::byte{0x7f};
    OpBench bench = tested();
    const PackedOps ops = this->ops();
    const PackedRows k = keys.on(bench), v = values.on(bench);
    const Tensor sketch = bench.upload({256, 1, 1, 1}, std::vector<float>(256, 1.0f));
    return bench.run([&](Stream& s) { return fused_attn_qjl(s, ops, sketch, k, v, 1, {}); });
  };
  const std::vector<float> zeros(128, 0.0f);
  EXPECT_EQ(with_signs(std::byte{0xff}), zeros);
  EXPECT_NE(with_signs(std::byte{0x00}), zeros);  // minus infinity weighs nothing
}

TEST(SketchInt8, RoundsToNearestInStepsOfTheLargest) {
  std::vector<float> sketch(256, 0.0f);
  EXPECT_EQ(round_sketch(sketch.data()).scale, 1);
  sketch[0] = -254;
  sketch[1] = 3;  // a code and a half: the even one
  sketch[2] = 5;
  const SketchInt8 rounded = round_sketch(sketch.data());
  EXPECT_EQ(rounded.scale, 2);
  EXPECT_EQ(rounded.codes[0], -127);
  EXPECT_EQ(rounded.codes[1], 2);
  EXPECT_EQ(rounded.codes[2], 2);
  EXPECT_EQ(rounded.codes[3], 0);
}

INSTANTIATE_TEST_SUITE_P(Sets, PackedRowsTest, testing::ValuesIn(available_isas()),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace parlance::verify
