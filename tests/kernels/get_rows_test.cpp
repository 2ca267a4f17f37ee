#include "kernels/cpu/cpu_device.h"
#include "kernels/sum_rows.h"
#include "kernels/support/devices.h"
#include "kernels/support/imported.h"
#include "quant/block_format.h"

namespace parlance::test {
namespace {

class GetRows : public KernelTest {};

TEST_P(GetRows, DecodesTheRowsAskedFor) {
  OpBench bench = tested();
  constexpr int64_t n = 512, n_table = 19;
  for (uint32_t id = 0; id < kDTypeCount; ++id) {
    const auto dtype = dtype_from_id(id);
    if (!dtype || !block_format(*dtype).decode_row || !block_format(*dtype).encode_row) continue;
    SCOPED_TRACE(name_of(*dtype));
    const auto values = random_floats(n * n_table);
    std::vector<std::byte> bytes(row_bytes(*dtype, n) * n_table);
    std::vector<float> decoded(values.size());
    for (size_t row = 0; row < n_table; ++row) {
      std::byte* encoded = bytes.data() + row * row_bytes(*dtype, n);
      block_format(*dtype).encode_row(values.data() + row * n, encoded, n);
      block_format(*dtype).decode_row(encoded, decoded.data() + row * n, n);
    }
    const Tensor table = bench.upload(*dtype, {n, n_table, 1, 1}, bytes);
    for (const size_t n_rows : {0, 1, 2, 200}) {
      std::vector<int32_t> rows(n_rows);
      for (int32_t& row : rows) row = static_cast<int32_t>(random_() % n_table);
      std::vector<float> want;
      for (const int32_t row : rows)
        want.insert(want.end(), decoded.begin() + row * n, decoded.begin() + (row + 1) * n);
      const Tensor trows = bench.upload(rows);
      EXPECT_EQ(bench.run([&](Stream& s) { return get_rows(s, table, trows); }), want);
    }
  }
}

TEST_P(GetRows, OddRowLengths) {
  OpBench bench = tested();
  for (const int64_t n : {1, 3, 17}) {
    const auto values = random_floats(n * 4);
    const Tensor table = bench.upload({n, 4, 1, 1}, values);
    const Tensor rows = bench.upload(std::vector<int32_t>{3, 0, 3});
    std::vector<float> want(values.end() - n, values.end());
    want.insert(want.end(), values.begin(), values.begin() + n);
    want.insert(want.end(), values.end() - n, values.end());
    EXPECT_EQ(bench.run([&](Stream& s) { return get_rows(s, table, rows); }), want);
  }
}

TEST_P(GetRows, SumsHaveTheBitsOfTheirSummands) {
  OpBench bench = tested();
  for (const DType dtype : {DType::f32, DType::f16, DType::q8_0, DType::q4_k}) {
    for (const int64_t n : {int64_t{256}, int64_t{1024}}) {
      constexpr int64_t n_table = 23;
      const auto values = random_floats(n * n_table);
      std::vector<std::byte> bytes(row_bytes(dtype, n) * n_table);
      for (size_t row = 0; row < n_table; ++row)
        block_format(dtype).encode_row(values.data() + row * n, bytes.data() + row * row_bytes(dtype, n), n);
      const Tensor table = bench.upload(dtype, {n, n_table, 1, 1}, bytes);
      for (const int64_t n_summands : {1, 2, 8}) {
        constexpr int64_t n_rows = 37;
        std::vector<int32_t> rows(static_cast<size_t>(n_rows * n_summands));
        for (int32_t& row : rows) row = static_cast<int32_t>(random_() % n_table);
        const Tensor all =
            bench.upload(DType::i32, {n_rows, n_summands, 1, 1}, std::as_bytes(std::span(rows)));
        EXPECT_EQ(bench.run([&](Stream& s) { return sum_rows(s, table, all); }), bench.run([&](Stream& s) {
          const Tensor sum = get_rows(s, table, all.rows(0, 1));
          for (int64_t i = 1; i < n_summands; ++i) add(s, sum, get_rows(s, table, all.rows(i, 1)));
          return sum;
        }));
      }
    }
  }
}

// Tied embeddings: once products read a copy, so do these.
TEST(GetRowsOfCopies, AreTheRowsThatWereCopied) {
  std::mt19937 random(1);
  constexpr int64_t n_blocks = 3, n_table = 70;
  int n_copies = 0;
  for (const Isa isa : available_isas()) {
    const auto device = std::move(*make_cpu_device({.n_threads = 2, .isa = name_of(isa)}));
    const auto stream = device->make_stream();
    for (const DType dtype : {DType::q4_0, DType::q8_0, DType::q4_k, DType::q6_k, DType::f16}) {
      const int64_t n = n_blocks * traits(dtype).block_elements;
      std::vector<float> values(static_cast<size_t>(n * n_table)), decoded(values.size());
      std::normal_distribution<float> normal;
      for (float& value : values) value = normal(random);
      std::vector<std::byte> bytes(row_bytes(dtype, n) * n_table);
      for (size_t row = 0; row < n_table; ++row) {
        std::byte* encoded = bytes.data() + row * row_bytes(dtype, n);
        block_format(dtype).encode_row(values.data() + row * n, encoded, n);
        block_format(dtype).decode_row(encoded, decoded.data() + row * n, n);
      }
      Tensor table;
      table.dtype = dtype;
      table.ne = {n, n_table, 1, 1};
      table.data = bytes.data();
      ImportedTensor imported(*device, table);
      if (!imported.has_copy()) continue;
      ++n_copies;
      imported.make_copy();
      imported.spoil();
      std::vector<int32_t> rows;
      for (int32_t row = 0; row < n_table; ++row) rows.push_back(n_table - 1 - row);
      std::vector<float> out(values.size());
      GetRowsArgs args;
      args.table = imported.tensor();
      args.rows.ne = {n_table, 1, 1, 1};
      args.rows.data = reinterpret_cast<std::byte*>(rows.data());
      args.out.ne = {n, n_table, 1, 1};
      args.out.data = reinterpret_cast<std::byte*>(out.data());
      device->ops().get_rows[static_cast<size_t>(dtype)].run(*stream, args);
      for (size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(0, std::memcmp(&out[i * n], &decoded[static_cast<size_t>(rows[i]) * n], n * sizeof(float)))
            << name_of(dtype) << ", row " << rows[i];
      }
    }
  }
  if (n_copies == 0) GTEST_SKIP() << "no instruction set of this processor reads copies";
}

PARLANCE_FOR_EACH_DEVICE(GetRows, &OpTable::get_rows);

}  // namespace
}  // namespace parlance::test
