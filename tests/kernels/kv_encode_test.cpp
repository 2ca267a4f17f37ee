// What each instruction set makes of single cache rows, beside the scalar definitions of quant/. Codes may
// differ where a value lies within rounding of the boundary between two.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "kernels/cpu/rows.h"
#include "kernels/support/kv_pages.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance::test {
namespace {

constexpr int64_t kSizes[] = {32, 64, 96, 128, 160, 256};
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Bytes = std::vector<std::byte>;

std::vector<KvCoding> compressed_codings() {
  std::vector<KvCoding> codings;
  for (size_t format = kPlainKvFormats; format < kKvFormatCount; ++format) {
    for (const auto encoder : {KvEncoder::compatible, KvEncoder::search}) {
      const KvFormatTraits& t = traits(static_cast<KvFormat>(format));
      if (encoder == KvEncoder::search && t.search_row == t.encode_row) continue;  // the same once more
      codings.push_back({.format = static_cast<KvFormat>(format), .encoder = encoder});
    }
  }
  return codings;
}

// These, plain formats, and rotated ones.
std::vector<KvCoding> all_codings() {
  std::vector<KvCoding> codings = compressed_codings();
  for (size_t format = 0; format < kPlainKvFormats; ++format)
    codings.push_back({.format = static_cast<KvFormat>(format)});
  for (const auto format : {KvFormat::f16, KvFormat::q8_0, KvFormat::q4_0})
    codings.push_back({.format = format, .rotated = true});
  return codings;
}

std::string to_text(const KvCoding& coding) {
  return std::string(name_of(coding.format)) +
         (coding.encoder == KvEncoder::search ? " search" : " compatible");
}

// The bytes of a row, between others that must stay as they are.
template <class Encode>
Bytes encoded(const KvCoding& coding, const std::vector<float>& x, const Encode& encode) {
  constexpr size_t kMargin = 64;
  const auto n = static_cast<int64_t>(x.size());
  Bytes bytes(kv_row_bytes(coding.format, n) + 2 * kMargin, std::byte{0xa5});
  encode(x.data(), bytes.data() + kMargin, n);
  for (size_t i = 0; i < kMargin; ++i) {
    EXPECT_EQ(bytes[i], std::byte{0xa5});
    EXPECT_EQ(bytes[bytes.size() - 1 - i], std::byte{0xa5});
  }
  return Bytes(bytes.begin() + kMargin, bytes.end() - kMargin);
}

class KvEncode : public ::testing::TestWithParam<Isa> {
 protected:
  Bytes tested(const KvCoding& coding, const std::vector<float>& x) const {
    return encoded(coding, x, RowEncoder(GetParam(), coding));
  }
  static Bytes defined(const KvCoding& coding, const std::vector<float>& x) {
    return encoded(coding, x,
                   [&](const float* row, std::byte* out, int64_t n) { coding.encode(row, out, n); });
  }

  std::vector<float> normal(int64_t n, float scale = 1) {
    std::vector<float> x(static_cast<size_t>(n));
    fill_normal(random_, x, scale);
    return x;
  }

  // Rows that caches meet, and rows that test the encoders' edges.
  std::vector<std::vector<float>> finite_rows(int64_t n) {
    std::vector<std::vector<float>> rows;
    for (int i = 0; i < 10; ++i) rows.push_back(normal(n));
    for (int i = 0; i < 5; ++i) {
      rows.push_back(normal(n));
      rows.back()[static_cast<size_t>(i * 7 % n)] *= 50;
    }
    for (const float scale : {1e-3f, 1e-6f, 1e-12f, 1e-30f, 1e-42f, 1e3f, 3e4f, 1e6f, 1e18f, 1e30f}) {
      rows.push_back(normal(n, scale));
    }
    for (const float constant : {0.0f, -0.0f, 1.0f, -0.5f})
      rows.emplace_back(static_cast<size_t>(n), constant);
    rows.emplace_back(static_cast<size_t>(n), 0.0f);
    rows.back().back() = 3;  // alone
    return rows;
  }

