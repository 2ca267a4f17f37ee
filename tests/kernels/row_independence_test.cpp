// A row's bits do not depend on what else is in its batch: every row of a large batch equals, bit for bit,
// what its sequence's rows give alone.
#include <cstring>
#include <optional>

#include "devices/devices.h"
#include "kernels/support/kv_pages.h"
#include "quant/block_format.h"

namespace parlance::test {
namespace {

class RowIndependence : public KernelTest {
 protected:
  static void expect_same_bits(std::span<const float> got, std::span<const float> alone) {
    ASSERT_EQ(got.size(), alone.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(std::memcmp(&got[i], &alone[i], sizeof(float)), 0)
          << "element " << i << ": " << got[i] << ", alone " << alone[i];
    }
  }

  // Weights as a model has them.
  Tensor random_weight(OpBench& bench, DType dtype, int64_t n_in, int64_t n_out) {
    const DTypeTraits& type = traits(dtype);
    const auto row_bytes = static_cast<size_t>(n_in / type.block_elements) * type.block_bytes;
    std::vector<std::byte> bytes(row_bytes * static_cast<size_t>(n_out));
    for (int64_t r = 0; r < n_out; ++r) {
      const auto row = random_floats(n_in, 0.1f);
      block_format(dtype).encode_row(row.data(), bytes.data() + static_cast<size_t>(r) * row_bytes, n_in);
    }
    return bench.upload(dtype, {n_in, n_out, 1, 1}, bytes);
  }

  // Rows of x [n, n_rows] in batches of many sizes, against some of them one at a time.
  void expect_rows_alone(OpBench& bench, int64_t n, const std::vector<int64_t>& batch_sizes,
                         const std::function<Tensor(Stream&, const Tensor& x)>& operation) {
    const int64_t most = *std::max_element(batch_sizes.begin(), batch_sizes.end());
    const auto x = random_floats(n * most);
    const auto run = [&](int64_t first, int64_t n_rows) {
      const auto begin = x.begin() + first * n;
      const Tensor tx = bench.upload({n, n_rows, 1, 1}, std::vector<float>(begin, begin + n_rows * n));
      return bench.run([&](Stream& s) { return operation(s, tx); });
    };
    std::map<int64_t, std::vector<float>> alone;
    for (int64_t row = most - 1, step = 1; row >= 0; row -= step++) alone[row] = run(row, 1);
    const size_t n_out = alone.begin()->second.size();
    for (const int64_t n_rows : batch_sizes) {
      const int64_t first = most - n_rows;  // so that rows change their places
      const auto together = run(first, n_rows);
      for (const auto& [row, values] : alone) {
        if (row < first) continue;
        SCOPED_TRACE(testing::Message() << "row " << row - first << " of " << n_rows << ", of " << n);
        const auto of = [&](const std::vector<float>& rows, int64_t at) {
          return std::span(rows).subspan(static_cast<size_t>(at) * n_out, n_out);
        };
        expect_same_bits(of(together, row - first), values);
      }
      if (HasFailure()) return;
    }
  }

  // A device that may take more shapes in the same time.
  bool is_fast(OpBench& bench) { return bench.device().name() != "cpu" && !is_software_vulkan(); }

  // In as many rows as a device takes together.
  void expect_matmul_rows_alone(OpBench& bench, const std::vector<int64_t>& wanted) {
    for (uint32_t id = 0; id < kDTypeCount; ++id) {
      const auto dtype = dtype_from_id(id);
      if (!dtype || !block_format(*dtype).encode_row || !bench.device().ops().matmul[id].run) continue;
      std::vector<int64_t> sizes = wanted;
      std::erase_if(sizes, [&](int64_t n) { return n > bench.device().most_alike_rows(*dtype); });
      const int64_t block = traits(*dtype).block_elements;
      std::vector<std::pair<int64_t, int64_t>> shapes = {{block, 5}, {768, 70}};
      if (!is_software_vulkan()) {
        shapes.push_back({5120, 18});
      } else if (meets_in_long_rows(bench.device(), *dtype)) {
        shapes.push_back({5120, 5});  // three groups, which know nothing of each other
      }
      if (is_fast(bench)) shapes.push_back({8192, 17});
      for (const auto& [n_in, n_out] : shapes) {
        SCOPED_TRACE(testing::Message() << traits(*dtype).name << " " << n_in << " x " << n_out);
        const Linear linear{random_weight(bench, *dtype, n_in, n_out),
                            bench.upload({n_out, 1, 1, 1}, random_floats(n_out))};
        expect_rows_alone(bench, n_in, sizes,
                          [&](Stream& s, const Tensor& x) { return matmul(s, linear, x); });
        if (HasFailure()) return;
      }
    }
  }

