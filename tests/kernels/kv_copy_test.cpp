#include <cstring>

#include "kernels/support/kv_pages.h"

namespace parlance::test {
namespace {

struct PositionCopy {
  int32_t from, to, first, n;
};

class KvCopy : public KernelTest {
 protected:
  std::vector<std::byte> random_bytes(size_t n) {
    std::vector<std::byte> bytes(n);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_() & 0xff);
    return bytes;
  }

  // Byte by byte, as the view says where positions lie.
  static void copy(const KvView& kv, const std::vector<int32_t>& table, const PositionCopy& c,
                   std::span<std::byte> layer) {
    const auto row = [&](int32_t seq, int32_t pos, size_t side, size_t row_bytes) {
      const int32_t page = table[static_cast<size_t>(seq * kv.page_table.ne[0] + pos / kv.page_tokens)];
      return layer.data() + static_cast<size_t>(page) * kv.page_bytes + side +
             static_cast<size_t>(pos % kv.page_tokens) * row_bytes;
    };
    for (int32_t pos = c.first; pos < c.first + c.n; ++pos) {
      for (int64_t head = 0; head < kv.n_head_kv; ++head) {
        std::memcpy(row(c.to, pos, kv.k_offset(head), kv.k_row_bytes),
                    row(c.from, pos, kv.k_offset(head), kv.k_row_bytes), kv.k_row_bytes);
        std::memcpy(row(c.to, pos, kv.v_offset(head), kv.v_row_bytes),
                    row(c.from, pos, kv.v_offset(head), kv.v_row_bytes), kv.v_row_bytes);
      }
    }
  }

  void expect_copied(const KvShape& shape, const std::vector<PositionCopy>& copies) {
    OpBench bench = tested();
    const KvPages pages(shape, {70, 70, 70, 40}, random_);
    const std::vector<std::byte> before = random_bytes(pages.bytes());
    const KvLayers layers = pages.on(bench, before);
    const KvView& kv = layers.layer(1);
    std::vector<int32_t> list, table(static_cast<size_t>(kv.page_table.n_elements()));
    for (const PositionCopy& c : copies) list.insert(list.end(), {c.from, c.to, c.first, c.n});
    Tensor on_device = bench.upload(list);
    on_device.ne = {4, std::ssize(copies), 1, 1};
    const auto bytes = bench.download_bytes(kv.page_table);
    std::memcpy(table.data(), bytes.data(), bytes.size());
    bench.run([&](Stream& s) {
      kv_copy(s, kv, on_device);
      return on_device;
    });
    std::vector<std::byte> want = before;
    for (const PositionCopy& c : copies) copy(kv, table, c, std::span(want).subspan(kv.layer_bytes));
    EXPECT_TRUE(KvPages::contents(bench, layers) == want)
        << name_of(shape.k.format) << " " << name_of(shape.v.format) << " " << shape.head_dim_k;
  }
};

const std::vector<PositionCopy> kAwkward = {{0, 1, 0, 70}, {0, 2, 15, 1}, {0, 2, 16, 17}, {0, 2, 0, 15},
                                            {0, 2, 33, 0}, {0, 3, 39, 1}, {0, 0, 0, 0},   {0, 3, 5, 30}};

TEST_P(KvCopy, BytesOfEveryPairOfPlainFormats) {
  for (size_t k = 0; k < kPlainKvFormats; ++k) {
    for (size_t v = 0; v < kPlainKvFormats; ++v) {
      KvShape shape{.k = {.format = static_cast<KvFormat>(k)}, .v = {.format = static_cast<KvFormat>(v)}};
      shape.head_dim_v = 96;
      expect_copied(shape, kAwkward);
    }
  }
}

TEST_P(KvCopy, HeadsThatFillNoWord) {
  for (const int64_t head_dim : {1, 3, 7, 20, 33, 80}) {
    const KvShape shape{.k = {.format = KvFormat::f16},
                        .v = {.format = KvFormat::bf16},
                        .n_head_kv = 3,
                        .head_dim_k = head_dim,
                        .head_dim_v = head_dim + 1};
    expect_copied(shape, kAwkward);
  }
}

// Whatever a device stores, and however odd its rows are.
TEST_P(KvCopy, CompressedRows) {
  for (const KvFormat format : {KvFormat::q4_0, KvFormat::tbq4_0, KvFormat::tbq3_0}) {
    const KvShape shape{
        .k = {.format = format}, .v = {.format = format}, .head_dim_k = 128, .head_dim_v = 128};
    if (tested().device().ops().transforms_kv) expect_copied(shape, kAwkward);
  }
}

TEST_P(KvCopy, LongRunsOfWidePages) {
  const KvShape shape{.n_head_kv = 8, .head_dim_k = 128, .head_dim_v = 128, .page_tokens = 64};
  expect_copied(shape, {{0, 1, 3, 66}, {1, 2, 0, 3}, {0, 3, 0, 40}});
  expect_copied(shape, {});
}

// New positions are written to exact pages, so these are what is copied.
TEST_P(KvCopy, ExactPagesWhereThereAreSuch) {
  OpBench bench = tested();
  if (!bench.device().ops().transforms_kv) GTEST_SKIP() << "the device has no exact pages";
  const KvShape main_shape{.k = {.format = KvFormat::q8_0}, .v = {.format = KvFormat::q8_0}};
  const KvShape exact_shape{.k = {.format = KvFormat::f16}, .v = {.format = KvFormat::f16}};
  const KvPages main_pages(main_shape, {20, 20}, random_), exact_pages(exact_shape, {20, 20}, random_);
  const auto main_bytes = random_bytes(main_pages.bytes()), exact_bytes = random_bytes(exact_pages.bytes());
  const KvLayers main = main_pages.on(bench, main_bytes), exact = exact_pages.on(bench, exact_bytes);
  KvView kv = main.layer(0);
  kv.exact = &exact.layer(0);
  Tensor copies = bench.upload(std::vector<int32_t>{0, 1, 2, 18});
  copies.ne = {4, 1, 1, 1};
  bench.run([&](Stream& s) {
    kv_copy(s, kv, copies);
    return copies;
  });
  std::vector<int32_t> table(4);
  const auto bytes = bench.download_bytes(exact.page_table());
  std::memcpy(table.data(), bytes.data(), bytes.size());
  auto want = exact_bytes;
  copy(exact.layer(0), table, {0, 1, 2, 18}, want);
  EXPECT_TRUE(KvPages::contents(bench, exact) == want);
  EXPECT_TRUE(KvPages::contents(bench, main) == main_bytes);
}

PARLANCE_FOR_EACH_DEVICE(KvCopy, &OpTable::kv_copy);

}  // namespace
}  // namespace parlance::test