  std::mt19937 random_{7};
};

bool is_finite(const std::vector<float>& x) {
  return std::all_of(x.begin(), x.end(), [](float value) { return std::isfinite(value); });
}

std::vector<float> decoded(const KvCoding& coding, const Bytes& bytes, size_t n) {
  std::vector<float> x(n);
  coding.decode(bytes.data(), x.data(), static_cast<int64_t>(n));
  return x;
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

TEST_P(KvEncode, RowsAreEncodedAsDefined) {
  for (const KvCoding& coding : compressed_codings()) {
    SCOPED_TRACE(to_text(coding));
    int n_rows = 0, n_different = 0;
    for (const int64_t n : kSizes) {
      if (n % traits(coding.format).block_elements != 0) continue;
      for (const auto& x : finite_rows(n)) {
        const Bytes got = tested(coding, x), want = defined(coding, x);
        ++n_rows;
        if (got == want) continue;
        ++n_different;
        const auto got_x = decoded(coding, got, x.size()), want_x = decoded(coding, want, x.size());
        EXPECT_EQ(is_finite(got_x), is_finite(want_x)) << "size " << n << ", x[0] " << x[0];
        if (!is_finite(want_x)) continue;
        EXPECT_LE(squared_distance(got_x, x), 1.01 * squared_distance(want_x, x)) << "size " << n;
      }
    }
    EXPECT_LE(n_different, coding.format == KvFormat::tbq3_tcq ? 0 : n_rows / 10) << "of " << n_rows;
  }
}

TEST_P(KvEncode, ErrorsAreThoseOfTheDefinition) {
  constexpr int kRows = 1000;
  for (const KvCoding& coding : compressed_codings()) {
    double got = 0, want = 0;
    const bool is_slow = coding.format == KvFormat::tbq3_tcq;
    for (int i = 0; i < (is_slow ? kRows / 20 : kRows); ++i) {
      const auto x = normal(128);
      got += squared_distance(decoded(coding, tested(coding, x), x.size()), x);
      want += squared_distance(decoded(coding, defined(coding, x), x.size()), x);
    }
    EXPECT_NEAR(got / want, 1, 0.01) << to_text(coding);
  }
}

TEST_P(KvEncode, NumbersThatAreNoneStayInTheirRow) {
  for (const KvCoding& coding : compressed_codings()) {
    SCOPED_TRACE(to_text(coding));
    for (const float odd : {kNan, kInf, -kInf, std::numeric_limits<float>::max()}) {
      auto x = normal(256);
      x[17] = odd;
      tested(coding, x);
      for (float& value : x) value = odd;
      tested(coding, x);
    }
  }
}

// What is no number must not be read as one: in no format, not even where others of its block are large.
TEST_P(KvEncode, NumbersThatAreNoneShow) {
  for (const KvCoding& coding : all_codings()) {
    for (const float odd : {kNan, -kNan, kInf, -kInf}) {
      for (const size_t i : {0, 17, 31, 130, 255}) {
        const auto sound = normal(256);
        auto x = sound;
        x[i] = odd;
        const auto got = decoded(coding, tested(coding, x), x.size());
        EXPECT_FALSE(std::isfinite(got[i])) << to_text(coding) << ": " << odd << " at " << i;
        const size_t other = (i + 128) % 256;  // in another block, but for rotations
        if (coding.rotated) continue;
        EXPECT_EQ(got[other], decoded(coding, tested(coding, sound), x.size())[other]) << to_text(coding);
      }
    }
  }
}

TEST_P(KvEncode, RotatedRows) {
  for (const auto format : {KvFormat::f16, KvFormat::q8_0, KvFormat::q4_0}) {
    const KvCoding coding{.format = format, .rotated = true};
    for (const int64_t n : {64, 96, 128, 192, 256, 512}) {
      const auto x = normal(n);
      EXPECT_TRUE(tested(coding, x) == defined(coding, x)) << to_text(coding) << " " << n;
    }
  }
}

TEST_P(KvEncode, BytesOfTheReference) {
  PARLANCE_REQUIRE_FIXTURES("kv");
  int n_rows = 0;
  for (size_t i = kPlainKvFormats; i < kKvFormatCount; ++i) {
    const auto format = static_cast<KvFormat>(i);
    const auto path = fixtures_root() / "kv" / ("rows_" + std::string(name_of(format)) + ".json");
    if (!std::filesystem::exists(path)) continue;
    const nlohmann::json file = read_json(path);
    for (const nlohmann::json& row : file["rows"]) {
      if (!row["byte_exact"]) continue;
      SCOPED_TRACE(std::string(name_of(format)) + " " + row["name"].get<std::string>());
      const KvCoding coding{.format = format, .encoder = KvEncoder::compatible};
      const Bytes bytes = tested(coding, row["x"].get<std::vector<float>>());
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                from_hex(row["encoded"]));
      ++n_rows;
    }
  }
  EXPECT_GE(n_rows, 100);
}

// Hadamard transforms are exact; sketches are sums in another order.
TEST_P(KvEncode, TransformsAreThoseOfTheDefinition) {
  for (int kind = 0; kind < kKvTransformCount; ++kind) {
    const auto transform = static_cast<KvTransform>(kind);
    const bool is_sketch = stored_elements(transform, 1) != 1;
    const bool is_of_128 =
        is_sketch || transform == KvTransform::signed_hadamard_128 || transform == KvTransform::hadamard_128;
    for (const int64_t n : {32, 64, 96, 128, 160, 192, 256, 384, 512}) {
      if (is_of_128 && n % 128 != 0) continue;
      SCOPED_TRACE("transform " + std::to_string(kind) + ", size " + std::to_string(n));
      const int64_t n_stored = stored_elements(transform, n);
      const auto x = normal(n), y = normal(n_stored);
      std::vector<float> got(static_cast<size_t>(n_stored) + 1, 77), want = got;
      to_stored_of(GetParam())(transform, x.data(), got.data(), n);
      to_stored(transform, x.data(), want.data(), n);
      expect_close(got, want, is_sketch ? 1e-4f : 0, 0);
      to_stored_of(GetParam())(transform, x.data(), got.data(), 0);

      got.assign(static_cast<size_t>(n) + 1, 77);
      want = got;
      from_stored_of(GetParam())(transform, y.data(), got.data(), n);
      from_stored(transform, y.data(), want.data(), n);
      expect_close(got, want, is_sketch ? 1e-4f : 0, 0);
    }
  }
}

// The tests above run once for sets that write caches alike.
TEST(KvEncoders, AreTheSameWhereKvWriteIs) {
  for (const Isa isa : available_isas()) {
    for (const Isa other : available_isas()) {
      if (!share_kernels(isa, other, &OpTable::kv_write)) continue;
      EXPECT_EQ(to_stored_of(isa), to_stored_of(other)) << name_of(isa) << ", " << name_of(other);
      EXPECT_EQ(from_stored_of(isa), from_stored_of(other)) << name_of(isa) << ", " << name_of(other);
      for (const KvCoding& coding : compressed_codings()) {
        EXPECT_TRUE(RowEncoder(isa, coding) == RowEncoder(other, coding))
            << to_text(coding) << ": " << name_of(isa) << ", " << name_of(other);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, KvEncode, ::testing::ValuesIn(isas_with_own(&OpTable::kv_write)),
                         [](const auto& param) { return std::string(name_of(param.param)); });

class KvWriteCompressed : public KernelTest {
 protected:
  Bytes written(OpBench bench, const KvPages& pages, const TokenPlaces& places, const KvShape& shape,
                const std::vector<float>& k, const std::vector<float>& v) {
    const KvLayers layers = pages.on(bench, pages.unwritten());
    const Tensor tk = bench.upload({shape.head_dim_k, shape.n_head_kv, places.size(), 1}, k);
    const Tensor tv = bench.upload({shape.head_dim_v, shape.n_head_kv, places.size(), 1}, v);
    const BatchView batch = places.on(bench);
    bench.run([&](Stream& s) {
      kv_write(s, layers.layer(1), tk, tv, batch);
      return tk;
    });
    return KvPages::contents(bench, layers);
  }
};

TEST_P(KvWriteCompressed, EveryFormatOnBothSides) {
  if (!tested().device().ops().transforms_kv) GTEST_SKIP() << "this device does not write all formats";
  // Where sums run in the definition's order, so do bytes.
  const size_t most_different = device_cases()[GetParam()].name.starts_with("cpu") ? 4 : 0;
  for (const int64_t head_dim : {64, 128, 256}) {
    for (KvCoding coding : compressed_codings()) {
      if (head_dim % traits(coding.format).block_elements != 0) continue;
      if (head_dim == 64 && coding.format != KvFormat::tbq3_0 && is_software_vulkan()) continue;
      if (head_dim == 256 && coding.format != KvFormat::tbq3_tcq && is_software_vulkan()) continue;
      for (const bool rotated : {false, true}) {
        coding.rotated = rotated;
        const KvShape shape{.k = coding, .v = coding, .head_dim_k = head_dim, .head_dim_v = head_dim};
        const KvPages pages(shape, {40, 7}, random_);
        const TokenPlaces places = TokenPlaces().add(1, 3, 4).add(0, 10, 9);
        const auto k = random_floats(head_dim * 2 * places.size(), 3);
        const auto v = random_floats(head_dim * 2 * places.size(), 0.1f);
        const Bytes got = written(tested(), pages, places, shape, k, v);
        const Bytes want = written(reference(), pages, places, shape, k, v);
        size_t n_different = 0;
        for (size_t i = 0; i < want.size(); ++i) n_different += got[i] != want[i];
        EXPECT_LE(n_different, most_different)
            << to_text(coding) << " " << head_dim << (rotated ? " rotated" : "");
      }
    }
  }
}

// Heads of every magnitude, among them zeros and ones that overflow.
TEST_P(KvWriteCompressed, RowsOfEveryMagnitude) {
  if (!tested().device().ops().transforms_kv) GTEST_SKIP() << "this device does not write all formats";
  const std::vector<float> scales = {0, 1e-42f, 1e-30f, 1e-12f, 1e-6f, 1e-3f, 1, 1e3f, 3e4f, 1e6f, 1e18f};
  for (const KvCoding& coding : compressed_codings()) {
    const KvShape shape{.k = coding, .v = coding, .head_dim_k = 128, .head_dim_v = 128};
    const KvPages pages(shape, {16}, random_);
    const TokenPlaces places = TokenPlaces().add(0, 0, static_cast<int32_t>(scales.size()));
    std::vector<float> x;
    for (const float scale : scales) {
      for (const float value : random_floats(2 * 128)) x.push_back(scale * value);
    }
    x[7 * 256 + 5] *= 50;
    const Bytes got = written(tested(), pages, places, shape, x, x);
    const Bytes want = written(reference(), pages, places, shape, x, x);
    const auto row_bytes = static_cast<std::ptrdiff_t>(kv_row_bytes(coding.format, 128));
    for (std::ptrdiff_t row = 0; row < 4 * 16; ++row) {
      const auto from = static_cast<std::ptrdiff_t>(want.size() / 2) + row * row_bytes;  // of the layer
      const std::ptrdiff_t token = row % 16;
      if (token >= std::ssize(scales)) continue;
      if (std::equal(want.begin() + from, want.begin() + from + row_bytes, got.begin() + from)) continue;
      // Two rows that decode to the same, or to no numbers, are as good.
      const auto bytes_of = [&](const Bytes& all) {
        return Bytes(all.begin() + from, all.begin() + from + row_bytes);
      };
      const auto got_x = decoded(coding, bytes_of(got), 128), want_x = decoded(coding, bytes_of(want), 128);
      const auto first = x.begin() + token * 256 + row / 16 % 2 * 128;
      const std::vector<float> head(first, first + 128);
      EXPECT_EQ(is_finite(got_x), is_finite(want_x))
          << to_text(coding) << ", scale " << scales[static_cast<size_t>(token)];
      if (!is_finite(want_x)) continue;
      EXPECT_LE(squared_distance(got_x, head), 1.0001 * squared_distance(want_x, head))
          << to_text(coding) << ", scale " << scales[static_cast<size_t>(token)];
    }
  }
}

// As above for rows of CPUs: what is no number is not read as one, and the head beside it is as if it was not
// there.
TEST_P(KvWriteCompressed, NumbersThatAreNoneShow) {
  constexpr int64_t kHeadDim = 128, kPage = 16;
  for (const KvCoding& coding : all_codings()) {
    const KvShape shape{.k = coding, .v = coding, .head_dim_k = kHeadDim, .head_dim_v = kHeadDim};
    const KvPages pages(shape, {kPage}, random_);
    const TokenPlaces places = TokenPlaces().add(0, 0, kPage);
    const auto sound = random_floats(2 * kHeadDim * kPage);
    auto x = sound;
    const auto channel_of = [](int64_t token) { return static_cast<size_t>(token * 37 % kHeadDim); };
    for (int64_t token = 0; token < kPage; ++token) {
      constexpr float kOdd[] = {kNan, -kNan, kInf, -kInf};
      x[static_cast<size_t>(token * 2 * kHeadDim) + channel_of(token)] = kOdd[token % 4];
    }
    const Bytes damaged = written(tested(), pages, places, shape, x, x);
    const Bytes whole = written(tested(), pages, places, shape, sound, sound);
    const auto row_bytes = static_cast<std::ptrdiff_t>(kv_row_bytes(coding.format, kHeadDim));
    for (std::ptrdiff_t row = 0; row < 4 * kPage; ++row) {        // keys of both heads, then values
      const auto from = std::ssize(whole) / 2 + row * row_bytes;  // of the layer
      const Bytes got(damaged.begin() + from, damaged.begin() + from + row_bytes);
      if (row / kPage % 2 == 0) {
        const size_t channel = channel_of(row % kPage);
        EXPECT_FALSE(std::isfinite(decoded(coding, got, kHeadDim)[channel]))
            << to_text(coding) << ", row " << row << ", channel " << channel;
      } else {
        EXPECT_TRUE(std::equal(got.begin(), got.end(), whole.begin() + from))
            << to_text(coding) << ", row " << row;
      }
    }
  }
}

// Exact pages become main ones, whole pages at a time; what else lies in either stays as it is.
TEST_P(KvWriteCompressed, PagesAreCompressed) {
  if (!tested().device().ops().transforms_kv) GTEST_SKIP() << "this device does not compress pages";
  for (const int64_t head_dim : {64, 128}) {
    for (const KvCoding& coding : compressed_codings()) {
      if (head_dim % traits(coding.format).block_elements != 0) continue;
      // The encoders are the same as above; here it is which pages they read and write.
      const bool is_one_of_each =
          coding.encoder == KvEncoder::compatible && (head_dim == 64) == (coding.format == KvFormat::tbq3_0);
      if (!is_one_of_each && is_software_vulkan()) continue;
      const KvShape shape{
          .k = coding, .v = {.format = KvFormat::q8_0}, .head_dim_k = head_dim, .head_dim_v = head_dim};
      const KvShape exact_shape{.k = {}, .v = {}, .head_dim_k = head_dim, .head_dim_v = head_dim};
      const KvPages pages(shape, {50}, random_), exact_pages(exact_shape, {50}, random_);
      std::vector<std::byte> halves(exact_pages.bytes());
      const auto values = random_floats(static_cast<int64_t>(halves.size() / 2), 2);
      traits(KvFormat::f16).encode_row(values.data(), halves.data(), std::ssize(values));
      const auto compressed = [&](OpBench bench) {
        const KvLayers main = pages.on(bench, pages.unwritten()), exact = exact_pages.on(bench, halves);
        KvView kv = main.layer(1);
        kv.exact = &exact.layer(1);
        Tensor moves = bench.upload(std::vector<int32_t>{2, 0, 0, 3});
        moves.ne = {2, 2, 1, 1};
        bench.run([&](Stream& s) {
          kv_compress(s, kv, moves);
          return moves;
        });
        return KvPages::contents(bench, main);
      };
      const Bytes got = compressed(tested()), want = compressed(reference());
      size_t n_different = 0;
      for (size_t i = 0; i < want.size(); ++i) n_different += got[i] != want[i];
      const bool is_cpu = device_cases()[GetParam()].name.starts_with("cpu");
      EXPECT_LE(n_different, is_cpu ? want.size() / 2000 : 0) << to_text(coding) << " " << head_dim;
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(KvWriteCompressed, &OpTable::kv_write, &OpTable::kv_compress);

}  // namespace
}  // namespace parlance::test
