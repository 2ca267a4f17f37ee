// Attention that norms, rotates and writes its heads first: the bits, and the pages, of the operations that
// it stands for.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "kernels/fused_ops.h"
#include "kernels/support/kv_pages.h"

namespace parlance::test {
namespace {

class FusedAttention : public KernelTest {
 protected:
  static constexpr int32_t kLength = 2600, kOther = 40;  // of the tested sequence, and of one before it

  struct Setting {
    KvFormat k = KvFormat::f16, v = KvFormat::f16;
    int64_t head_dim = 128;
    int64_t n_rot = 128;
    int64_t n_head = 4;
    int64_t n_head_kv = 2;
    bool has_q_norm = true;
    bool has_k_norm = true;
    RopeStyle style = RopeStyle::halves;
    int32_t page_tokens = 64;
    bool is_equalised = false;
    int32_t length = kLength;
    std::vector<int32_t> others = {kOther};  // lengths of sequences before it
    int32_t window = 0;                      // positions before its own that a token sees; 0: all
    bool is_damaged = false;                 // two values that are no numbers
    int64_t least_bound = 0;                 // on positions; a recorded step's may be far above them
  };

  struct Result {
    std::vector<float> out;
    std::vector<std::byte> pages;
  };

  // Of the last sequence's rows, whose keys and values so far are random; so many times in one step.
  Result run(const Setting& setting, const KvPages& pages, const std::vector<std::vector<float>>& inputs,
             const TokenPlaces& places, bool is_fused, int n_times = 1) {
    OpBench bench = tested();
    const KvLayers layers = pages.on(bench, pages.unwritten());
    KvView kv = layers.layer(1);
    const int64_t n_all = pages.places().size(), n = places.size(), n_kv = setting.n_head_kv;
    if (setting.is_equalised) {
      const auto of_heads = [&](size_t i) { return bench.upload({setting.head_dim, n_kv, 1, 1}, inputs[i]); };
      kv.k_shift = of_heads(7), kv.k_scale = of_heads(8), kv.q_scale = of_heads(9);
    }
    const Tensor k_all = bench.upload({setting.head_dim, n_kv, n_all, 1}, inputs[0]);
    const Tensor v_all = bench.upload({setting.head_dim, n_kv, n_all, 1}, inputs[1]);
    const BatchView everything = pages.places().on(bench);
    BatchView batch = places.on(bench);
    batch.n_kv_bound = std::max(batch.n_kv_bound, setting.least_bound);
    batch.most_rows = places.most_rows();
    if (setting.window > 0) {
      std::vector<int32_t> first = places.pos;
      for (int32_t& position : first) position = std::max(position - setting.window, 0);
      batch.first = bench.upload(first);
    }
    bench.run([&](Stream& s) {
      kv_write(s, kv, k_all, v_all, everything);
      return k_all;
    });
    const Tensor q = bench.upload({setting.head_dim, setting.n_head, n, 1}, inputs[2]);
    const Tensor k = bench.upload({setting.head_dim, n_kv, n, 1}, inputs[3]);
    const Tensor v = bench.upload({setting.head_dim, n_kv, n, 1}, inputs[4]);
    const Tensor norm = bench.upload({setting.head_dim, 1, 1, 1}, inputs[5]);
    const Tensor angles = bench.upload({setting.n_rot / 2, 2, n, 1}, inputs[6]);
    const HeadNorms norms{setting.has_q_norm ? norm : Tensor{}, setting.has_k_norm ? norm : Tensor{}, 1e-6f};
    Result result;
    // In the workspace, as a step has them.
    const auto in_step = [](Stream& s, const Tensor& x) {
      const Tensor own = s.workspace().allocate(DType::f32, x.ne[0], x.ne[1], x.ne[2]);
      copy(s, own, x);
      return own;
    };
    const auto attend = [&](Stream& s) {
      const Tensor own_q = in_step(s, q), own_k = in_step(s, k), own_v = in_step(s, v);
      const Tensor turns = in_step(s, angles);
      if (is_fused) return attention(s, own_q, own_k, own_v, norms, turns, setting.style, kv, batch, 0.1f);
      norm_rope_write(s, own_q, own_k, own_v, norms, turns, setting.style, kv, batch);
      return attention(s, own_q, kv, batch, 0.1f);
    };
    result.out = bench.run([&](Stream& s) {
      for (int i = 1; i < n_times; ++i) attend(s);
      return attend(s);
    });
    result.pages = KvPages::contents(bench, layers);
    return result;
  }

  KvPages pages_of(const Setting& setting) {
    const KvShape shape{.k = {.format = setting.k},
                        .v = {.format = setting.v},
                        .n_head_kv = setting.n_head_kv,
                        .head_dim_k = setting.head_dim,
                        .head_dim_v = setting.head_dim,
                        .page_tokens = setting.page_tokens};
    std::vector<int32_t> lengths = setting.others;
    lengths.push_back(setting.length);
    return KvPages(shape, lengths, random_);
  }

