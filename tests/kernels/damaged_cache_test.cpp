// Attention over a cache that holds NaN or an infinity at one place, as a damaged model or file leaves it:
// that shows in every row that sees the position, as in the definition, and changes no bit of any other.
// Every format of the cache, on every instruction set of this CPU; some on Vulkan. On CUDA a damaged value
// may show in rows of its sequence that come before it, too, since matrix units multiply it with their zero
// weights, and a key whose score is minus infinity has no weight.
#include <cstring>
#include <type_traits>

#include "kernels/support/kv_pages.h"
#include "quant/kv_blocks.h"

namespace parlance::test::damaged_cache {
namespace {

constexpr int64_t kHeadDim = 128, kHeadsKv = 2, kGroup = 2, kHeads = kGroup * kHeadsKv;
constexpr size_t kRow = kHeads * kHeadDim;
constexpr int64_t kChannel = 41;  // of keys and values: its element, or block, is damaged in the first head

enum class Side { key, value };

// What has no number: NaN as processors make it, NaN as memory that was never written has it, infinities.
enum class Kind { nan, all_ones, infinity, minus_infinity };
constexpr Kind kKinds[] = {Kind::nan, Kind::all_ones, Kind::infinity, Kind::minus_infinity};

template <class Bits>
Bits bits_of(Kind kind, Bits infinity) {
  constexpr int kSign = 8 * sizeof(Bits) - 1;
  switch (kind) {
    case Kind::nan:
      return static_cast<Bits>(infinity | infinity >> 1);
    case Kind::all_ones:
      return static_cast<Bits>(~Bits{0});
    case Kind::infinity:
      return infinity;
    default:
      return static_cast<Bits>(infinity | Bits{1} << kSign);
  }
}

struct Case {
  KvFormat format;
  std::vector<int32_t> lengths;       // of the sequences
  TokenPlaces places;                 // of the queries; the last one sees all of the first sequence
  std::vector<int32_t> first = {};    // of the queries: the first position that each sees
  std::vector<int32_t> main = {};     // pages of the first sequence that are not exact; empty: all
  std::vector<int32_t> damaged = {};  // positions of the first sequence; empty: all
  int n_threads = 1;
  bool is_on_cuda = false;
};

// A device with a cache in its memory, whose bytes are changed in place.
class Attending {
 public:
  Attending(std::shared_ptr<Device> device, const Case& c, const KvPages& pages,
            std::span<const std::byte> contents, const KvPages& exact_pages,
            std::span<const std::byte> exact_contents)
      : bench_(std::move(device)),
        exact_layers_(exact_pages.on(bench_, exact_contents)),
        kv_(pages.on(bench_, contents).layer(0)),
        case_(c) {
    if (c.main.empty()) return;
    kv_.exact = &exact_layers_.layer(0);
    std::vector<int32_t> main = c.main;
    main.resize(2 * c.lengths.size());
    kv_.main_pages = bench_.upload(main);
  }

  // Rows [first, last) of the queries.
  std::vector<float> rows(const std::vector<float>& q, int64_t first, int64_t last) {
    const auto at = [&](int64_t row) { return q.begin() + row * static_cast<int64_t>(kRow); };
    const Tensor tq =
        bench_.upload({kHeadDim, kHeads, last - first, 1}, std::vector<float>(at(first), at(last)));
    const auto part = [&](const std::vector<int32_t>& of_tokens) {
      return bench_.upload(std::vector<int32_t>(of_tokens.begin() + first, of_tokens.begin() + last));
    };
    BatchView batch{.seq = part(case_.places.seq),
                    .pos = part(case_.places.pos),
                    .n_kv_bound = *std::max_element(case_.lengths.begin(), case_.lengths.end())};
    if (!case_.first.empty()) batch.first = part(case_.first);
    return bench_.run([&](Stream& s) { return attention(s, tq, kv_, batch, 0.15f); });
  }

  // The same where a key or value of the first sequence is damaged.
  std::vector<float> rows_with(Side side, int32_t pos, Kind kind, const std::vector<float>& q, int64_t first,
                               int64_t last) {
    return with(side, pos, kind, [&] { return rows(q, first, last); });
  }

  // What lies in pages of either kind.
  struct Contents {
    std::vector<std::byte> main, exact;
  };
  Contents contents() const { return {bytes_of(kv_), bytes_of(exact_layers_.layer(0))}; }
  Contents contents_with(Side side, int32_t pos, Kind kind) const {
    return with(side, pos, kind, [&] { return contents(); });
  }

