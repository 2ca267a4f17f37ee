#include "kernels/support/kv_pages.h"

namespace parlance::test {
namespace {

class KvWrite : public KernelTest {
 protected:
  // The pages after writing k and v of every token of `places`.
  std::vector<std::byte> written(OpBench& bench, const KvPages& pages, const TokenPlaces& places,
                                 const KvShape& shape, int64_t layer, const std::vector<float>& k,
                                 const std::vector<float>& v) {
    const KvLayers layers = pages.on(bench, pages.unwritten());
    const Tensor tk = bench.upload({shape.head_dim_k, shape.n_head_kv, places.size(), 1}, k);
    const Tensor tv = bench.upload({shape.head_dim_v, shape.n_head_kv, places.size(), 1}, v);
    const BatchView batch = places.on(bench);
    bench.run([&](Stream& s) {
      kv_write(s, layers.layer(layer), tk, tv, batch);
      return tk;
    });
    return KvPages::contents(bench, layers);
  }

  void expect_same_bytes(const KvShape& shape, const std::vector<int32_t>& lengths, TokenPlaces places) {
    OpBench a = tested(), b = reference();
    const KvPages pages(shape, lengths, random_);
    const auto k = random_floats(shape.head_dim_k * shape.n_head_kv * places.size(), 100);
    const auto v = random_floats(shape.head_dim_v * shape.n_head_kv * places.size(), 0.01f);
    const auto got = written(a, pages, places, shape, 1, k, v);
    const auto want = written(b, pages, places, shape, 1, k, v);
    EXPECT_TRUE(got == want) << name_of(shape.k.format) << " " << name_of(shape.v.format) << " "
                             << shape.head_dim_k << " " << shape.head_dim_v;
  }
};

TEST_P(KvWrite, EveryPairOfPlainFormatsIsEncodedAsDefined) {
  for (size_t k = 0; k < kPlainKvFormats; ++k) {
    for (size_t v = 0; v < kPlainKvFormats; ++v) {
      KvShape shape{.k = {.format = static_cast<KvFormat>(k)}, .v = {.format = static_cast<KvFormat>(v)}};
      shape.head_dim_v = 96;
      expect_same_bytes(shape, {40, 7}, TokenPlaces().add(1, 3, 4).add(0, 10, 25));
    }
  }
}

TEST_P(KvWrite, HeadSizesThatFillNoVector) {
  for (const auto format : {KvFormat::f32, KvFormat::f16, KvFormat::bf16}) {
    for (const int64_t head_dim : {1, 3, 7, 9, 15, 17, 20, 33, 80}) {
      KvShape shape{.k = {.format = format},
                    .v = {.format = format},
                    .head_dim_k = head_dim,
                    .head_dim_v = head_dim + 1};
      expect_same_bytes(shape, {20}, TokenPlaces().add(0, 15, 3));
    }
  }
}

TEST_P(KvWrite, ManyTokensOrNone) {
  for (const auto format : {KvFormat::f16, KvFormat::q8_0}) {
    const KvShape shape{.k = {.format = format}, .v = {.format = format}, .n_head_kv = 8, .page_tokens = 64};
    expect_same_bytes(shape, {300, 200}, TokenPlaces().add(0, 0, 300).add(1, 17, 150));
    expect_same_bytes(shape, {64}, TokenPlaces());
  }
}

// The layout that everybody else relies on: page of the position, layer, side, head, slot.
TEST_P(KvWrite, RowsLieWhereTheViewSays) {
  OpBench bench = tested();
  const KvShape shape{
      .k = {.format = KvFormat::f32}, .v = {.format = KvFormat::f32}, .head_dim_k = 4, .head_dim_v = 3};
  const KvPages pages(shape, {33}, random_);
  const TokenPlaces places = TokenPlaces().add(0, 32, 1).add(0, 15, 1);
  const auto k = random_floats(4 * 2 * 2), v = random_floats(3 * 2 * 2);
  const KvLayers layers = pages.on(bench, pages.unwritten());
  const KvView kv = layers.layer(1);
  const Tensor tk = bench.upload({4, 2, 2, 1}, k), tv = bench.upload({3, 2, 2, 1}, v);
  const BatchView batch = places.on(bench);
  bench.run([&](Stream& s) {
    kv_write(s, kv, tk, tv, batch);
    return tk;
  });
  const auto bytes = KvPages::contents(bench, layers);
  const auto table = bench.download_bytes(kv.page_table);
  for (size_t token = 0; token < 2; ++token) {
    const auto pos = static_cast<size_t>(places.pos[token]);
    int32_t page;
    std::memcpy(&page, table.data() + pos / 16 * sizeof page, sizeof page);
    for (int64_t head = 0; head < 2; ++head) {
      const std::byte* start = bytes.data() + kv.layer_bytes + static_cast<size_t>(page) * kv.page_bytes;
      const size_t row = token * 2 + static_cast<size_t>(head);
      EXPECT_EQ(std::memcmp(start + kv.k_offset(head) + pos % 16 * 16, k.data() + row * 4, 16), 0);
      EXPECT_EQ(std::memcmp(start + kv.v_offset(head) + pos % 16 * 12, v.data() + row * 3, 12), 0);
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(KvWrite, &OpTable::kv_write);

}  // namespace
}  // namespace parlance::test
