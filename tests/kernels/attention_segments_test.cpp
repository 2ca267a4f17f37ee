// A row's keys are cut into segments, whose length changes with how many keys there are: about every limit
// and at every edge of a segment, CUDA's kernels give the row what the definition does, with the same bits
// alone, in a crowd, as a draft, and under any bound on positions.
#include <algorithm>
#include <cstring>
#include <set>

#include "kernels/support/kv_pages.h"

namespace parlance::test {
namespace {

class AttentionSegments : public KernelTest {
 protected:
  // What CUDA does with 8 KV heads (kernels/cuda/attention/attention.h): one segment of 64, 128 or 256 keys
  // where that is enough, segments of 64 keys up to 512, of 128 up to 2048, then of 256 up to 8448, then of
  // 1/33 of the keys, a multiple of 64. Pieces of a prompt have 8 segments, of 256 keys or more.
  static constexpr int64_t kKvHeads = 8, kHeads = 16, kHeadDim = 128;
  static constexpr int32_t kLimits[] = {64, 128, 256, 512, 2048, 8448, 10560};
  static constexpr int32_t kMostKeys = 10800;

  // Numbers of keys about each limit and on both sides of every edge.
  static std::vector<int32_t> key_counts() {
    std::set<int32_t> counts = {1};
    const auto add = [&](int32_t first, int32_t last, int32_t step) {
      for (int32_t edge = first; edge <= last; edge += step)
        for (const int32_t n : {edge - 1, edge, edge + 1}) counts.insert(n);
    };
    add(64, 2048, 64);
    add(2304, 8448, 256);
    add(8640, 10560, 320);  // 27 of them and more
    add(10752, 10752, 384);
    for (const int32_t limit : kLimits)
      for (int32_t n = limit - 2; n <= limit + 2; ++n) counts.insert(n);
    return {counts.begin(), counts.end()};
  }

  void SetUp() override {
    if (!device_cases()[GetParam()].name.starts_with("cuda")) GTEST_SKIP() << "other devices cut elsewhere";
  }

  struct Filled {
    KvShape shape;
    KvPages pages;
    std::vector<std::byte> contents;
  };

  Filled filled(KvFormat k, KvFormat v) {
    KvShape shape{.k = {.format = k},
                  .v = {.format = v},
                  .n_head_kv = kKvHeads,
                  .head_dim_k = kHeadDim,
                  .head_dim_v = kHeadDim,
                  .page_tokens = 64,
                  .n_layer = 1};
    Filled made{shape, KvPages(shape, {kMostKeys}, random_), {}};
    OpBench bench = tested();
    const KvLayers layers = made.pages.on(bench, made.pages.unwritten());
    const auto rows = [&] {
      return bench.upload({kHeadDim, kKvHeads, kMostKeys, 1}, random_floats(kHeadDim * kKvHeads * kMostKeys));
    };
    const Tensor keys = rows(), values = rows();
    const BatchView everything = made.pages.places().on(bench);
    bench.run([&](Stream& s) {
      kv_write(s, layers.layer(0), keys, values, everything);
      return keys;
    });
    made.contents = KvPages::contents(bench, layers);
    return made;
  }

  // Sequences that all have these pages, on a device.
  class Sequences {
   public:
    Sequences(OpBench bench, const Filled& filled, int64_t n_seq)
        : bench_(std::move(bench)), layers_(filled.pages.on(bench_, filled.contents)), kv_(layers_.layer(0)) {
      const std::vector<std::byte> bytes = bench_.download_bytes(kv_.page_table);
      std::vector<int32_t> pages(bytes.size() / sizeof(int32_t)), table;
      std::memcpy(pages.data(), bytes.data(), bytes.size());
      for (int64_t seq = 0; seq < n_seq; ++seq) table.insert(table.end(), pages.begin(), pages.end());
      kv_.page_table = bench_.upload(table);
      kv_.page_table.ne = {std::ssize(pages), n_seq, 1, 1};
    }

    std::vector<float> attend(const TokenPlaces& places, std::span<const float> q, int64_t least_bound = 0) {
      const Tensor tq =
          bench_.upload({kHeadDim, kHeads, places.size(), 1}, std::vector<float>(q.begin(), q.end()));
      BatchView batch = places.on(bench_);
      batch.n_kv_bound = std::max(batch.n_kv_bound, least_bound);
      return bench_.run([&](Stream& s) { return attention(s, tq, kv_, batch, kScale); });
    }

   private:
    static constexpr float kScale = 0.08838835f;

    OpBench bench_;
    const KvLayers layers_;
    KvView kv_;
  };

  static constexpr size_t kRow = kHeadDim * kHeads;
  static constexpr float kQueryLimit = 3;

