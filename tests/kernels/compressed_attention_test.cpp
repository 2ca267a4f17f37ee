// attention from compressed keys and values, on every device that has it: each format with itself and beside
// f16, and sequences that begin and end in exact pages.
#include "kernels/support/kv_pages.h"
#include "kernels/support/same_for_all_devices.h"

namespace parlance::test {
namespace {

constexpr KvCoding kExact = {.format = KvFormat::f16};

// The codings that take heads of this size: every compressed format, and plain ones rotated.
std::vector<KvCoding> codings(int64_t head_dim) {
  std::vector<KvCoding> list;
  for (size_t id = kPlainKvFormats; id < kKvFormatCount; ++id) {
    const auto format = static_cast<KvFormat>(id);
    if (head_dim % traits(format).block_elements == 0) list.push_back({.format = format});
  }
  for (const auto format : {KvFormat::f16, KvFormat::q8_0, KvFormat::q4_0}) {
    list.push_back({.format = format, .rotated = true});
  }
  if (head_dim % 128 == 0) list.push_back({.format = KvFormat::qjl1_256, .least_squares = false});
  return list;
}

// Pages [first, last) of a sequence's positions, of those that are compressed.
struct MainPages {
  int32_t first, last;
};

class CompressedAttention : public KernelTest {
 protected:
  struct Case {
    KvShape shape;
    int64_t group = 2;  // query heads of each KV head
    std::vector<int32_t> lengths;
    TokenPlaces places;                      // of the queries
    bool is_prefill = false;                 // of tiles that devices meet with more digits
    std::vector<MainPages> main_pages = {};  // of the sequences; empty: there are no exact pages
  };

  // Fills the cache with random keys and values, then lets both devices attend to the same bytes.
  void expect_match(const Case& c) {
    const KvShape& shape = c.shape;
    KvShape exact_shape = shape;
    exact_shape.k = exact_shape.v = kExact;
    const int64_t n_head = c.group * shape.n_head_kv;
    struct Same {
      KvPages pages, exact_pages;
      std::vector<std::byte> contents, exact_contents;
      std::vector<float> q, want;
    };
    const auto on = [&](OpBench bench, const Same& same) {
      KvView kv = same.pages.on(bench, same.contents).layer(kLayer);
      const KvLayers exact_layers = same.exact_pages.on(bench, same.exact_contents);
      if (!c.main_pages.empty()) {
        kv.exact = &exact_layers.layer(kLayer);
        kv.main_pages = bench.upload(bounds_of(c.main_pages));
      }
      const Tensor tq = bench.upload({shape.head_dim_k, n_head, c.places.size(), 1}, same.q);
      const BatchView batch = c.places.on(bench);
      const float scale = 1 / std::sqrt(static_cast<float>(shape.head_dim_k));
      return bench.run([&](Stream& s) { return attention(s, tq, kv, batch, scale); });
    };
    const std::string what = fmt::format("{} group {} lengths{} places{}{} main pages{}", to_text(shape),
                                         c.group, listed(c.lengths), listed(c.places.seq),
                                         listed(c.places.pos), listed(bounds_of(c.main_pages)));
    const Same& same = same_for_all_devices(random_, what, [&] {
      const KvPages pages(shape, c.lengths, random_), exact_pages(exact_shape, c.lengths, random_);
      Same made{.pages = pages,
                .exact_pages = exact_pages,
                .contents = filled(pages, shape, places_in(c, true)),
                .exact_contents = filled(exact_pages, exact_shape, places_in(c, false)),
                .q = random_floats(shape.head_dim_k * n_head * c.places.size(), kQueryLimit),
                .want = {}};
      made.want = on(reference(), made);
      return made;
    });
    SCOPED_TRACE(what);
    const DeviceCase& device = device_cases()[GetParam()];
    const auto got = on(tested(), same);
    const std::vector<float>& want = same.want;
    const auto is_coarse = [](const KvCoding& coding) {
      return coding.format != KvFormat::f16 && coding.format != KvFormat::q8_0;
    };
    const bool in_bytes =
        (!c.is_prefill && (is_coarse(shape.k) || is_coarse(shape.v))) || shape.k.format == KvFormat::qjl1_256;
    if (device.name.starts_with("cpu_avx512") && in_bytes) {
      // Bytes: levels, queries and weights together were seen to add up to 2.1e-4 of the result's squares;
      // the formats themselves add 7e-3 or more.
      expect_close(got, want, kQueryLimit * 8e-3f, 0);
      EXPECT_LE(mean_square_error(got, want), 3e-4);
      return;
    }
    if (device.name.starts_with("cuda") && (unpacks(shape) || !c.main_pages.empty())) {
      // Stored values, queries and weights are rounded to 16-bit floats, which was seen to add up to 5.7e-7
      // of the result's squares.
      expect_close(got, want, kQueryLimit * 1e-3f, 0);
      EXPECT_LE(mean_square_error(got, want), 1e-6);
      return;
    }
    // The unbiased reading of a sketch makes everything, and its errors, larger.
    const float factor = 2 * kQueryLimit * (shape.k.least_squares && shape.v.least_squares ? 1 : 3);
    const KvShape& roughest = c.main_pages.empty() ? shape : exact_shape;  // f16 beside sketches
    expect_close(got, want, factor * attention_rounding(roughest, device, c.places.size()), 0);
  }