  // The same device, made so that where prompts are cut changes nothing; none for the CPU, whose mode has
  // tests of its own.
  std::optional<OpBench> deterministic() {
    const std::string name(tested().device().name());
    if (name == "cpu") return std::nullopt;
    auto device = make_device(name, 1, {.is_deterministic = true});
    EXPECT_TRUE(device.has_value()) << device.error().message;
    return OpBench(std::move(*device));
  }
};

TEST_P(RowIndependence, MatmulOfEveryType) {
  OpBench bench = tested();
  expect_matmul_rows_alone(bench, {2, 3, 5, 8, 9, 16, 17, 33, 47, 64, 65, 128, 130});
}

// As many tiles as blocks of a large GPU share in several ways: whole, and with one or two others, one after
// the other, with tokens that there is no room for, and that come again for each round of tiles.
TEST_P(RowIndependence, MatmulOfManyTiles) {
  OpBench bench = tested();
  const int64_t n_out = is_software_vulkan() ? 4001 : 40001;  // a shader's groups share nothing
  struct Shape {
    DType dtype;
    int64_t n_in, n_out;
  };
  std::vector<Shape> shapes = {{DType::f16, 320, n_out}};
  // Elsewhere, quantised weights' tiles are as independent of each other as those of f16 are.
  for (const DType dtype : {DType::q8_0, DType::q4_0, DType::q5_1}) {
    if (!is_fast(bench)) continue;
    shapes.insert(shapes.end(), {{dtype, 320, n_out}, {dtype, 512, n_out}, {dtype, 8192, 12001}});
  }
  if (is_fast(bench)) shapes.push_back({DType::q8_0, 2048, n_out});
  for (const auto& [dtype, n_in, n_rows] : shapes) {
    const Linear linear{random_weight(bench, dtype, n_in, n_rows), {}};
    for (const int64_t n : {3, 16, 32, 64}) {
      if (n > bench.device().most_alike_rows(dtype) || (dtype == DType::f16 && n % 16 != 0)) continue;
      SCOPED_TRACE(testing::Message()
                   << traits(dtype).name << " " << n_in << " x " << n_rows << ", " << n << " rows");
      expect_rows_alone(bench, n_in, {n}, [&](Stream& s, const Tensor& x) { return matmul(s, linear, x); });
    }
  }
}

TEST_P(RowIndependence, MatmulOfADeterministicDevice) {
  auto bench = deterministic();
  if (!bench) GTEST_SKIP() << "tests of the CPU's mode are its own";
  EXPECT_EQ(bench->device().most_alike_rows(DType::f16), INT64_MAX);
  expect_matmul_rows_alone(*bench, {33, 65, 130});
}

TEST_P(RowIndependence, Norms) {
  OpBench bench = tested();
  const std::vector<int64_t> sizes = {2, 3, 17, 64, 300};
  for (const int64_t n : {1, 64, 100, 1024, 4096}) {
    const Tensor weight = bench.upload({n, 1, 1, 1}, random_floats(n));
    expect_rows_alone(bench, n, sizes,
                      [&](Stream& s, const Tensor& x) { return rms_norm(s, x, weight, 1e-6f); });
    expect_rows_alone(bench, n, sizes, [&](Stream& s, const Tensor& x) {
      const Tensor h = s.workspace().allocate(DType::f32, x.ne[0], x.ne[1]);
      copy(s, h, x);
      const Tensor out = s.workspace().allocate(DType::f32, x.ne[0], x.ne[1]);
      add_rms_norm(s, h, x, weight, 1e-6f, out);
      return out;
    });
    if (may_skip(bench.device().ops().gated_rms_norm)) continue;
    expect_rows_alone(bench, n, sizes,
                      [&](Stream& s, const Tensor& x) { return gated_rms_norm(s, x, weight, x, 1e-6f); });
  }
}

// What sequences have in a batch: rows one after the other.
struct Rows {
  int32_t seq, first, n;
};

constexpr int32_t kSequences = 64;
int32_t length_of(int32_t seq) {
  return seq % 9 == 0 ? 1 + seq / 9 : seq % 9 == 1 ? 2300 + 37 * seq : 64 * (seq % 7) + 5 * seq;
}

// Answers alone and in crowds, with drafts, beside small pieces of prompts; then large pieces beside each
// other.
std::vector<std::vector<Rows>> batches() {
  std::vector<std::vector<Rows>> list(6);
  for (int32_t seq = 1; seq < kSequences; ++seq) {
    const int32_t last = length_of(seq) - 1;
    if (seq < 3) list[0].push_back({seq, last, 1});
    if (seq < 14) list[1].push_back({seq, last, 1});
    list[2].push_back({seq, last, 1});
    if (seq < 14) list[3].push_back({seq, std::max(0, last - seq % 9), std::min(last, seq % 9) + 1});
    if (seq > 20 && seq < 33 && seq != 28) list[4].push_back({seq, last, 1});
  }
  for (const Rows& piece : {Rows{20, 40, 20}, {37, 3000, 33}}) list[4].push_back(piece);
  list[5] = {{10, 2000, 150}, {28, 1000, 70}, {37, 3000, 100}};
  return list;
}

std::vector<int32_t> usual_lengths() {
  std::vector<int32_t> list;
  for (int32_t seq = 0; seq < kSequences; ++seq) list.push_back(std::max(1, length_of(seq)));
  return list;
}

// A cache filled with the same random keys and values, and attention over it.
class AttentionBench {
 public:
  AttentionBench(OpBench bench, const KvShape& shape, int64_t n_head, std::mt19937& random,
                 const std::vector<float>& (*values)(int64_t),
                 const std::vector<int32_t>& lengths = usual_lengths())
      : bench_(std::move(bench)),
        shape_(shape),
        n_head_(n_head),
        lengths_(lengths),
        pages_(shape, lengths, random) {
    kv_ = filled(pages_, values);
  }

