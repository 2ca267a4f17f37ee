// What attention gives a row is the same bits whatever other rows there are, however keys are split and on
// how many threads: every format of the cache on every instruction set of this CPU.
#include "kernels/support/kv_pages.h"

namespace parlance::test {
namespace {

class AttentionRows : public testing::TestWithParam<Isa> {
 protected:
  static constexpr int64_t kGroup = 2;

  OpBench bench_on(int n_threads) const {
    return OpBench(std::move(*make_cpu_device(
        {.n_threads = n_threads, .isa = name_of(GetParam()), .deterministic = is_deterministic_})));
  }

  std::vector<float> random_floats(int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    std::normal_distribution<float> normal;
    for (float& value : values) value = normal(random_);
    return values;
  }

  // A cache of one layer with sequences of these lengths.
  struct Cache {
    KvShape shape;
    KvPages pages;
    std::vector<std::byte> contents;
  };

  Cache filled(KvShape shape, const std::vector<int32_t>& lengths) {
    shape.n_layer = 1;
    Cache cache{shape, KvPages(shape, lengths, random_), {}};
    OpBench bench = bench_on(2);
    const KvLayers kv = cache.pages.on(bench, cache.pages.unwritten());
    const int64_t n = cache.pages.places().size();
    const auto rows = [&](int64_t head_dim) {
      return bench.upload({head_dim, shape.n_head_kv, n, 1}, random_floats(head_dim * shape.n_head_kv * n));
    };
    const Tensor k = rows(shape.head_dim_k), v = rows(shape.head_dim_v);
    const BatchView batch = cache.pages.places().on(bench);
    bench.run([&](Stream& s) {
      kv_write(s, kv.layer(0), k, v, batch);
      return k;
    });
    cache.contents = KvPages::contents(bench, kv);
    return cache;
  }

  // Two sequences, in heads of 128 or of the format's blocks if these are larger.
  Cache filled_with(KvFormat format) {
    const int64_t head_dim = std::max<int64_t>(128, traits(format).block_elements);
    return filled({.k = {.format = format},
                   .v = {.format = format},
                   .n_head_kv = 1,
                   .head_dim_k = head_dim,
                   .head_dim_v = head_dim,
                   .page_tokens = 64},
                  {300, 90});
  }

  // Rows [first, first + n) of the queries.
  std::vector<float> attend(int n_threads, const Cache& cache, const TokenPlaces& places,
                            const std::vector<float>& q, int64_t first, int64_t n) const {
    OpBench bench = bench_on(n_threads);
    const KvLayers kv = cache.pages.on(bench, cache.contents);
    const int64_t n_head = kGroup * cache.shape.n_head_kv, row = n_head * cache.shape.head_dim_k;
    const Tensor tq =
        bench.upload({cache.shape.head_dim_k, n_head, n, 1},
                     std::vector<float>(q.begin() + first * row, q.begin() + (first + n) * row));
    TokenPlaces own;
    for (int64_t i = first; i < first + n; ++i) {
      own.add(places.seq[static_cast<size_t>(i)], places.pos[static_cast<size_t>(i)], 1);
    }
    const BatchView batch = own.on(bench);
    return bench.run([&](Stream& s) { return attention(s, tq, kv.layer(0), batch, 0.15f); });
  }

  void expect_rows_alone(const Cache& cache, const TokenPlaces& places, const std::vector<int64_t>& counts) {
    SCOPED_TRACE(testing::Message() << "k " << name_of(cache.shape.k.format) << ", v "
                                    << name_of(cache.shape.v.format) << ", heads of "
                                    << cache.shape.head_dim_k << ", pages of " << cache.shape.page_tokens);
    const int64_t most = places.size(), n_head = kGroup * cache.shape.n_head_kv;
    const auto q = random_floats(cache.shape.head_dim_k * n_head * most);
    std::vector<float> alone;
    for (int64_t row = 0; row < most; ++row) {
      const auto out = attend(1, cache, places, q, row, 1);
      alone.insert(alone.end(), out.begin(), out.end());
    }
    for (const int64_t count : counts) {
      for (const int64_t first : {int64_t{0}, most - count}) {
        const auto together = attend(1 + static_cast<int>(count % 4), cache, places, q, first, count);
        const float* want = alone.data() + first * n_head * cache.shape.head_dim_v;
        ASSERT_EQ(0, std::memcmp(together.data(), want, together.size() * sizeof(float)))
            << "rows " << first << " to " << first + count << " of " << most;
      }
    }
  }