  void put_zero(Side side, int32_t pos) const {
    if (format_of(side, pos) == KvFormat::f32) return put_bits(side, pos, uint32_t{0});
    put_bits(side, pos, uint16_t{0});
  }

 private:
  static std::vector<std::byte> bytes_of(const KvView& kv) { return {kv.pages, kv.pages + kv.layer_bytes}; }

  // What there is while a key or value is damaged.
  template <class Get>
  std::invoke_result_t<Get> with(Side side, int32_t pos, Kind kind, const Get& get) const {
    const size_t n_bytes = format_of(side, pos) == KvFormat::f32 ? sizeof(uint32_t) : sizeof(uint16_t);
    std::array<std::byte, sizeof(uint32_t)> kept;
    std::memcpy(kept.data(), place(side, pos), n_bytes);
    put(side, pos, kind);
    auto result = get();
    std::memcpy(place(side, pos), kept.data(), n_bytes);
    return result;
  }

  // The cache that holds a position of the first sequence.
  const KvView& view_of(int32_t pos) const {
    const int32_t page = pos / kv_.page_tokens;
    return kv_.exact && !(page >= case_.main[0] && page < case_.main[1]) ? *kv_.exact : kv_;
  }
  KvFormat format_of(Side side, int32_t pos) const {
    return side == Side::key ? view_of(pos).k.format : view_of(pos).v.format;
  }

  // The element, or the step of the block, that stands for kChannel in the first head of a position.
  std::byte* place(Side side, int32_t pos) const {
    const KvView& kv = view_of(pos);
    const KvFormatTraits& t = traits(format_of(side, pos));
    const int32_t page = kv.page_table.as<const int32_t>()[pos / kv.page_tokens];
    const bool is_key = side == Side::key;
    return kv.pages + static_cast<size_t>(page) * kv.page_bytes + (is_key ? kv.k_offset(0) : kv.v_offset(0)) +
           static_cast<size_t>(pos % kv.page_tokens) * (is_key ? kv.k_row_bytes : kv.v_row_bytes) +
           kChannel / t.block_elements * t.block_bytes +
           (format_of(side, pos) == KvFormat::qjl1_256 ? offsetof(BlockQjl1_256, norm) : 0);
  }

  void put(Side side, int32_t pos, Kind kind) const {
    const KvFormat format = format_of(side, pos);
    if (format == KvFormat::f32) return put_bits(side, pos, bits_of<uint32_t>(kind, 0x7f800000));
    const bool is_bf16 = format == KvFormat::bf16 || format == KvFormat::qjl1_256;
    put_bits(side, pos, bits_of<uint16_t>(kind, is_bf16 ? 0x7f80 : 0x7c00));
  }

  template <class Bits>
  void put_bits(Side side, int32_t pos, Bits bits) const {
    std::memcpy(place(side, pos), &bits, sizeof bits);
  }

  OpBench bench_;
  KvLayers exact_layers_;
  KvView kv_;
  const Case& case_;
};

class DamagedCache : public testing::TestWithParam<KvFormat> {
 protected:
  struct Damage {
    int32_t pos;
    Side side;
    Kind kind;
    // Elements of a row that sees it which are no numbers in the definition; none where no row does.
    std::vector<uint8_t> is_shown = {};
  };

  using Devices = std::vector<std::shared_ptr<Device>>;