  // The first page of each sequence and the last two are exact ones.
  void add_exact_pages(std::mt19937& random, const std::vector<float>& (*values)(int64_t)) {
    KvShape shape = shape_;
    shape.k = shape.v = {.format = KvFormat::f16};
    exact_ = filled(KvPages(shape, lengths_, random), values);
    std::vector<int32_t> bounds;
    for (const int32_t length : lengths_) {
      const int32_t n_pages = div_up(length, shape.page_tokens), first = std::min(n_pages, 1);
      bounds.insert(bounds.end(), {first, std::max(first, n_pages - 2)});
    }
    main_pages_ = bench_.upload(bounds);
  }

  int64_t row() const { return shape_.head_dim_k * n_head_; }

  // Of so many rows of one sequence, from `first` on, which the batch says.
  std::vector<float> run(const Rows& rows, std::span<const float> q) {
    return run(TokenPlaces().add(rows.seq, rows.first, rows.n), q, rows.n, rows.n);
  }

  // `least_bound`: on positions; a recorded step's may be far above them.
  std::vector<float> run(const TokenPlaces& places, std::span<const float> q, int64_t least_rows = 1,
                         int64_t most_rows = INT64_MAX, int64_t least_bound = 0) {
    const Tensor tq = upload_rows(q, n_head_);
    BatchView batch = places.on(bench_);
    batch.least_rows = least_rows;
    batch.most_rows = most_rows;
    batch.n_kv_bound = std::max(batch.n_kv_bound, least_bound);
    KvView kv = view();
    if (exact_) kv.exact = &exact_->layer(0);
    kv.main_pages = main_pages_;
    return bench_.run([&](Stream& s) { return attention(s, tq, kv, batch, 0.1f); });
  }

  // Behind an operation that takes long, and what writes these keys and values, in one step.
  std::vector<float> run_behind_writing(std::span<const float> k, const TokenPlaces& places,
                                        std::span<const float> q) {
    const Tensor tq = upload_rows(q, n_head_), tk = upload_rows(k, 1);
    const BatchView batch = places.on(bench_);
    constexpr int64_t kLong = 1 << 19;
    const std::vector<float> zeros(kLong);
    const Tensor x = bench_.upload({kLong, 1, 1, 1}, zeros), weight = bench_.upload({kLong, 1, 1, 1}, zeros);
    return bench_.run([&](Stream& s) {
      rms_norm(s, x, weight, 1e-6f);
      kv_write(s, view(), tk, tk, batch);
      return attention(s, tq, view(), batch, 0.1f);
    });
  }