  std::vector<std::vector<float>> inputs_of(const Setting& setting, const KvPages& pages,
                                            const TokenPlaces& places) {
    const int64_t row = setting.head_dim * setting.n_head_kv, n_all = pages.places().size();
    const int64_t n = places.size();
    return {random_floats(row * n_all),
            random_floats(row * n_all),
            random_floats(setting.head_dim * setting.n_head * n, 3),
            random_floats(row * n, 3),
            random_floats(row * n),
            random_floats(setting.head_dim),
            random_floats(setting.n_rot * n),
            random_floats(row),
            random_floats(row),
            random_floats(row)};
  }

  void compare(const Setting& setting, std::initializer_list<TokenPlaces> batches) {
    if (!fuses_rows(tested().stream(), 1)) GTEST_SKIP() << "the device has an operation for each";
    const KvPages pages = pages_of(setting);
    for (const TokenPlaces& places : batches) {
      SCOPED_TRACE(testing::Message() << name_of(setting.k) << " " << name_of(setting.v) << ", "
                                      << setting.n_head << " heads of " << setting.head_dim << ", "
                                      << places.size() << " rows from " << places.pos[0]);
      std::vector<std::vector<float>> inputs = inputs_of(setting, pages, places);
      if (setting.is_damaged) {
        const int64_t row = setting.head_dim * setting.n_head_kv;
        inputs[1][static_cast<size_t>((kOther + 130) * row + 3)] = std::numeric_limits<float>::quiet_NaN();
        inputs[1][static_cast<size_t>((kOther + 4200) * row + 70)] = std::numeric_limits<float>::infinity();
      }
      const Result got = run(setting, pages, inputs, places, true);
      const Result want = run(setting, pages, inputs, places, false);
      ASSERT_EQ(got.out.size(), want.out.size());
      for (size_t i = 0; i < got.out.size(); ++i) {
        const bool are_no_numbers = std::isnan(got.out[i]) && std::isnan(want.out[i]);
        ASSERT_TRUE(are_no_numbers || std::memcmp(&got.out[i], &want.out[i], sizeof(float)) == 0)
            << "element " << i << ": " << got.out[i] << ", not " << want.out[i];
        n_no_numbers_ += are_no_numbers ? 1 : 0;
      }
      ASSERT_EQ(got.pages, want.pages);
    }
  }