  // One of so many rows.
  static std::span<const float> row_of(const std::vector<float>& rows, size_t i) {
    return std::span(rows).subspan(i * kRow, kRow);
  }
  static bool are_same(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  }
};

TEST_P(AttentionSegments, AnswersAtEveryEdge) {
  std::vector<int32_t> counts = key_counts();
  std::shuffle(counts.begin(), counts.end(), random_);
  for (const auto& [k, v] : {std::pair{KvFormat::f16, KvFormat::f16},
                             {KvFormat::q8_0, KvFormat::q8_0},
                             {KvFormat::tbq4_0, KvFormat::tbq4_0},
                             {KvFormat::q8_0, KvFormat::tbq3_0}}) {
    SCOPED_TRACE(testing::Message() << name_of(k) << " " << name_of(v));
    const Filled cache = filled(k, v);
    Sequences sequences(tested(), cache, std::ssize(counts));
    const auto q = random_floats(static_cast<int64_t>(kRow * counts.size()), kQueryLimit);
    std::vector<float> alone;
    for (size_t i = 0; i < counts.size(); ++i) {
      const auto places = TokenPlaces().add(static_cast<int32_t>(i), counts[i] - 1, 1);
      const auto row = sequences.attend(places, row_of(q, i));
      alone.insert(alone.end(), row.begin(), row.end());
      for (const int64_t bound : {257, 513, 2049, 12000, 33000}) {
        if (bound <= counts[i]) continue;
        ASSERT_TRUE(are_same(sequences.attend(places, row_of(q, i), bound), row))
            << counts[i] << " keys, of " << bound << " that there may be";
      }
    }
    for (const size_t n_rows : {size_t{3}, size_t{40}, counts.size()}) {
      for (size_t first = 0; first < counts.size(); first += n_rows) {
        const size_t n = std::min(n_rows, counts.size() - first);
        TokenPlaces places;
        for (size_t i = first; i < first + n; ++i) places.add(static_cast<int32_t>(i), counts[i] - 1, 1);
        const auto together = sequences.attend(places, std::span(q).subspan(first * kRow, n * kRow));
        for (size_t i = 0; i < n; ++i) {
          ASSERT_TRUE(are_same(row_of(together, i), row_of(alone, first + i)))
              << counts[first + i] << " keys, row " << i << " of " << n;
        }
      }
    }
    if (k == KvFormat::q8_0) continue;
    // About the limits and at some other edges, what the definition gives.
    TokenPlaces places;
    std::vector<float> some_q, got;
    for (size_t i = 0; i < counts.size(); ++i) {
      const bool is_near =
          std::ranges::any_of(kLimits, [&](int32_t n) { return std::abs(counts[i] - n) < 3; });
      if (!is_near && i % 9 != 0) continue;
      places.add(static_cast<int32_t>(i), counts[i] - 1, 1);
      some_q.insert(some_q.end(), row_of(q, i).begin(), row_of(q, i).end());
      got.insert(got.end(), row_of(alone, i).begin(), row_of(alone, i).end());
    }
    const auto want = Sequences(reference(), cache, std::ssize(counts)).attend(places, some_q);
    // Stored values that are unpacked, and queries and weights that meet them, are rounded to 16-bit floats.
    EXPECT_LE(mean_square_error(got, want), k == KvFormat::f16 ? 1e-10 : 1e-6);
  }
}

// Rows of a draft whose keys are cut in two ways are those of answers, also beside others.
TEST_P(AttentionSegments, DraftsAcrossALimit) {
  for (const auto format : {KvFormat::f16, KvFormat::q8_0, KvFormat::tbq4_0}) {
    const Filled cache = filled(format, format);
    Sequences sequences(tested(), cache, 4);
    for (const int32_t limit : kLimits) {
      for (const int32_t n : {2, 7, 16, 32}) {
        SCOPED_TRACE(testing::Message() << name_of(format) << ", " << n << " rows about " << limit);
        const int32_t first = limit - 1 - n / 2;
        const auto places = TokenPlaces().add(0, 8447, 1).add(1, first, n).add(2, 2047, 1).add(3, 70, n);
        const auto q = random_floats(static_cast<int64_t>(kRow) * places.size(), kQueryLimit);
        const auto together = sequences.attend(places, q);
        for (size_t i = 0; i < places.seq.size(); ++i) {
          const auto alone =
              sequences.attend(TokenPlaces().add(places.seq[i], places.pos[i], 1), row_of(q, i));
          ASSERT_TRUE(are_same(row_of(together, i), alone))
              << "row " << i << ", " << places.pos[i] + 1 << " keys";
        }
      }
    }
  }
}

// A piece of a prompt is cut by how many keys each of its rows sees: beside others as alone, and about what
// the definition gives.
TEST_P(AttentionSegments, PiecesOfPromptsAcrossALimit) {
  for (const auto format : {KvFormat::f16, KvFormat::tbq4_0}) {
    const Filled cache = filled(format, format);
    Sequences sequences(tested(), cache, 3), defining(reference(), cache, 3);
    for (const int32_t limit : {2048, 4096, 8192}) {
      for (const int32_t n : {33, 130}) {
        SCOPED_TRACE(testing::Message() << name_of(format) << ", " << n << " rows about " << limit);
        const int32_t first = limit - n / 2;
        const auto q = random_floats(static_cast<int64_t>(kRow) * (n + 2), kQueryLimit);
        const auto places = TokenPlaces().add(0, 300, 1).add(1, first, n).add(2, 8448, 1);
        const auto alone_places = TokenPlaces().add(1, first, n);
        const auto own = std::span(q).subspan(kRow, static_cast<size_t>(n) * kRow);
        const auto together = sequences.attend(places, q), alone = sequences.attend(alone_places, own);
        ASSERT_TRUE(are_same(std::span(together).subspan(kRow, own.size()), alone));
        if (n > 33 || limit > 4096) continue;  // the definition takes long
        EXPECT_LE(mean_square_error(alone, defining.attend(alone_places, own)), 1e-6);
      }
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(AttentionSegments, &OpTable::attention, &OpTable::kv_write);

}  // namespace
}  // namespace parlance::test