  // Sequence `to` begins with the pages of `from`.
  void share_pages(int32_t from, int32_t to) {
    const Tensor table = view().page_table;
    const std::vector<std::byte> bytes = bench_.download_bytes(table);
    std::vector<int32_t> pages(bytes.size() / sizeof(int32_t));
    std::memcpy(pages.data(), bytes.data(), bytes.size());
    const int64_t max_pages = table.ne[0],
                  n = div_up(lengths_[static_cast<size_t>(from)], shape_.page_tokens);
    std::copy_n(pages.begin() + from * max_pages, n, pages.begin() + to * max_pages);
    shared_table_ = bench_.upload(pages);
    shared_table_.ne = table.ne;
  }

 private:
  KvView view() const {
    KvView kv = kv_->layer(0);
    if (shared_table_) kv.page_table = shared_table_;
    return kv;
  }

  Tensor upload_rows(std::span<const float> x, int64_t n_head) {
    const int64_t n = std::ssize(x) / (shape_.head_dim_k * n_head);
    return bench_.upload({shape_.head_dim_k, n_head, n, 1}, std::vector<float>(x.begin(), x.end()));
  }

  KvLayers filled(const KvPages& pages, const std::vector<float>& (*values)(int64_t)) {
    const KvLayers kv = pages.on(bench_, pages.unwritten());
    const int64_t n_all = pages.places().size(), n_head = shape_.n_head_kv;
    const Tensor k =
        bench_.upload({shape_.head_dim_k, n_head, n_all, 1}, values(shape_.head_dim_k * n_head * n_all));
    const BatchView everything = pages.places().on(bench_);
    bench_.run([&](Stream& s) {
      kv_write(s, kv.layer(0), k, k, everything);
      return k;
    });
    return kv;
  }

