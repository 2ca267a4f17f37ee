#include "kernels/support/kv_pages.h"
#include "kernels/support/same_for_all_devices.h"

namespace parlance::test {
namespace {

class Attention : public KernelTest {
 protected:
  struct Case {
    KvShape shape;
    int64_t group = 2;  // query heads of each KV head
    std::vector<int32_t> lengths;
    TokenPlaces places;  // of the queries
    float q_limit = 1;
    float tolerance = 0;  // 0: what rounding may amount to
    int32_t window = 0;   // positions that a token sees up to its own; 0: all
  };

  static BatchView batch_of(const Case& c, OpBench& bench) {
    BatchView batch = c.places.on(bench);
    if (c.window == 0) return batch;
    std::vector<int32_t> first;
    for (const int32_t pos : c.places.pos) first.push_back(std::max(0, pos + 1 - c.window));
    batch.first = bench.upload(first);
    return batch;
  }

  // Fills the cache with random keys and values, then lets both devices attend to the same bytes.
  void expect_match(const Case& c) {
    const KvShape& shape = c.shape;
    const int64_t n_head = c.group * shape.n_head_kv;
    struct Same {
      KvPages pages;
      std::vector<std::byte> contents;
      std::vector<float> q, want;
    };
    const auto on = [&](OpBench bench, const Same& same) {
      const KvLayers kv = same.pages.on(bench, same.contents);
      const Tensor tq = bench.upload({shape.head_dim_k, n_head, c.places.size(), 1}, same.q);
      const BatchView batch = batch_of(c, bench);
      const float scale = 1 / std::sqrt(static_cast<float>(shape.head_dim_k));
      return bench.run([&](Stream& s) { return attention(s, tq, kv.layer(kLayer), batch, scale); });
    };
    const std::string what =
        fmt::format("{} group {} limit {} window {} lengths{} places{}{}", to_text(shape), c.group, c.q_limit,
                    c.window, listed(c.lengths), listed(c.places.seq), listed(c.places.pos));
    const Same& same = same_for_all_devices(random_, what, [&] {
      Same made{.pages = KvPages(shape, c.lengths, random_), .contents = {}, .q = {}, .want = {}};
      made.contents = filled(made.pages, shape);
      made.q = random_floats(shape.head_dim_k * n_head * c.places.size(), c.q_limit);
      made.want = on(reference(), made);
      return made;
    });
    SCOPED_TRACE(what);
    const float rounding = attention_rounding(shape, device_cases()[GetParam()], c.places.size(), c.q_limit);
    expect_close(on(tested(), same), same.want, c.tolerance > 0 ? c.tolerance : rounding, 0);
  }

  static constexpr int64_t kLayer = 1;