  bool is_deterministic_ = true;
  std::mt19937 random_{7};
};

TEST_P(AttentionRows, OfEveryFormat) {
  for (size_t id = 0; id < kKvFormatCount; ++id) {
    expect_rows_alone(filled_with(static_cast<KvFormat>(id)),
                      TokenPlaces().add(0, 270, 30).add(1, 60, 30).add(0, 100, 3),
                      {1, 2, 3, 4, 5, 7, 8, 30, 33, 63});
    if (HasFatalFailure()) return;
  }
}

// Of a sequence with few tokens in the batch, such as what was drafted for an answer, on every device.
TEST_P(AttentionRows, OfDraftsWithoutBeingAskedFor) {
  is_deterministic_ = false;
  for (size_t id = 0; id < kKvFormatCount; ++id) {
    expect_rows_alone(filled_with(static_cast<KvFormat>(id)), TokenPlaces().add(0, 260, 32).add(1, 40, 32),
                      {1, 2, 4, 9, 17, 32, 33, 64});
    if (HasFatalFailure()) return;
  }
}

// Of pieces of a prompt that are attended to in tiles, which keep a row's numbers for themselves.
TEST_P(AttentionRows, OfPiecesInTiles) {
  using enum KvFormat;
  if (GetParam() != Isa::avx512_amx) GTEST_SKIP() << "rows of a piece share steps";
  is_deterministic_ = false;
  for (const KvFormat format :
       {f16, bf16, q8_0, q4_0, tbq3_0, tbq4_0, tbq3_tcq, q4_polar, q4_polar_residual}) {
    SCOPED_TRACE(name_of(format));
    const Cache cache = filled_with(format);
    const TokenPlaces places = TokenPlaces().add(0, 77, 180);
    const int64_t row = kGroup * cache.shape.head_dim_k;
    const auto q = random_floats(row * places.size());
    const auto whole = attend(1, cache, places, q, 0, places.size());
    for (const auto& [first, n] : {std::pair<int64_t, int64_t>{0, 33}, {0, 100}, {17, 60}, {101, 79}}) {
      const auto piece = attend(3, cache, places, q, first, n);
      ASSERT_EQ(0, std::memcmp(piece.data(), whole.data() + first * row, piece.size() * sizeof(float)))
          << "rows " << first << " to " << first + n;
    }
  }
}

TEST_P(AttentionRows, OfEveryHeadSize) {
  for (const int64_t head_dim : {1, 7, 20, 33, 64, 80, 100, 257}) {
    for (const auto format : {KvFormat::f32, KvFormat::f16}) {
      const KvShape shape{.k = {.format = format},
                          .v = {.format = format},
                          .head_dim_k = head_dim,
                          .head_dim_v = head_dim + head_dim % 3,
                          .page_tokens = 24};
      expect_rows_alone(filled(shape, {200}), TokenPlaces().add(0, 150, 40), {1, 2, 3, 4, 17, 40});
      if (HasFatalFailure()) return;
    }
  }
}

// Several pieces, some rows of which see fewer than others.
TEST_P(AttentionRows, OfLongContexts) {
  for (const int32_t page_tokens : {24, 256}) {
    for (const auto format : {KvFormat::f16, KvFormat::q8_0}) {
      const KvShape shape{.k = {.format = format},
                          .v = {.format = format},
                          .n_head_kv = 1,
                          .head_dim_k = 32,
                          .head_dim_v = 32,
                          .page_tokens = page_tokens};
      const Cache cache = filled(shape, {7300, 1300});
      expect_rows_alone(cache,
                        TokenPlaces().add(0, 7298, 2).add(1, 1010, 30).add(0, 5110, 20).add(1, 1290, 3),
                        {1, 2, 3, 20, 54, 55});
      expect_rows_alone(cache, TokenPlaces().add(0, 3060, 40), {4, 39, 40});
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, AttentionRows,
                         testing::ValuesIn(isas_with_own(&OpTable::attention, &OpTable::kv_write)),
                         [](const auto& param) { return std::string(name_of(param.param)); });

}  // namespace
}  // namespace parlance::test