  // On every instruction set of this CPU; or on the given devices.
  void expect_in_rows_that_see(const Case& c, const Devices& devices = {}) {
    const KvShape shape = shape_of(c.format), exact_shape = shape_of(KvFormat::f16);
    const KvPages pages(shape, c.lengths, random_), exact_pages(exact_shape, c.lengths, random_);
    const auto contents = filled(pages), exact_contents = filled(exact_pages);
    const auto q = normal(kHeads * kHeadDim * c.places.size());
    const auto on = [&](Isa isa, bool deterministic) {
      Attending attending(
          std::move(*make_cpu_device(
              {.n_threads = c.n_threads, .isa = name_of(isa), .deterministic = deterministic})),
          c, pages, contents, exact_pages, exact_contents);
      // Integers count in parts of the largest value of a block, which is not one that will be damaged.
      for (int32_t pos = 0; pos < c.lengths[0]; ++pos) attending.put_zero(Side::value, pos);
      return attending;
    };
    Attending definition = on(Isa::scalar, false);
    std::vector<Damage> damages = damages_of(c);
    for (Damage& damage : damages) {
      find_shown(c, definition, q, damage);
      if (HasFatalFailure()) return;
    }
    for (const auto& device : devices) {
      const auto rows_of = [&](const Attending::Contents& cache) {
        Attending attending(device, c, pages, cache.main, exact_pages, cache.exact);
        return attending.rows(q, 0, c.places.size());
      };
      expect_shown(c, damages, rows_of(definition.contents()), [&](const Damage& damage) {
        return rows_of(definition.contents_with(damage.side, damage.pos, damage.kind));
      });
    }
    if (!devices.empty()) return;
    for (const Isa isa : isas_with_own(&OpTable::attention)) {
      if (isa == Isa::scalar) continue;  // takes rows one at a time
      for (const bool deterministic : {false, true}) {
        if (deterministic && is_same(cpu_op_table(isa, true).attention, cpu_op_table(isa, false).attention))
          continue;
        SCOPED_TRACE(fmt::format("{}{}", name_of(isa), deterministic ? ", deterministic" : ""));
        Attending attending = on(isa, deterministic);
        expect_shown(c, damages, attending.rows(q, 0, c.places.size()), [&](const Damage& damage) {
          return attending.rows_with(damage.side, damage.pos, damage.kind, q, 0, c.places.size());
        });
        if (HasFatalFailure()) return;
      }
    }
  }

  static KvShape shape_of(KvFormat format) {
    return {.k = {.format = format},
            .v = {.format = format},
            .n_head_kv = kHeadsKv,
            .head_dim_k = kHeadDim,
            .head_dim_v = kHeadDim,
            .page_tokens = 16,
            .n_layer = 1};
  }

  // Every position, with kinds in turn.
  static std::vector<Damage> damages_of(const Case& c) {
    std::vector<Damage> damages;
    for (int32_t pos = 0; pos < c.lengths[0]; ++pos) {
      if (!c.damaged.empty() && std::ranges::find(c.damaged, pos) == c.damaged.end()) continue;
      for (const Side side : {Side::key, Side::value}) {
        const size_t turn = damages.size() / 2 + static_cast<size_t>(c.format);
        const bool is_nan_alone = c.is_on_cuda && side == Side::key;
        damages.push_back({pos, side, kKinds[turn % (is_nan_alone ? 2 : std::size(kKinds))]});
      }
    }
    return damages;
  }

  static void find_shown(const Case& c, Attending& definition, const std::vector<float>& q, Damage& damage) {
    int64_t token = c.places.size() - 1;
    while (token >= 0 && !sees(c, token, damage.pos)) --token;
    if (token < 0) return;
    const auto row = definition.rows_with(damage.side, damage.pos, damage.kind, q, token, token + 1);
    for (const float x : row) damage.is_shown.push_back(!std::isfinite(x));
    // All of both heads, or at least a channel of each.
    const auto n = std::ranges::count(damage.is_shown, 1);
    ASSERT_GE(n, damage.side == Side::key ? kGroup * kHeadDim : kGroup) << "position " << damage.pos;
  }

  // That each damage shows as it should in what `rows_with` gives.
  template <class RowsWith>
  static void expect_shown(const Case& c, const std::vector<Damage>& damages, const std::vector<float>& sound,
                           const RowsWith& rows_with) {
    for (const float x : sound) ASSERT_TRUE(std::isfinite(x));
    for (const Damage& damage : damages) {
      SCOPED_TRACE(fmt::format("kind {} in the {} of position {}", static_cast<int>(damage.kind),
                               damage.side == Side::key ? "key" : "value", damage.pos));
      expect_only(c, damage, rows_with(damage), sound);
      if (HasFatalFailure()) return;
    }
  }

  // That rows which see the damage have no number where the definition has none, and all else has the bits
  // that it has without damage.
  static void expect_only(const Case& c, const Damage& damage, const std::vector<float>& got,
                          const std::vector<float>& sound) {
    for (int64_t token = 0; token < c.places.size(); ++token) {
      const bool is_seen = sees(c, token, damage.pos);
      const size_t first = static_cast<size_t>(token) * kRow;
      if (!is_seen && std::memcmp(&got[first], &sound[first], kRow * sizeof(float)) == 0) continue;
      for (size_t i = 0; i < kRow; ++i) {
        const float x = got[first + i], want = sound[first + i];
        const bool may_show = c.is_on_cuda && c.places.seq[static_cast<size_t>(token)] == 0;
        if (may_show && !is_seen && !std::isfinite(x)) continue;
        const bool is_right = is_seen && damage.is_shown[i]
                                  ? !std::isfinite(x)
                                  : std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(want);
        ASSERT_TRUE(is_right) << "token " << token << (is_seen ? ", which sees it" : "") << ", element " << i
                              << " is " << x << ", without damage " << want;
      }
    }
  }

