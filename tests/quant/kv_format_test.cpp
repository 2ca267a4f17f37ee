// The table of cache formats: names, sizes, the error of each on gaussian rows, and what encoders make of
// numbers they were not made for.
#include "quant/kv_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "quant/sketch.h"

namespace parlance {
namespace {

std::vector<KvFormat> formats() {
  std::vector<KvFormat> all;
  for (size_t i = 0; i < kKvFormatCount; ++i) all.push_back(static_cast<KvFormat>(i));
  return all;
}

TEST(KvFormat, NamesAreFoundAgain) {
  for (const KvFormat format : formats()) {
    EXPECT_EQ(kv_format_from_name(name_of(format)), format);
    EXPECT_NE(kv_format_names().find(name_of(format)), std::string::npos);
  }
  EXPECT_EQ(kv_format_from_name("q8"), std::nullopt);
  EXPECT_EQ(kv_format_from_name(""), std::nullopt);
  EXPECT_EQ(kv_format_names(),
            "f32, f16, bf16, q8_0, q4_0, tbq3_0, tbq4_0, tbq3_tcq, qjl1_256, q4_polar, q4_polar_residual");
}

TEST(KvFormat, RowBytes) {
  const size_t bytes[] = {512, 256, 256, 136, 72, 56, 72, 52, 34, 82, 82};
  for (const KvFormat format : formats()) {
    EXPECT_EQ(kv_row_bytes(format, 128), bytes[static_cast<size_t>(format)]) << name_of(format);
  }
}

// Mean of |x - decoded|^2 / |x|^2 over gaussian rows of 128.
double reconstruction_error(const KvCoding& coding, int n_rows) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> x(128), y(128);
  std::vector<std::byte> bytes(kv_row_bytes(coding.format, 128));
  double total = 0;
  for (int row = 0; row < n_rows; ++row) {
    for (float& value : x) value = normal(random);
    coding.encode(x.data(), bytes.data(), 128);
    coding.decode(bytes.data(), y.data(), 128);
    double error = 0, squares = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      error += std::pow(static_cast<double>(y[i]) - static_cast<double>(x[i]), 2);
      squares += std::pow(static_cast<double>(x[i]), 2);
    }
    total += error / squares;
  }
  return total / n_rows;
}

struct ErrorCase {
  KvFormat format;
  double published;  // the specification's, of the compatible encoder and the unbiased reading
  double searched;   // ours is no more than this
};

TEST(KvFormat, ErrorOnGaussianRows) {
  const ErrorCase cases[] = {
      {KvFormat::q4_0, 0.0075, 0.0068},
      {KvFormat::tbq3_0, 0.0326, 0.0262},
      {KvFormat::tbq4_0, 0.0089, 0.0062},
      {KvFormat::tbq3_tcq, 0.0217, 0.0225},
      {KvFormat::qjl1_256, 0.781, 0.32},
      {KvFormat::q4_polar, 0.0093, 0.0094},
      {KvFormat::q4_polar_residual, 0.0107, 0.0108},
  };
  for (const ErrorCase& c : cases) {
    SCOPED_TRACE(name_of(c.format));
    const double compatible = reconstruction_error(
        {.format = c.format, .encoder = KvEncoder::compatible, .least_squares = false}, 1000);
    EXPECT_NEAR(compatible, c.published, 0.04 * c.published);
    EXPECT_LE(reconstruction_error({.format = c.format}, 1000), c.searched);
  }
}

TEST(KvFormat, PlainRowsComeBack) {
  EXPECT_EQ(reconstruction_error({.format = KvFormat::f32}, 10), 0);
  EXPECT_LE(reconstruction_error({.format = KvFormat::f16}, 100), std::pow(2, -22));
  EXPECT_LE(reconstruction_error({.format = KvFormat::bf16}, 100), std::pow(2, -16));
  EXPECT_LE(reconstruction_error({.format = KvFormat::q8_0}, 100), 1e-4);
}