  OpBench bench_;
  KvShape shape_;
  int64_t n_head_;
  std::vector<int32_t> lengths_;
  KvPages pages_;
  std::optional<KvLayers> kv_, exact_;
  Tensor main_pages_, shared_table_;
};

constexpr int64_t kLargeBound = 8192;

const std::vector<float>& noise(int64_t n) {
  static std::vector<float> values;
  static std::mt19937 random(7);
  std::uniform_real_distribution<float> distribution(-1, 1);
  while (static_cast<int64_t>(values.size()) < n) values.push_back(distribution(random));
  static std::vector<float> part;
  part.assign(values.begin(), values.begin() + n);
  return part;
}

KvShape shape_of(KvFormat format, int64_t head_dim) {
  KvShape shape{
      .n_head_kv = 1, .head_dim_k = head_dim, .head_dim_v = head_dim, .page_tokens = 64, .n_layer = 1};
  shape.k.format = shape.v.format = format;
  return shape;
}

TEST_P(RowIndependence, AttentionOfManySequences) {
  const bool is_gpu = std::string_view(tested().device().name()) != "cpu" && !is_software_vulkan();
  const bool is_slow = is_software_vulkan() || device_cases()[GetParam()].name == "cpu_scalar";
  for (size_t format = 0; format < kPlainKvFormats; ++format) {
    for (const int64_t head_dim : {64, 128, 96}) {
      const auto is = [&](KvFormat f) { return static_cast<KvFormat>(format) == f; };
      if (head_dim == 96 ? !is(KvFormat::f16) : head_dim == 128 && !is(KvFormat::f16) && !is(KvFormat::q8_0))
        continue;
      const KvShape shape = shape_of(static_cast<KvFormat>(format), head_dim);
      // Whose rows meet is the same question for every format: two have every mix, the others some.
      const bool has_all = head_dim == (is(KvFormat::q8_0) ? 64 : 128) && !(is_slow && is(KvFormat::q8_0));
      AttentionBench bench(tested(), shape, head_dim == 96 ? 3 : 4, random_, noise);
      const int64_t row = bench.row();
      const auto all = batches();
      for (size_t which = 0; which < all.size(); ++which) {
        if (!has_all && (which % 2 == 0 || (is_slow && which == 5))) continue;
        if (!has_all && is_software_vulkan() && which != 3) continue;  // which has answers alone, too
        TokenPlaces places;
        for (const Rows& rows : all[which]) places.add(rows.seq, rows.first, rows.n);
        const auto q = random_floats(row * places.size(), 3);
        const auto together = bench.run(places, q);
        // What a batch says of how many rows its sequences have changes nothing either.
        const auto [least, most] = std::ranges::minmax(all[which], {}, &Rows::n);
        expect_same_bits(together, bench.run(places, q, least.n, most.n));
        if (is_gpu) expect_same_bits(together, bench.run(places, q, 1, INT64_MAX, kLargeBound));
        const size_t stride =
            all[which].size() > 20 ? (is_slow ? 7 : 4) : 1;  // of a crowd some, of every kind
        size_t at = 0;
        for (size_t i = 0; i < all[which].size(); ++i) {
          const Rows& rows = all[which][i];
          SCOPED_TRACE(testing::Message()
                       << name_of(shape.k.format) << " [" << head_dim << "], batch " << which << ", "
                       << rows.n << " rows from " << rows.first << " of sequence " << rows.seq);
          const auto n = static_cast<size_t>(rows.n * row);
          if (i % stride == 0) {
            expect_same_bits(std::span(together).subspan(at, n),
                             bench.run(rows, std::span(q).subspan(at, n)));
          }
          if (HasFailure()) return;
          at += n;
        }
      }
    }
  }
}

// Heads that share a key and fill no whole tile, so that tokens with more parts than others begin within one.
TEST_P(RowIndependence, AttentionOfGroupsThatFillNoTile) {
  if (std::string_view(tested().device().name()) == "cpu") GTEST_SKIP() << "of tiles that GPUs have";
  for (const int64_t n_head : {5, 17}) {
    SCOPED_TRACE(n_head);
    AttentionBench bench(tested(), shape_of(KvFormat::f16, 64), n_head, random_, noise);
    constexpr Rows kRows{10, 123, 9};  // from one part to two
    const auto q = random_floats(bench.row() * kRows.n, 3);
    const auto together = bench.run(kRows, q);
    const auto row = static_cast<size_t>(bench.row());
    for (int32_t i = 0; i < kRows.n; ++i) {
      const size_t at = row * static_cast<size_t>(i);
      expect_same_bits(std::span(together).subspan(at, row),
                       bench.run({kRows.seq, kRows.first + i, 1}, std::span(q).subspan(at, row)));
    }
  }
}

// Compressed keys and values, and exact ones before and behind them.
TEST_P(RowIndependence, CompressedAttentionOfManySequences) {
  const std::string device(tested().device().name());
  if (device == "cpu") GTEST_SKIP() << "tests of the CPU's compressed caches are their own";
  if (!tested().device().ops().transforms_kv) GTEST_SKIP() << "no compressed caches on this device yet";
  for (const auto& [k, v] : {std::pair{KvFormat::tbq4_0, KvFormat::tbq4_0},
                             {KvFormat::q4_polar, KvFormat::tbq3_0},
                             {KvFormat::qjl1_256, KvFormat::q8_0},
                             {KvFormat::qjl1_256, KvFormat::tbq3_0}}) {
    KvShape shape = shape_of(k, 128);
    shape.v.format = v;
    if (is_software_vulkan()) {  // which takes long to fill a cache, and to compile other pairs than
                                 // compressed_attention_test.cpp has
      if (k != KvFormat::tbq4_0) continue;
      shape.k.format = KvFormat::tbq3_0;
      shape.k.encoder = shape.v.encoder = KvEncoder::compatible;
    }
    AttentionBench bench(tested(), shape, 4, random_, noise);
    bench.add_exact_pages(random_, noise);
    const int64_t row = bench.row();
    auto all = batches();
    all.push_back({{10, 2040, 9},
                   {37, 3000, 1},
                   {28, 1000, 2},
                   {20, 59, 1},
                   {1, 2321, 16}});  // few rows, of both kinds
    for (const size_t which : {1, 3, 4, 5, 6}) {
      if (is_software_vulkan() && which != 4) continue;
      TokenPlaces places;
      for (const Rows& rows : all[which]) places.add(rows.seq, rows.first, rows.n);
      const auto q = random_floats(row * places.size(), 3);
      const auto together = bench.run(places, q);
      size_t at = 0;
      for (const Rows& rows : all[which]) {
        SCOPED_TRACE(testing::Message()
                     << name_of(k) << " " << name_of(v) << ", batch " << which << ", " << rows.n
                     << " rows from " << rows.first << " of sequence " << rows.seq);
        const auto n = static_cast<size_t>(rows.n * row);
        expect_same_bits(std::span(together).subspan(at, n), bench.run(rows, std::span(q).subspan(at, n)));
        // Drafts attend as answers do.
        if (rows.n <= 16) {
          const auto last = static_cast<size_t>(row);
          expect_same_bits(std::span(together).subspan(at + n - last, last),
                           bench.run(Rows{rows.seq, rows.first + rows.n - 1, 1},
                                     std::span(q).subspan(at + n - last, last)));
        }
        if (HasFailure()) return;
        at += n;
      }
    }
  }
}

// So many answers that no row's keys are shared by blocks, only by a block's warps, in one way or the other:
// behind every number of steps of sixteen keys up to 3,072, in segments of each size, and some more keys.
TEST_P(RowIndependence, CompressedAttentionOfRowsOfEveryLength) {
  const std::string device(tested().device().name());
  if (device == "cpu" || is_software_vulkan()) GTEST_SKIP() << "of blocks that GPUs have";
  if (!tested().device().ops().transforms_kv) GTEST_SKIP() << "no compressed caches on this device yet";
  constexpr int32_t kLongest = 9100, kStep = 16, kManySteps = 3 * kSequences;
  std::vector<int32_t> lengths(kSequences, 1);
  lengths[0] = kLongest;
  struct Case {
    KvFormat k, v;
    int64_t head_dim, n_head;
  };
  using enum KvFormat;
  for (const Case& of : {Case{q8_0, q8_0, 128, 16},
                         {tbq4_0, tbq4_0, 128, 32},
                         {tbq3_tcq, tbq3_tcq, 128, 32},
                         {q4_polar, tbq3_0, 128, 16},
                         {qjl1_256, tbq3_0, 128, 32},
                         {tbq3_0, tbq3_0, 64, 32},
                         {tbq4_0, tbq4_0, 128, 64}}) {
    KvShape shape = shape_of(of.k, of.head_dim);
    shape.v.format = of.v;
    shape.n_head_kv = 8;
    AttentionBench bench(tested(), shape, of.n_head, random_, noise, lengths);
    for (int32_t seq = 1; seq < kSequences; ++seq) bench.share_pages(0, seq);
    const auto n = static_cast<size_t>(bench.row());
    for (int32_t first = 0; first <= kManySteps; first += kSequences) {
      TokenPlaces places;
      for (int32_t i = 0; i < kSequences; ++i) {
        const int32_t many = kManySteps * kStep;
        const int32_t pos = first < kManySteps ? (first + i) * kStep + i * 5 % kStep
                                               : many + i * ((kLongest - many) / kSequences);
        places.add(i, pos, 1);
      }
      const auto q = random_floats(bench.row() * places.size(), 3);
      const auto together = bench.run(places, q, 1, 1);
      for (size_t i = 0; i < static_cast<size_t>(kSequences); ++i) {
        SCOPED_TRACE(testing::Message() << name_of(of.k) << " " << name_of(of.v) << " [" << of.head_dim
                                        << "], " << of.n_head << " heads, behind " << places.pos[i]);
        const auto alone = TokenPlaces().add(places.seq[i], places.pos[i], 1);
        expect_same_bits(std::span(together).subspan(i * n, n),
                         bench.run(alone, std::span(q).subspan(i * n, n), 1, 1));
        if (HasFailure()) return;
      }
      // As few as have a row's keys shared by two blocks, in whose parts warps have segments, too.
      constexpr size_t kApart = 4;
      TokenPlaces fewer;
      std::vector<float> q_of_fewer, of_fewer;
      for (size_t i = 0; i < static_cast<size_t>(kSequences); i += kApart) {
        fewer.add(places.seq[i], places.pos[i], 1);
        q_of_fewer.insert(q_of_fewer.end(), q.begin() + static_cast<int64_t>(i * n),
                          q.begin() + static_cast<int64_t>((i + 1) * n));
        of_fewer.insert(of_fewer.end(), together.begin() + static_cast<int64_t>(i * n),
                        together.begin() + static_cast<int64_t>((i + 1) * n));
      }
      SCOPED_TRACE(testing::Message() << name_of(of.k) << " " << name_of(of.v) << ", sixteen rows");
      expect_same_bits(bench.run(fewer, q_of_fewer, 1, 1), of_fewer);
      if (HasFailure()) return;
    }
  }
}

// As many rows as a draft may have are what they are one at a time, also where they see more keys than fit as
// many segments as those before.
TEST_P(RowIndependence, DraftsAttendAsAnswersDo) {
  using enum KvFormat;
  std::vector<std::pair<KvFormat, KvFormat>> pairs = {{f16, f16}, {q8_0, q8_0}};
  if (std::string_view(tested().device().name()).starts_with("cuda")) {
    pairs.insert(pairs.end(), {{tbq3_0, tbq3_0}, {q4_polar, q4_polar}, {tbq3_tcq, tbq3_tcq}});
    // Whose tables are so large that a block has the least room for anything else.
    pairs.insert(pairs.end(), {{tbq3_tcq, tbq4_0}, {q4_polar, tbq3_tcq}});
  }
  for (const auto& [format, v] : pairs) {
    for (const int64_t head_dim : {64, 128}) {
      if (head_dim == 64 && format != f16) continue;
      KvShape shape = shape_of(format, head_dim);
      shape.v.format = v;
      AttentionBench bench(tested(), shape, 4, random_, noise);
      const auto n = static_cast<size_t>(bench.row());
      for (const Rows& rows : {Rows{10, 2040, 16}, Rows{10, 30, 32}, Rows{37, 3000, 2}, Rows{37, 2100, 7}}) {
        const auto q = random_floats(bench.row() * rows.n, 3);
        const auto together = bench.run(TokenPlaces().add(rows.seq, rows.first, rows.n), q);
        for (int32_t row = 0; row < rows.n; ++row) {
          SCOPED_TRACE(testing::Message() << name_of(format) << " " << name_of(v) << " [" << head_dim
                                          << "], row " << row << " of " << rows.n << " from " << rows.first);
          const size_t at = static_cast<size_t>(row) * n;
          expect_same_bits(std::span(together).subspan(at, n),
                           bench.run(Rows{rows.seq, rows.first + row, 1}, std::span(q).subspan(at, n)));
          if (HasFailure()) return;
        }
        expect_same_bits(together, bench.run(rows, q));
        expect_same_bits(together, bench.run(TokenPlaces().add(rows.seq, rows.first, rows.n), q, rows.n,
                                             rows.n, kLargeBound));
      }
    }
  }
}

// Kernels may ask for old keys before new ones are written: these are seen all the same, those of another
// sequence in pages that both have, too.
TEST_P(RowIndependence, DraftsSeeWhatTheirStepWrites) {
  for (const auto format : {KvFormat::f16, KvFormat::q8_0}) {
    OpBench device = tested();
    const int n_turns = is_fast(device) ? 3 : 1;
    if (n_turns == 1 && format != KvFormat::f16) continue;
    AttentionBench bench(std::move(device), shape_of(format, 128), 4, random_, noise);
    bench.share_pages(10, 37);
    const int64_t kv_row = bench.row() / 4;
    for (const TokenPlaces& places :
         {TokenPlaces().add(10, 2500, 16), TokenPlaces().add(10, 2303, 16), TokenPlaces().add(10, 2655, 1),
          TokenPlaces().add(10, 2550, 9).add(37, 2559, 5), TokenPlaces().add(37, 2559, 5).add(10, 2550, 9),
          TokenPlaces().add(28, 300, 4).add(10, 2660, 4)}) {
      const auto q = random_floats(bench.row() * places.size(), 3);
      for (int turn = 0; turn < n_turns; ++turn) {
        SCOPED_TRACE(testing::Message() << name_of(format) << ", " << places.size() << " rows from "
                                        << places.pos[0] << " of " << places.seq[0]);
        const auto k = random_floats(kv_row * places.size(), 3);
        const auto together = bench.run_behind_writing(k, places, q);
        expect_same_bits(together, bench.run(places, q));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(RowIndependence, AttentionOfADeterministicDevice) {
  for (const auto format : {KvFormat::f16, KvFormat::q8_0}) {
    for (const int64_t head_dim : {64, 128, 96}) {
      auto device = deterministic();
      if (!device) GTEST_SKIP() << "tests of the CPU's mode are its own";
      if (is_software_vulkan() && (format == KvFormat::q8_0) != (head_dim == 96)) continue;
      AttentionBench bench(std::move(*device), shape_of(format, head_dim), 4, random_, noise);
      constexpr int32_t kRows = 230, kFirst = 1990;
      const auto n = static_cast<size_t>(bench.row());
      const auto q = random_floats(bench.row() * kRows, 3);
      const auto together = bench.run(TokenPlaces().add(10, kFirst, kRows), q);
      for (int32_t row = 0; row < kRows; row += 19) {
        SCOPED_TRACE(testing::Message() << name_of(format) << " [" << head_dim << "], row " << row);
        expect_same_bits(std::span(together).subspan(static_cast<size_t>(row) * n, n),
                         bench.run(TokenPlaces().add(10, kFirst + row, 1),
                                   std::span(q).subspan(static_cast<size_t>(row) * n, n)));
        if (HasFailure()) return;
      }
    }
  }
}

// Recurrences: a sequence's rows alone, in a crowd, and in two pieces.
TEST_P(RowIndependence, RecurrencesOfManySequences) {
  OpBench bench = tested();
  if (may_skip(bench.device().ops().gated_delta_net)) GTEST_SKIP() << "this device has no recurrences";
  constexpr int64_t kHeadDim = 64, kHeads = 2, kChannels = 3 * kHeads * kHeadDim, kTaps = 4, kSeq = 40;
  TokenPlaces places;
  std::vector<Rows> list;
  for (int32_t seq = 0; seq < kSeq; ++seq) {
    list.push_back({seq, seq % 3 == 0 ? 0 : 7, seq % 5 == 4 ? 50 : 1 + seq % 5});
    places.add(seq, list.back().first, list.back().n);
  }
  const auto x = random_floats(kChannels * places.size()), gates = random_floats(2 * kHeads * places.size());
  const auto delta_state = random_floats(kHeadDim * kHeadDim * kHeads * kSeq);
  const auto conv_state = random_floats(kChannels * (kTaps - 1) * kSeq);
  const Tensor taps = bench.upload({kTaps, kChannels, 1, 1}, random_floats(kTaps * kChannels));
  const Tensor a = bench.upload({kHeads, 1, 1, 1}, std::vector<float>(kHeads, -0.7f));
  const auto run = [&](const TokenPlaces& of, int64_t first) {
    const auto part = [&](const std::vector<float>& all, int64_t n) {
      const auto begin = all.begin() + first * n;
      return bench.upload({n, of.size(), 1, 1}, std::vector<float>(begin, begin + of.size() * n));
    };
    const Tensor tx = part(x, kChannels);
    const DeltaNetGates tgates{
        .alpha = part(gates, kHeads), .beta = part(gates, kHeads), .a = a, .dt_bias = a};
    const Tensor conv = bench.upload({kChannels, kTaps - 1, kSeq, 1}, conv_state);
    const Tensor state = bench.upload({kHeadDim, kHeadDim, kHeads, kSeq}, delta_state);
    const BatchView batch = of.on(bench);
    return bench.run([&](Stream& s) {
      return gated_delta_net(s, short_conv(s, tx, taps, {conv}, batch), tgates, {state}, batch, 1e-6f);
    });
  };
  const auto together = run(places, 0);
  int64_t at = 0;
  for (const Rows& rows : list) {
    SCOPED_TRACE(testing::Message() << rows.n << " rows of sequence " << rows.seq);
    const auto n = static_cast<size_t>(rows.n * kHeadDim * kHeads);
    const auto alone = run(TokenPlaces().add(rows.seq, rows.first, rows.n), at);
    expect_same_bits(std::span(together).subspan(static_cast<size_t>(at * kHeadDim * kHeads), n), alone);
    at += rows.n;
  }
}

PARLANCE_FOR_EACH_DEVICE(RowIndependence);

}  // namespace
}  // namespace parlance::test