  static std::vector<int32_t> bounds_of(const std::vector<MainPages>& main_pages) {
    std::vector<int32_t> bounds;
    for (const auto& [first, last] : main_pages) bounds.insert(bounds.end(), {first, last});
    return bounds;
  }

  // That what comes of the last query's first head, of which a channel is no number, is none either, and all
  // else is.
  void expect_no_number(const KvShape& shape, int32_t n_positions, int64_t n_tokens, int64_t channel) {
    const int64_t n_head = 2 * shape.n_head_kv;
    const TokenPlaces places =
        TokenPlaces().add(0, n_positions - static_cast<int32_t>(n_tokens), static_cast<int32_t>(n_tokens));
    const KvPages pages(shape, {n_positions}, random_);
    const auto contents = filled(pages, shape, TokenPlaces().add(0, 0, n_positions));
    auto q = random_floats(shape.head_dim_k * n_head * n_tokens, kQueryLimit);
    q[static_cast<size_t>(shape.head_dim_k * n_head * (n_tokens - 1) + channel)] =
        std::numeric_limits<float>::quiet_NaN();
    OpBench bench = tested();
    const KvView kv = pages.on(bench, contents).layer(kLayer);
    const Tensor tq = bench.upload({shape.head_dim_k, n_head, n_tokens, 1}, q);
    const BatchView batch = places.on(bench);
    const float scale = 1 / std::sqrt(static_cast<float>(shape.head_dim_k));
    const auto got = bench.run([&](Stream& s) { return attention(s, tq, kv, batch, scale); });
    const auto first = static_cast<size_t>(shape.head_dim_v * n_head * (n_tokens - 1));
    for (size_t i = 0; i < got.size(); ++i) {
      const bool is_spoiled = i >= first && i < first + static_cast<size_t>(shape.head_dim_v);
      ASSERT_EQ(std::isnan(got[i]), is_spoiled)
          << name(shape.k) << ", " << n_tokens << " tokens, element " << i << " is " << got[i];
    }
  }

  // Each format as keys and values, as keys alone, as values alone.
  template <class Expect>
  void for_each_pair(int64_t head_dim, int32_t page_tokens, const Expect& expect) {
    const bool is_slow = is_software_vulkan();
    for (const KvShape& shape : shapes_of_every_format(head_dim, page_tokens)) {
      expect(shape);
      if (is_slow) continue;
      KvShape keys = shape, values = shape;
      keys.v = values.k = kExact;
      expect(keys);
      expect(values);
    }
  }