// A channel fifty times as large as the others costs them their digits, unless the row is rotated first.
TEST(KvFormat, RotationSpreadsOutliers) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> x(128), y(128);
  for (float& value : x) value = normal(random);
  x[17] *= 50;
  const auto error = [&](bool rotated) {
    const KvCoding coding{.format = KvFormat::q4_0, .rotated = rotated};
    std::vector<std::byte> bytes(kv_row_bytes(coding.format, 128));
    coding.encode(x.data(), bytes.data(), 128);
    coding.decode(bytes.data(), y.data(), 128);
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += i == 17 ? 0 : std::pow(static_cast<double>(y[i] - x[i]), 2);
    return sum;
  };
  EXPECT_LT(error(true), error(false));
}

// The error of a score q.k, in units of |q|^2 |k|^2 / n, by the query's matrix.
TEST(KvFormat, LeastSquaresReadSketchesBetter) {
  EXPECT_LE(reconstruction_error({.format = KvFormat::qjl1_256, .least_squares = true}, 1000), 0.32);
  EXPECT_GE(reconstruction_error({.format = KvFormat::qjl1_256, .least_squares = false}, 1000), 0.7);
}

TEST(KvFormat, OneRotationOnly) {
  for (const KvFormat format : formats()) {
    const KvTransform own = traits(format).transform;
    const KvTransform used = KvCoding{.format = format, .rotated = true, .least_squares = false}.transform();
    EXPECT_EQ(used, own == KvTransform::none ? KvTransform::hadamard : own) << name_of(format);
  }
}

// A query transformed one way and values transformed back the other give the same products.
TEST(KvFormat, TransformsAreTransposes) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  for (int t = 0; t < kKvTransformCount; ++t) {
    const auto transform = static_cast<KvTransform>(t);
    for (const int64_t n : {128, 256}) {
      std::vector<float> q(static_cast<size_t>(n)), x(q.size());
      std::vector<float> y(static_cast<size_t>(stored_elements(transform, n))), prepared(y.size());
      for (float& v : q) v = normal(random);
      for (float& v : y) v = normal(random);
      to_stored(transform, q.data(), prepared.data(), n);
      from_stored(transform, y.data(), x.data(), n);
      double stored = 0, original = 0;
      for (size_t i = 0; i < y.size(); ++i) stored += static_cast<double>(prepared[i] * y[i]);
      for (size_t i = 0; i < x.size(); ++i) original += static_cast<double>(q[i] * x[i]);
      EXPECT_NEAR(stored, original, 2e-4) << t << " " << n;
    }
  }
}

// Zeros come back as zeros; whatever else there is, encoders and decoders end and stay in their bounds.
TEST(KvFormat, UnusualRows) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const KvFormat format : formats()) {
    for (const KvEncoder encoder : {KvEncoder::compatible, KvEncoder::search}) {
      const KvCoding coding{.format = format, .encoder = encoder};
      std::vector<std::byte> bytes(kv_row_bytes(format, 256));
      std::vector<float> x(256, 0.0f), y(256);
      coding.encode(x.data(), bytes.data(), 256);
      coding.decode(bytes.data(), y.data(), 256);
      for (const float value : y) EXPECT_EQ(value, 0) << name_of(format);
      for (const float value : {infinity, -infinity, std::nanf(""), 3e38f, 1e-40f}) {
        x[3] = x[200] = value;
        coding.encode(x.data(), bytes.data(), 256);
        coding.decode(bytes.data(), y.data(), 256);
      }
    }
  }
}

// FNV-1a of the bits: caches made anywhere must agree on the projection.
TEST(Sketch, ProjectionIsTheOneOfTheFormat) {
  const SketchMatrix& pi = sketch_projection();
  EXPECT_EQ(pi[0], -0.43040258f);
  EXPECT_EQ(pi[1], -0.4065058f);
  EXPECT_EQ(pi[2], 0.7516407f);
  EXPECT_EQ(pi[3], 0.78889513f);
  uint64_t hash = 0xcbf29ce484222325;
  for (const float value : pi) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int byte = 0; byte < 4; ++byte) hash = (hash ^ ((bits >> (8 * byte)) & 255)) * 0x100000001b3;
  }
  EXPECT_EQ(hash, 0x038c512bb1c1ca6du);
}

}  // namespace
}  // namespace parlance
