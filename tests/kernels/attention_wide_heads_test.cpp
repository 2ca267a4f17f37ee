// attention at the head sizes of most models, for which devices have kernels of their own: every pair of
// formats, every kind of group, and contexts that are split.
#include "kernels/support/kv_pages.h"
#include "kernels/support/same_for_all_devices.h"

namespace parlance::test {
namespace {

class WideHeads : public KernelTest {
 protected:
  // Both devices attend to the same random cache.
  void expect_match(const KvShape& shape, int64_t group, const std::vector<int32_t>& lengths,
                    const TokenPlaces& places) {
    struct Same {
      KvPages pages;
      std::vector<std::byte> contents;
      std::vector<float> q, want;
    };
    const auto on = [&](OpBench bench, const Same& same) {
      const KvLayers kv = same.pages.on(bench, same.contents);
      const Tensor tq = bench.upload({shape.head_dim_k, group * shape.n_head_kv, places.size(), 1}, same.q);
      const BatchView batch = places.on(bench);
      const float scale = 1 / std::sqrt(static_cast<float>(shape.head_dim_k));
      return bench.run([&](Stream& s) { return attention(s, tq, kv.layer(kLayer), batch, scale); });
    };
    const std::string what = fmt::format("{} group {} lengths{} places{}{}", to_text(shape), group,
                                         listed(lengths), listed(places.seq), listed(places.pos));
    const Same& same = same_for_all_devices(random_, what, [&] {
      Same made{.pages = KvPages(shape, lengths, random_), .contents = {}, .q = {}, .want = {}};
      const TokenPlaces cached = made.pages.places();
      const auto k = random_floats(shape.head_dim_k * shape.n_head_kv * cached.size());
      const auto v = random_floats(shape.head_dim_v * shape.n_head_kv * cached.size());
      made.q = random_floats(shape.head_dim_k * group * shape.n_head_kv * places.size());
      OpBench writer = reference();
      const KvLayers written = made.pages.on(writer, made.pages.unwritten());
      const Tensor tk = writer.upload({shape.head_dim_k, shape.n_head_kv, cached.size(), 1}, k);
      const Tensor tv = writer.upload({shape.head_dim_v, shape.n_head_kv, cached.size(), 1}, v);
      const BatchView all = cached.on(writer);
      writer.run([&](Stream& s) {
        kv_write(s, written.layer(kLayer), tk, tv, all);
        return tk;
      });
      made.contents = KvPages::contents(writer, written);
      made.want = on(reference(), made);
      return made;
    });
    SCOPED_TRACE(what);
    expect_close(on(tested(), same), same.want,
                 attention_rounding(shape, device_cases()[GetParam()], places.size()), 0);
  }

 private:
  static constexpr int64_t kLayer = 1;
};

TEST_P(WideHeads, EveryPairOfPlainFormats) {
  for (const int64_t head_dim : {64, 128}) {
    for (size_t k = 0; k < kPlainKvFormats; ++k) {
      for (size_t v = 0; v < kPlainKvFormats; ++v) {
        if (k != v && is_software_vulkan()) continue;  // attention_test.cpp has them
        const KvShape shape{.k = {.format = static_cast<KvFormat>(k)},
                            .v = {.format = static_cast<KvFormat>(v)},
                            .head_dim_k = head_dim,
                            .head_dim_v = head_dim};
        expect_match(shape, 3, {150}, TokenPlaces().add(0, 149, 1));
        expect_match(shape, 8, {150}, TokenPlaces().add(0, 140, 3));
        expect_match(shape, 2, {150}, TokenPlaces().add(0, 90, 37));
      }
    }
  }
}

TEST_P(WideHeads, GroupSizes) {
  const KvShape shape{.head_dim_k = 128, .head_dim_v = 128};
  for (const int64_t group : {1, 2, 4, 5, 8, 9, 17, 64, 65}) {
    for (const int32_t n_tokens : {1, 8, 9, 40}) {
      expect_match(shape, group, {70}, TokenPlaces().add(0, 70 - n_tokens, n_tokens));
    }
  }
}

TEST_P(WideHeads, LongContexts) {
  for (const auto format : {KvFormat::f16, KvFormat::q8_0, KvFormat::f32}) {
    const KvShape shape{.k = {.format = format},
                        .v = {.format = format},
                        .head_dim_k = 128,
                        .head_dim_v = 128,
                        .page_tokens = 64};
    const std::vector<int32_t> lengths = {3001, 700};
    expect_match(shape, 4, lengths, TokenPlaces().add(0, 3000, 1));
    expect_match(shape, 4, lengths, TokenPlaces().add(0, 3000, 1).add(0, 10, 1).add(1, 699, 1));
    expect_match(shape, 4, lengths, TokenPlaces().add(1, 690, 10).add(0, 2900, 30).add(1, 0, 1));
  }
}

PARLANCE_FOR_EACH_DEVICE(WideHeads, &OpTable::attention);

}  // namespace
}  // namespace parlance::test