  std::vector<std::byte> filled(const KvPages& pages, const KvShape& shape) {
    OpBench bench = reference();
    const KvLayers kv = pages.on(bench, pages.unwritten());
    const int64_t n_rows = shape.n_head_kv * pages.places().size();
    const Tensor k = bench.upload({shape.head_dim_k, shape.n_head_kv, pages.places().size(), 1},
                                  random_floats(shape.head_dim_k * n_rows));
    const Tensor v = bench.upload({shape.head_dim_v, shape.n_head_kv, pages.places().size(), 1},
                                  random_floats(shape.head_dim_v * n_rows));
    const BatchView batch = pages.places().on(bench);
    bench.run([&](Stream& s) {
      kv_write(s, kv.layer(kLayer), k, v, batch);
      return k;
    });
    return KvPages::contents(bench, kv);
  }
};

TEST_P(Attention, EveryPairOfPlainFormats) {
  // The shader reads keys and values by functions that know one format each: a driver that compiles each pair
  // for long meets every format on either side beside another, and in WideHeads beside itself.
  const bool is_slow = is_software_vulkan();
  for (size_t k = 0; k < kPlainKvFormats; ++k) {
    for (size_t v = 0; v < kPlainKvFormats; ++v) {
      if (is_slow && v != (k + 1) % kPlainKvFormats) continue;
      KvShape shape{.k = {.format = static_cast<KvFormat>(k)}, .v = {.format = static_cast<KvFormat>(v)}};
      shape.head_dim_v = 96;
      expect_match({.shape = shape, .lengths = {70}, .places = TokenPlaces().add(0, 69, 1)});
      expect_match({.shape = shape, .lengths = {70}, .places = TokenPlaces().add(0, 37, 33)});
    }
  }
}

// Of every length about a page, a block and a piece of keys, for answers, drafts and prompts.
TEST_P(Attention, Windows) {
  for (const int32_t window : {1, 2, 15, 16, 17, 63, 64, 65, 128, 129, 500}) {
    const KvShape shape{.page_tokens = window % 2 == 0 ? 16 : 64};
    for (const int32_t n_tokens : {1, 6, 40}) {
      expect_match({.shape = shape,
                    .lengths = {300, 80},
                    .places = TokenPlaces().add(0, 300 - n_tokens, n_tokens).add(1, 79, 1),
                    .window = window});
    }
    if (window % 8 != 1) continue;
    expect_match(
        {.shape = shape, .lengths = {200}, .places = TokenPlaces().add(0, 0, 200), .window = window});
  }
  for (const int32_t window : {10, 1000, 1024, 2000}) {
    for (const int32_t n_tokens : {1, 17}) {
      expect_match({.shape = {.n_head_kv = 1, .page_tokens = 64},
                    .lengths = {3100},
                    .places = TokenPlaces().add(0, 3100 - n_tokens, n_tokens),
                    .window = window});
    }
  }
}

// Rows of tokens whose windows begin elsewhere find what each finds alone.
TEST_P(Attention, RowsInWindowsDoNotSeeEachOther) {
  const KvShape shape{.k = {.format = KvFormat::f16}, .v = {.format = KvFormat::f16}, .page_tokens = 64};
  const KvPages pages(shape, {300, 1500}, random_);
  const auto contents = filled(pages, shape);
  const auto places = TokenPlaces().add(0, 290, 7).add(1, 1400, 5);
  const int64_t n = 2 * shape.n_head_kv * shape.head_dim_k;
  const auto q = random_floats(n * places.size());
  const auto run = [&](const TokenPlaces& of, int64_t first) {
    OpBench bench = tested();
    const KvLayers kv = pages.on(bench, contents);
    const Tensor tq =
        bench.upload({shape.head_dim_k, 2 * shape.n_head_kv, of.size(), 1},
                     std::vector<float>(q.begin() + first * n, q.begin() + (first + of.size()) * n));
    const BatchView batch = batch_of({.shape = shape, .lengths = {}, .places = of, .window = 130}, bench);
    return bench.run([&](Stream& s) { return attention(s, tq, kv.layer(kLayer), batch, 0.1f); });
  };
  const auto together = run(places, 0);
  for (int64_t i = 0; i < places.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    const auto alone = run(TokenPlaces().add(places.seq[at], places.pos[at], 1), i);
    ASSERT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + i * n)) << "row " << i;
  }
}

TEST_P(Attention, DecodesAtEveryEdgeOfABlock) {
  for (const int32_t page_tokens : {16, 24, 64, 256}) {
    for (const int32_t length : {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 300}) {
      const KvShape shape{.head_dim_k = 128, .head_dim_v = 128, .page_tokens = page_tokens};
      expect_match({.shape = shape, .lengths = {length}, .places = TokenPlaces().add(0, length - 1, 1)});
    }
  }
}

TEST_P(Attention, HeadSizes) {
  for (const int64_t head_dim : {1, 3, 7, 8, 16, 17, 20, 33, 64, 80, 96, 100, 128, 256, 257}) {
    for (const auto format : {KvFormat::f32, KvFormat::f16, KvFormat::bf16}) {
      // Those up to 32 that are no whole pieces share a variant of the shader.
      const bool is_compiled_anyway = head_dim == 64 || (head_dim <= 32 && head_dim != 16);
      if (format != KvFormat::f16 && !is_compiled_anyway && is_software_vulkan()) continue;
      const KvShape shape{.k = {.format = format},
                          .v = {.format = format},
                          .n_head_kv = 1,
                          .head_dim_k = head_dim,
                          .head_dim_v = head_dim + head_dim % 3};
      expect_match({.shape = shape, .lengths = {21}, .places = TokenPlaces().add(0, 20, 1)});
      expect_match({.shape = shape, .lengths = {21}, .places = TokenPlaces().add(0, 4, 17)});
    }
  }
}

TEST_P(Attention, GroupSizes) {
  for (const int64_t group : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 95, 96, 97, 200}) {
    for (const int32_t n_tokens : {1, 2, 3, 20}) {
      const KvShape shape{.head_dim_k = 32, .head_dim_v = 32};
      expect_match(
          {.shape = shape, .group = group, .lengths = {50}, .places = TokenPlaces().add(0, 30, n_tokens)});
    }
  }
}