  // Each format as keys and as values: beside itself; where a driver compiles each pair for long beside the
  // next one, everywhere the same. The shader reads keys and values by functions that know one format each.
  std::vector<KvShape> shapes_of_every_format(int64_t head_dim, int32_t page_tokens) {
    const bool is_slow = is_software_vulkan();
    std::vector<KvShape> shapes;
    const auto list = codings(head_dim);
    for (size_t i = 0; i < list.size(); ++i) {
      const KvCoding &coding = list[i], &next = list[(i + 1) % list.size()];
      if (is_slow && head_dim != 128 && coding.format != KvFormat::tbq3_0 &&
          coding.format != KvFormat::tbq3_tcq)
        continue;
      shapes.push_back({.k = coding,
                        .v = is_slow && head_dim == 128 ? next : coding,
                        .head_dim_k = head_dim,
                        .head_dim_v = head_dim,
                        .page_tokens = page_tokens});
    }
    return shapes;
  }

  void SetUp() override {
    if (!tested().device().ops().transforms_kv) GTEST_SKIP() << "no compressed caches on this device yet";
  }

 private:
  static constexpr int64_t kLayer = 1;
  static constexpr float kQueryLimit = 3;  // some weights are a hundred times as large as others

  static std::string name(const KvCoding& coding) {
    return std::string(name_of(coding.format)) + (coding.rotated ? " rotated" : "") +
           (coding.least_squares ? "" : " unbiased");
  }

  // Whether tensor cores meet a cache of this shape on CUDA.
  static bool unpacks(const KvShape& shape) {
    const auto is_sketch = [](const KvCoding& coding) { return coding.format == KvFormat::qjl1_256; };
    return (shape.head_dim_k == 64 || shape.head_dim_k == 128) && !is_sketch(shape.v);
  }

  // The positions that lie in compressed pages, or in exact ones.
  static TokenPlaces places_in(const Case& c, bool compressed) {
    TokenPlaces places;
    for (size_t s = 0; s < c.lengths.size(); ++s) {
      for (int32_t pos = 0; pos < c.lengths[s]; ++pos) {
        const int32_t page = pos / c.shape.page_tokens;
        const bool is_main =
            c.main_pages.empty() || (page >= c.main_pages[s].first && page < c.main_pages[s].last);
        if (is_main == compressed) places.add(static_cast<int32_t>(s), pos, 1);
      }
    }
    return places;
  }