  int n_no_numbers_ = 0;
};

TEST_P(FusedAttention, HasTheBitsOfTheOperations) {
  const auto at = [](int32_t pos) { return TokenPlaces().add(1, pos, 1); };
  for (const auto format : {KvFormat::f16, KvFormat::bf16}) {
    for (const int64_t n_head : {2, 4, 8, 16, 24}) {
      if (n_head > (format == KvFormat::f16 ? 4 : 2) && is_software_vulkan()) continue;  // compiled for each
      compare(
          {.k = format, .v = format, .n_head = n_head},
          {at(0), at(1), at(15), at(16), at(63), at(64), at(257), at(1024), at(2047), at(2048), at(2599)});
      if (HasFailure() || IsSkipped()) return;
    }
  }
  for (const bool has_q_norm : {false, true}) {
    for (const bool has_k_norm : {false, true}) {
      if (is_software_vulkan() && has_q_norm && has_k_norm) continue;  // as above
      compare({.n_head_kv = 1, .has_q_norm = has_q_norm, .has_k_norm = has_k_norm, .page_tokens = 16},
              {at(0), at(31), at(32), at(700)});
    }
  }
}

TEST_P(FusedAttention, CompressedFormatsHaveTheBitsOfTheOperations) {
  using enum KvFormat;
  const auto at = [](int32_t pos) { return TokenPlaces().add(1, pos, 1); };
  constexpr std::pair<KvFormat, KvFormat> kPairs[] = {
      {q8_0, q8_0}, {q8_0, tbq4_0}, {q4_0, q4_0}, {tbq4_0, tbq4_0}, {tbq3_0, tbq3_0}, {q4_polar, q4_polar}};
  for (const auto& [k, v] : kPairs) {
    if (v != q8_0 && is_software_vulkan()) continue;  // an operation for each
    for (const int64_t n_head : {2, 4, 8, 16}) {
      if (n_head > 2 && is_software_vulkan()) continue;
      compare({.k = k, .v = v, .n_head = n_head}, {at(0), at(1), at(15), at(16), at(63), at(64), at(257),
                                                   at(1024), at(2047), at(2048), at(2599)});
      if (HasFailure() || IsSkipped()) return;
    }
    compare({.k = k, .v = v, .n_head_kv = 1, .has_q_norm = false}, {at(0), at(31), at(32), at(700)});
    compare({.k = k, .v = v, .has_k_norm = false}, {at(0), at(31), at(32), at(700)});
  }
}

TEST_P(FusedAttention, EqualisedKeysHaveThemToo) {
  if (!tested().device().ops().equalises_kv) GTEST_SKIP() << "this device does not equalise keys";
  using enum KvFormat;
  const auto at = [](int32_t pos) { return TokenPlaces().add(1, pos, 1); };
  for (const KvFormat format : {q8_0, q4_0, tbq4_0, tbq3_0, q4_polar, f16}) {
    if (format != q8_0 && is_software_vulkan()) continue;
    for (const int64_t n_head : {2, 4, 8, 16}) {
      if (n_head > 2 && is_software_vulkan()) continue;
      compare({.k = format, .v = format, .n_head = n_head, .is_equalised = true},
              {at(0), at(17), at(64), at(95), at(127), at(1500), at(2048), at(2599)});
      if (HasFailure() || IsSkipped()) return;
    }
  }
  compare({.k = tbq4_0, .v = tbq4_0, .has_q_norm = false, .has_k_norm = false, .is_equalised = true},
          {at(0), at(700)});
}

// The newest key lies at each place of a page, and of what a warp takes at once; and about where a warp of a
// longer row begins, and the last row that is not cut ends.
TEST_P(FusedAttention, EveryPlaceOfAPageDoesToo) {
  if (is_software_vulkan()) GTEST_SKIP() << "edges are looked at above";
  using enum KvFormat;
  std::vector<int32_t> positions(130);
  std::iota(positions.begin(), positions.end(), 0);
  positions.insert(positions.end(), {143, 144, 190, 191, 192, 254, 255, 256});
  for (const KvFormat format : {f16, q8_0, q4_0, tbq4_0}) {
    for (const int32_t pos : positions) {
      compare({.k = format, .v = format, .length = 257}, {TokenPlaces().add(1, pos, 1)});
      if (HasFailure() || IsSkipped()) return;
    }
  }
}

// A bound chooses how keys are shared out, and among kernels that look codes up in other tables.
TEST_P(FusedAttention, AnyBoundDoesToo) {
  if (!fuses_rows(tested().stream(), 1)) GTEST_SKIP() << "the device has an operation for each";
  using enum KvFormat;
  for (const KvFormat format : {f16, q8_0, q4_0, tbq4_0, tbq3_0}) {
    if (format != f16 && is_software_vulkan()) continue;  // as above
    for (const int64_t n_head : {8, 32}) {
      if (n_head > 8 && is_software_vulkan()) continue;
      Setting setting{.k = format, .v = format, .n_head = n_head, .n_head_kv = 8};
      const KvPages pages = pages_of(setting);
      for (const int32_t pos : {0, 17, 300, 2599}) {
        SCOPED_TRACE(testing::Message() << name_of(format) << ", " << n_head << " heads, row " << pos);
        const TokenPlaces places = TokenPlaces().add(1, pos, 1);
        const auto inputs = inputs_of(setting, pages, places);
        setting.least_bound = 0;
        const Result least = run(setting, pages, inputs, places, true);
        for (const int64_t bound : {24552, 24553, 33000}) {
          setting.least_bound = bound;
          for (const bool is_fused : {true, false}) {
            const Result got = run(setting, pages, inputs, places, is_fused);
            ASSERT_EQ(0, std::memcmp(got.out.data(), least.out.data(), got.out.size() * sizeof(float)))
                << "bound " << bound << ", fused: " << is_fused;
            ASSERT_EQ(got.pages, least.pages);
          }
        }
      }
    }
  }
}

// A row each of many sequences, whose kernel prepares the heads of all of them: as few as share a row's keys
// among blocks and as many as do not, of which 64 have their newest keys at each place of a page; a draft
// beside them, whose rows see each other's keys; and so many keys that warps have segments of them alone,
// which join each other in the block, or behind several blocks.
TEST_P(FusedAttention, AnswersOfManySequencesDoToo) {
  if (!fuses_rows(tested().stream(), 3)) GTEST_SKIP() << "the device has operations for more than one row";
  using enum KvFormat;
  std::vector<int32_t> others;
  for (int i = 0; i < 63; ++i) others.push_back(1 + i + i % 3 * 64);
  const auto answers = [&](size_t n) {
    TokenPlaces places = TokenPlaces().add(static_cast<int32_t>(others.size()), 39 * 64 + 63, 1);
    for (size_t i = 0; i + 1 < n; ++i) places.add(static_cast<int32_t>(i), others[i] - 1, 1);
    return places;
  };
  const TokenPlaces with_draft = answers(3).add(7, 5, 3);
  for (const KvFormat format : {f16, bf16, q8_0, q4_0, tbq4_0, tbq3_0, q4_polar}) {
    for (const int64_t n_head : {2, 8, 16}) {
      compare(
          {.k = format, .v = format, .n_head = n_head, .is_equalised = format == tbq4_0, .others = others},
          {answers(3), answers(7), answers(33), answers(64), with_draft});
      if (HasFailure() || IsSkipped()) return;
    }
  }
  compare({.n_head_kv = 1, .has_q_norm = false, .others = others}, {answers(3), answers(64)});
  for (size_t i = 0; i < others.size(); ++i) others[i] = 23 * static_cast<int32_t>(i) + 1;
  for (const KvFormat format : {q8_0, q4_0, tbq4_0, tbq3_0}) {
    compare({.k = format, .v = format, .n_head = 8, .n_head_kv = 4, .others = others},
            {answers(5), answers(16), answers(64)});
    compare({.k = format, .v = format, .n_head = 12, .n_head_kv = 4, .others = others}, {answers(9)});
    if (HasFailure() || IsSkipped()) return;
  }
}

// What no kernel does in one go.
TEST_P(FusedAttention, OtherShapesHaveThemToo) {
  const auto at = [](int32_t pos) { return TokenPlaces().add(1, pos, 1); };
  compare({.head_dim = 64, .n_rot = 64}, {at(0), at(300)});
  compare({.n_rot = 64}, {at(5), at(300)});
  compare({.style = RopeStyle::neighbours}, {at(300)});
  compare({.page_tokens = 24}, {at(0), at(23), at(24), at(300)});
  compare({.k = KvFormat::q8_0, .v = KvFormat::q8_0}, {at(0), at(300)});
  if (!is_software_vulkan()) compare({.k = KvFormat::tbq4_0, .v = KvFormat::tbq4_0}, {at(300)});
  compare({.k = KvFormat::f32, .v = KvFormat::f32}, {at(300)});
  compare({}, {TokenPlaces().add(1, 300, 16), TokenPlaces().add(0, 7, 1).add(1, 2500, 9)});
}

// Behind as many positions as make a part of them several blocks; in windows that begin anywhere in a block;
// and with values that are no numbers, in blocks before the last one and in it.
TEST_P(FusedAttention, LongContextsWindowsAndDamageDoToo) {
  const auto at = [](int32_t pos) { return TokenPlaces().add(1, pos, 1); };
  compare({.n_head = 2, .n_head_kv = 1, .length = 8300},
          {at(4095), at(4096), at(4223), at(4224), at(4225), at(5000), at(8191), at(8192), at(8299)});
  for (const int32_t window : {1, 100, 127, 128, 129, 1500}) {
    compare({.n_head = 2, .n_head_kv = 1, .window = window},
            {at(0), at(127), at(128), at(255), at(256), at(2500)});
    if (HasFailure() || IsSkipped()) return;
  }
  compare({.n_head = 2, .n_head_kv = 1, .length = 5000, .window = 4300}, {at(4999)});
  EXPECT_EQ(n_no_numbers_, 0);
  compare({.n_head = 2, .n_head_kv = 1, .length = 5000, .is_damaged = true},
          {at(100), at(131), at(300), at(4199), at(4250), at(4999)});
  EXPECT_GT(n_no_numbers_, 0);
}

// Blocks and groups of a launch count each other: those of other streams of the device do not.
TEST_P(FusedAttention, TwoStreamsAtOnceAreEachAlone) {
  if (!fuses_rows(tested().stream(), 1)) GTEST_SKIP() << "the device has an operation for each";
  const Setting setting;
  const KvPages pages = pages_of(setting);
  const std::array<TokenPlaces, 2> places = {TokenPlaces().add(1, 2599, 1), TokenPlaces().add(1, 700, 1)};
  std::array<std::vector<std::vector<float>>, 2> inputs;
  std::array<Result, 2> alone, together;
  for (size_t i = 0; i < 2; ++i) {
    inputs[i] = inputs_of(setting, pages, places[i]);
    alone[i] = run(setting, pages, inputs[i], places[i], true);
  }
  const auto repeat = [&](size_t i) { together[i] = run(setting, pages, inputs[i], places[i], true, 20); };
  std::thread beside(repeat, 1);
  repeat(0);
  beside.join();
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(together[i].out.size(), alone[i].out.size());
    EXPECT_EQ(std::memcmp(together[i].out.data(), alone[i].out.data(), alone[i].out.size() * sizeof(float)),
              0);
    EXPECT_EQ(together[i].pages, alone[i].pages);
  }
}

PARLANCE_FOR_EACH_DEVICE(FusedAttention);

}  // namespace
}  // namespace parlance::test
