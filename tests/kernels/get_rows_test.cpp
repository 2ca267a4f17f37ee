#include "kernels/support/devices.h"
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

PARLANCE_FOR_EACH_DEVICE(GetRows);

}  // namespace
}  // namespace parlance::test