  std::vector<std::byte> filled(const KvPages& pages, const KvShape& shape, const TokenPlaces& places) {
    OpBench bench = reference();
    const KvLayers kv = pages.on(bench, pages.unwritten());
    if (places.size() == 0) return KvPages::contents(bench, kv);
    const int64_t n_rows = shape.n_head_kv * places.size();
    const Tensor k = bench.upload({shape.head_dim_k, shape.n_head_kv, places.size(), 1},
                                  random_floats(shape.head_dim_k * n_rows));
    const Tensor v = bench.upload({shape.head_dim_v, shape.n_head_kv, places.size(), 1},
                                  random_floats(shape.head_dim_v * n_rows));
    const BatchView batch = places.on(bench);
    bench.run([&](Stream& s) {
      kv_write(s, kv.layer(kLayer), k, v, batch);
      return k;
    });
    return KvPages::contents(bench, kv);
  }
};

TEST_P(CompressedAttention, Decodes) {
  for (const int64_t head_dim : {64, 96, 128, 256}) {
    for_each_pair(head_dim, 16, [&](const KvShape& shape) {
      for (const int64_t group : {1, 2}) {
        expect_match(
            {.shape = shape, .group = group, .lengths = {37}, .places = TokenPlaces().add(0, 36, 1)});
      }
    });
  }
  for_each_pair(128, 64, [&](const KvShape& shape) {
    for (const int64_t group : {4, 7}) {
      expect_match(
          {.shape = shape, .group = group, .lengths = {129}, .places = TokenPlaces().add(0, 128, 1)});
    }
  });
}

TEST_P(CompressedAttention, DecodesAtEveryEdgeOfABlock) {
  for_each_pair(128, 256, [&](const KvShape& shape) {
    TokenPlaces places;  // a tile each, since positions jump between sequences
    for (const int32_t pos : {0, 1, 2, 3, 14, 15, 16, 31, 32, 63, 64, 65, 127, 128, 129}) {
      places.add(pos % 2, pos, 1);
    }
    expect_match({.shape = shape, .lengths = {130, 130}, .places = places});
  });
}

// Rows of one sequence share what a GPU reads: some of a tile, all of it and more, and from the first key on.
TEST_P(CompressedAttention, Drafts) {
  if (std::string_view(tested().device().name()) == "cpu" || is_software_vulkan())
    GTEST_SKIP() << "attention_rows_test.cpp has the CPU's; shaders take rows one at a time";
  for (const auto& [head_dim, page_tokens] : {std::pair{64, 16}, {128, 48}}) {
    for_each_pair(head_dim, page_tokens, [&](const KvShape& shape) {
      for (const auto& [group, first, n] : {std::tuple{1, 130, 2}, {4, 100, 16}, {7, 47, 3}, {8, 0, 5}}) {
        expect_match({.shape = shape,
                      .group = group,
                      .lengths = {first + n},
                      .places = TokenPlaces().add(0, first, n)});
      }
    });
  }
}

TEST_P(CompressedAttention, Prefills) {
  for (const int64_t head_dim : {64, 128, 256}) {
    for_each_pair(head_dim, 16, [&](const KvShape& shape) {
      expect_match(
          {.shape = shape, .lengths = {43}, .places = TokenPlaces().add(0, 3, 40), .is_prefill = true});
    });
  }
  for_each_pair(128, 64, [&](const KvShape& shape) {
    expect_match({.shape = shape,
                  .group = 4,
                  .lengths = {131},
                  .places = TokenPlaces().add(0, 91, 40),
                  .is_prefill = true});
  });
}

// A sink and a window of recent positions in f16, the middle compressed. Tokens lie before, in, and behind
// the middle, and one sequence has no middle.
TEST_P(CompressedAttention, ExactPages) {
  const std::vector<int32_t> lengths = {90, 20};
  const std::vector<MainPages> main_pages = {{2, 4}, {2, 2}};
  for (const KvShape& shape : shapes_of_every_format(128, 16)) {
    expect_match({.shape = shape,
                  .lengths = lengths,
                  .places = TokenPlaces().add(0, 89, 1).add(1, 19, 1),
                  .main_pages = main_pages});
    expect_match({.shape = shape,
                  .lengths = lengths,
                  .places = TokenPlaces().add(0, 25, 50).add(1, 3, 5),
                  .is_prefill = true,
                  .main_pages = main_pages});
  }
}

// What a broken model computes must not become a plausible answer on its way.
TEST_P(CompressedAttention, AQueryThatIsNoNumberGivesNone) {
  for (const KvShape& shape : shapes_of_every_format(128, 16)) {
    for (const auto& [n_tokens, channel] : {std::pair{1, 0}, {1, 32}, {1, 127}, {5, 31}, {40, 64}})
      expect_no_number(shape, 45, n_tokens, channel);
  }
}

// Long passes are split among the threads, in the middle of segments.
TEST_P(CompressedAttention, LongContexts) {
  std::vector<std::pair<KvFormat, KvFormat>> pairs = {{KvFormat::q4_0, KvFormat::q4_0},
                                                      {KvFormat::tbq3_0, KvFormat::tbq3_0},
                                                      {KvFormat::tbq4_0, KvFormat::tbq4_0}};
  // Of those that have been compiled for the tests above.
  if (is_software_vulkan())
    pairs = {{KvFormat::q4_0, KvFormat::tbq3_0}, {KvFormat::tbq3_0, KvFormat::tbq4_0}};
  for (const auto& [k, v] : pairs) {
    const KvShape shape{.k = {.format = k},
                        .v = {.format = v},
                        .n_head_kv = 1,
                        .head_dim_k = 128,
                        .head_dim_v = 128,
                        .page_tokens = 64};
    expect_match({.shape = shape, .lengths = {1700}, .places = TokenPlaces().add(0, 1699, 1)});
    expect_match({.shape = shape,
                  .lengths = {1700},
                  .places = TokenPlaces().add(0, 1660, 40),
                  .is_prefill = true,
                  .main_pages = {{1, 21}}});
  }
}

PARLANCE_FOR_EACH_DEVICE(CompressedAttention, &OpTable::attention);

}  // namespace
}  // namespace parlance::test