  static bool sees(const Case& c, int64_t token, int32_t pos) {
    const auto i = static_cast<size_t>(token);
    return c.places.seq[i] == 0 && pos <= c.places.pos[i] && (c.first.empty() || pos >= c.first[i]);
  }

  std::vector<float> normal(int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    fill_normal(random_, values);
    return values;
  }

  std::vector<std::byte> filled(const KvPages& pages) {
    OpBench bench(reference_device());
    const KvLayers kv = pages.on(bench, pages.unwritten());
    const int64_t n = pages.places().size();
    const Tensor k = bench.upload({kHeadDim, kHeadsKv, n, 1}, normal(kHeadDim * kHeadsKv * n));
    const Tensor v = bench.upload({kHeadDim, kHeadsKv, n, 1}, normal(kHeadDim * kHeadsKv * n));
    const BatchView batch = pages.places().on(bench);
    bench.run([&](Stream& s) {
      kv_write(s, kv.layer(0), k, v, batch);
      return k;
    });
    return KvPages::contents(bench, kv);
  }

  std::mt19937 random_{5};
};

TEST_P(DamagedCache, ShowsInPiecesOfPrompts) {
  expect_in_rows_that_see(
      {.format = GetParam(), .lengths = {37, 9}, .places = TokenPlaces().add(1, 7, 2).add(0, 3, 34)});
}

TEST_P(DamagedCache, ShowsInDraftsAndAnswers) {
  expect_in_rows_that_see({.format = GetParam(),
                           .lengths = {21, 9, 9},
                           .places = TokenPlaces().add(1, 8, 1).add(0, 14, 7).add(2, 8, 1)});
}

TEST_P(DamagedCache, ShowsInWindows) {
  Case c{.format = GetParam(), .lengths = {144}, .places = TokenPlaces().add(0, 110, 34)};
  for (const int32_t pos : c.places.pos) c.first.push_back(pos - 60);
  c.damaged = {3, 48, 50, 70, 90, 110, 127, 128, 143};
  expect_in_rows_that_see(c);
  c.places = TokenPlaces().add(0, 140, 4);
  c.first = {120, 120, 120, 130};
  c.damaged = {111, 112, 119, 120, 129, 130, 141, 143};
  expect_in_rows_that_see(c);
}

TEST_P(DamagedCache, ShowsBesideExactPages) {
  expect_in_rows_that_see({.format = GetParam(),
                           .lengths = {100},
                           .places = TokenPlaces().add(0, 66, 34),
                           .main = {2, 5},
                           .damaged = {3, 31, 32, 70, 79, 80, 99}});
}

// Keys are split among threads.
TEST_P(DamagedCache, ShowsInLongContexts) {
  if (GetParam() > KvFormat::f16 && GetParam() != KvFormat::tbq3_0) GTEST_SKIP() << "formats split alike";
  expect_in_rows_that_see({.format = GetParam(),
                           .lengths = {1100},
                           .places = TokenPlaces().add(0, 1066, 34),
                           .damaged = {0, 1023, 1024, 1080},
                           .n_threads = 3});
}

std::vector<KvFormat> every_format() {
  std::vector<KvFormat> formats;
  for (size_t id = 0; id < kKvFormatCount; ++id) formats.push_back(static_cast<KvFormat>(id));
  return formats;
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedCache, testing::ValuesIn(every_format()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

class DamagedCacheOnDevices : public DamagedCache {
 protected:
  void find_devices(std::string_view backend) {
    for (const DeviceCase& device : device_cases()) {
      if (device.name.starts_with(backend)) devices_.push_back(device_of(device));
    }
    if (devices_.empty()) GTEST_SKIP() << "there is no device of " << backend;
  }

  Devices devices_;
};

// The shader knows formats only where it loads; with queries and values that are transformed it ends
// differently.
class DamagedCacheOnVulkan : public DamagedCacheOnDevices {
 protected:
  void SetUp() override { find_devices("vulkan"); }
};

TEST_P(DamagedCacheOnVulkan, ShowsInPiecesOfPrompts) {
  expect_in_rows_that_see({.format = GetParam(),
                           .lengths = {37, 9},
                           .places = TokenPlaces().add(1, 7, 2).add(0, 3, 34),
                           .damaged = {0, 2, 3, 20, 36}},
                          devices_);
}

TEST_P(DamagedCacheOnVulkan, ShowsInDraftsAndAnswers) {
  expect_in_rows_that_see({.format = GetParam(),
                           .lengths = {21, 9, 9},
                           .places = TokenPlaces().add(1, 8, 1).add(0, 14, 7).add(2, 8, 1),
                           .damaged = {0, 13, 14, 17, 20}},
                          devices_);
}

TEST_P(DamagedCacheOnVulkan, ShowsInWindows) {
  Case c{.format = GetParam(), .lengths = {144}, .places = TokenPlaces().add(0, 136, 8)};
  for (const int32_t pos : c.places.pos) c.first.push_back(pos - 10);
  c.damaged = {120, 126, 128, 133, 135, 143};
  expect_in_rows_that_see(c, devices_);
}

TEST_P(DamagedCacheOnVulkan, ShowsBesideExactPages) {
  expect_in_rows_that_see({.format = GetParam(),
                           .lengths = {100},
                           .places = TokenPlaces().add(0, 92, 8),
                           .main = {2, 5},
                           .damaged = {3, 31, 32, 79, 80, 96, 99}},
                          devices_);
}

// In parts, which are put together.
TEST_P(DamagedCacheOnVulkan, ShowsInLongContexts) {
  expect_in_rows_that_see({.format = GetParam(),
                           .lengths = {600},
                           .places = TokenPlaces().add(0, 595, 5),
                           .damaged = {0, 127, 300, 597}},
                          devices_);
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedCacheOnVulkan,
                         testing::Values(KvFormat::f16, KvFormat::q8_0, KvFormat::tbq3_0),
                         [](const auto& param) { return "vulkan_" + std::string(name_of(param.param)); });

// Kernels for an answer's row, a draft's and a prompt's, of which some read blocks as they are and some
// unpack them.
class DamagedCacheOnCuda : public DamagedCacheOnDevices {
 protected:
  void SetUp() override { find_devices("cuda"); }
  void expect_in_rows_that_see(Case c) {
    c.is_on_cuda = true;
    DamagedCache::expect_in_rows_that_see(c, devices_);
  }
};

TEST_P(DamagedCacheOnCuda, ShowsInPiecesOfPrompts) {
  expect_in_rows_that_see({.format = GetParam(),
                           .lengths = {37, 9},
                           .places = TokenPlaces().add(1, 7, 2).add(0, 3, 34),
                           .damaged = {0, 2, 3, 15, 16, 20, 36}});
}

TEST_P(DamagedCacheOnCuda, ShowsInDraftsAndAnswers) {
  expect_in_rows_that_see({.format = GetParam(),
                           .lengths = {21, 9, 9},
                           .places = TokenPlaces().add(1, 8, 1).add(0, 14, 7).add(2, 8, 1)});
}

TEST_P(DamagedCacheOnCuda, ShowsInWindows) {
  Case c{.format = GetParam(), .lengths = {144}, .places = TokenPlaces().add(0, 110, 34)};
  for (const int32_t pos : c.places.pos) c.first.push_back(pos - 60);
  c.damaged = {48, 50, 70, 90, 110, 127, 128, 143};
  expect_in_rows_that_see(c);
}

TEST_P(DamagedCacheOnCuda, ShowsBesideExactPages) {
  expect_in_rows_that_see({.format = GetParam(),
                           .lengths = {100},
                           .places = TokenPlaces().add(0, 66, 34),
                           .main = {2, 5},
                           .damaged = {3, 31, 32, 70, 79, 80, 99}});
}

// In segments, which are put together.
TEST_P(DamagedCacheOnCuda, ShowsInLongContexts) {
  for (const int32_t n_rows : {1, 5, 34}) {
    expect_in_rows_that_see({.format = GetParam(),
                             .lengths = {1100},
                             .places = TokenPlaces().add(0, 1100 - n_rows, n_rows),
                             .damaged = {0, 511, 512, 1023, 1080, 1099}});
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedCacheOnCuda, testing::ValuesIn(every_format()),
                         [](const auto& param) { return "cuda_" + std::string(name_of(param.param)); });

}  // namespace
}  // namespace parlance::test::damaged_cache