TEST_P(Attention, PrefillFromTheStartAndInChunks) {
  for (const int32_t page_tokens : {16, 64}) {
    for (const int32_t first : {0, 1, 90}) {
      for (const int32_t n_tokens : {5, 47, 48, 49, 130}) {
        const KvShape shape{.page_tokens = page_tokens};
        expect_match(
            {.shape = shape, .lengths = {first + n_tokens}, .places = TokenPlaces().add(0, first, n_tokens)});
      }
    }
  }
}

TEST_P(Attention, SequencesSideBySide) {
  const KvShape shape{.n_head_kv = 3, .page_tokens = 16};
  const std::vector<int32_t> lengths = {100, 1, 40, 129};
  // One token each, a chunk among them, the same sequence again, and positions that jump.
  expect_match({.shape = shape,
                .lengths = lengths,
                .places = TokenPlaces().add(0, 99, 1).add(1, 0, 1).add(2, 39, 1).add(3, 128, 1)});
  expect_match(
      {.shape = shape,
       .lengths = lengths,
       .places = TokenPlaces().add(3, 128, 1).add(0, 50, 50).add(3, 0, 30).add(1, 0, 1).add(0, 3, 1)});
  expect_match({.shape = shape,
                .lengths = lengths,
                .places = TokenPlaces().add(2, 30, 1).add(2, 2, 1).add(2, 39, 1).add(2, 2, 3)});
}

// Long passes are split among the threads and put together again.
TEST_P(Attention, LongContexts) {
  for (const auto format : {KvFormat::f16, KvFormat::q8_0}) {
    const KvShape shape{.k = {.format = format},
                        .v = {.format = format},
                        .head_dim_k = 32,
                        .head_dim_v = 32,
                        .page_tokens = 64};
    const std::vector<int32_t> lengths = {3001, 700};
    expect_match({.shape = shape, .lengths = lengths, .places = TokenPlaces().add(0, 3000, 1)});
    expect_match(
        {.shape = shape, .lengths = lengths, .places = TokenPlaces().add(0, 2997, 4).add(1, 600, 1)});
    expect_match(
        {.shape = shape, .lengths = lengths, .places = TokenPlaces().add(1, 699, 1).add(0, 2900, 30)});
    // The second token of the tile sees nothing of the later parts.
    expect_match({.shape = shape, .lengths = lengths, .places = TokenPlaces().add(0, 3000, 1).add(0, 10, 1)});
  }
}

// Scores far apart: most weights vanish, and the largest one arrives late.
TEST_P(Attention, PeakedScores) {
  const KvShape shape{.k = {.format = KvFormat::f32}, .v = {.format = KvFormat::f32}};
  expect_match({.shape = shape,
                .lengths = {400},
                .places = TokenPlaces().add(0, 399, 1),
                .q_limit = 300,
                .tolerance = 2e-3f});
  expect_match({.shape = shape,
                .lengths = {400},
                .places = TokenPlaces().add(0, 370, 30),
                .q_limit = 300,
                .tolerance = 2e-3f});
}

TEST_P(Attention, NoTokens) {
  expect_match({.shape = {}, .lengths = {10}, .places = TokenPlaces()});
}

// Equal keys weigh equally: the answer is the mean of the values, whatever the definition says.
TEST_P(Attention, MeanOfValues) {
  OpBench bench = tested();
  const KvShape shape{.k = {.format = KvFormat::f32},
                      .v = {.format = KvFormat::f32},
                      .n_head_kv = 1,
                      .head_dim_k = 8,
                      .head_dim_v = 2};
  const KvPages pages(shape, {5}, random_);
  const KvLayers kv = pages.on(bench, pages.unwritten());
  const Tensor k = bench.upload({8, 1, 5, 1}, std::vector<float>(40, 0.5f));
  const Tensor v = bench.upload({2, 1, 5, 1}, {1, 10, 2, 20, 3, 30, 4, 40, 100, 1000});
  const Tensor q = bench.upload({8, 1, 2, 1}, random_floats(16));
  const BatchView all = pages.places().on(bench);
  const BatchView queries = TokenPlaces().add(0, 3, 1).add(0, 1, 1).on(bench);
  const auto got = bench.run([&](Stream& s) {
    kv_write(s, kv.layer(0), k, v, all);
    return attention(s, q, kv.layer(0), queries, 0.3f);
  });
  expect_close(got, {2.5f, 25, 1.5f, 15}, 1e-5f, 0);
}

PARLANCE_FOR_EACH_DEVICE(Attention, &OpTable::attention, &OpTable::kv_write);

}  // namespace
}  // namespace parlance::test
