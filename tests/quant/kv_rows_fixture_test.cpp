// Rows that the formats' reference programs encoded and decoded, and queries they prepared.
#include <gtest/gtest.h>

#include <cmath>

#include "quant/hadamard.h"
#include "quant/kv_format.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;

std::vector<float> floats(const json& list) {
  return list.get<std::vector<float>>();
}

double length(const std::vector<float>& x) {
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(squares);
}

// The reference reads sketches without bias.
KvCoding reference_coding(KvFormat format) {
  return {.format = format, .encoder = KvEncoder::compatible, .rotated = false, .least_squares = false};
}

std::string encoded(const KvCoding& coding, const std::vector<float>& x) {
  const auto n = static_cast<int64_t>(x.size());
  std::string bytes(kv_row_bytes(coding.format, n), '\0');
  coding.encode(x.data(), reinterpret_cast<std::byte*>(bytes.data()), n);
  return bytes;
}

std::vector<float> decoded(const KvCoding& coding, const std::string& bytes, size_t n) {
  std::vector<float> x(n);
  coding.decode(reinterpret_cast<const std::byte*>(bytes.data()), x.data(), static_cast<int64_t>(n));
  return x;
}

// Scores as attention computes them: the prepared query times the stored values.
float score(const KvCoding& coding, const std::string& bytes, const std::vector<float>& q) {
  const auto n = static_cast<int64_t>(q.size());
  std::vector<float> prepared(static_cast<size_t>(stored_elements(coding.transform(), n))),
      y(prepared.size());
  to_stored(coding.transform(), q.data(), prepared.data(), n);
  traits(coding.format).decode_stored_row(reinterpret_cast<const std::byte*>(bytes.data()), y.data(), n);
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(prepared[i]) * static_cast<double>(y[i]);
  return static_cast<float>(sum);
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << "element " << i;
}

void check_row(KvFormat format, const json& row, const json& queries) {
  const KvCoding coding = reference_coding(format);
  const std::vector<float> x = floats(row["x"]);
  const std::string bytes = test::from_hex(row["encoded"]);
  if (row["byte_exact"]) {
    EXPECT_EQ(encoded(coding, x), bytes);
  }
  if (!row["finite"]) return;
  const bool is_rotated = row.contains("decoded_unrotated");
  const auto x_length = length(x);
  expect_near(decoded(coding, bytes, x.size()), floats(row[is_rotated ? "decoded_unrotated" : "decoded"]),
              1e-5 * x_length + 1e-30);
  const json& of_size = queries[std::to_string(x.size())];
  for (size_t q = 0; q < of_size.size(); ++q) {
    const std::vector<float> query = floats(of_size[q]);
    const double tolerance = 1e-5 * length(query) * x_length + 1e-30;
    EXPECT_NEAR(score(coding, bytes, query), row["scores"][q].get<float>(), tolerance);
    if (format != KvFormat::q4_polar) continue;
    const KvCoding residual = reference_coding(KvFormat::q4_polar_residual);
    EXPECT_NEAR(score(residual, bytes, query), row["scores_residual"][q].get<float>(), tolerance);
  }
  if (format == KvFormat::q4_polar) {
    expect_near(decoded(reference_coding(KvFormat::q4_polar_residual), bytes, x.size()),
                floats(row["decoded_residual"]), 1e-5 * x_length + 1e-30);
  }
}

TEST(KvRowsFixture, BytesValuesAndScores) {
  PARLANCE_REQUIRE_FIXTURES("kv");
  int n_files = 0;
  for (const auto& path : test::fixture_files("kv", ".json")) {
    const json file = test::read_json(path);
    if (file.value("schema", "") != "kv-rows-1" || file["oracle"] != "fork") continue;
    const auto format = kv_format_from_name(file["format"].get<std::string>());
    if (!format) continue;  // a format that is no cache format here
    ++n_files;
    EXPECT_EQ(traits(*format).block_elements, file["block_elems"].get<uint32_t>());
    EXPECT_EQ(traits(*format).block_bytes, file["block_bytes"].get<uint32_t>());
    for (const json& row : file["rows"]) {
      SCOPED_TRACE(path.filename().string() + " " + row["name"].get<std::string>());
      check_row(*format, row, file["queries"]);
    }
  }
  EXPECT_GE(n_files, 5);
}

std::vector<float> transformed(KvTransform transform, const std::vector<float>& x) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<float> y(static_cast<size_t>(stored_elements(transform, n)));
  to_stored(transform, x.data(), y.data(), n);
  return y;
}

TEST(KvRowsFixture, PreparedQueries) {
  PARLANCE_REQUIRE_FIXTURES("kv");
  for (const auto& path : test::fixture_files("kv", ".json")) {
    const json file = test::read_json(path);
    if (file.value("schema", "") != "kv-prep-1") continue;
    for (const json& row : file["cases"]) {
      SCOPED_TRACE(path.filename().string() + " " + row["head_dim"].dump());
      const std::vector<float> x = floats(row["x"]);
      const auto n = static_cast<int64_t>(x.size());
      const double tolerance = 1e-5 * length(x);
      const auto expect = [&](const char* key, KvTransform transform, float factor) {
        if (!row.contains(key) || row[key].is_null()) return;
        std::vector<float> y = transformed(transform, x);
        for (float& v : y) v *= factor;
        SCOPED_TRACE(key);
        expect_near(y, floats(row[key]), tolerance * static_cast<double>(factor));
      };
      expect("tbq_query", KvTransform::signed_hadamard_32, 1);
      expect("attn_rot_full", KvTransform::hadamard, 1);
      if (n % 128 != 0) continue;
      expect("wht_rotated", KvTransform::signed_hadamard_128, 1);
      expect("hadamard128_unnormalised", KvTransform::hadamard_128, 128);
      expect("qjl_sketch", KvTransform::sketch, 256 / 1.2533141373155003f);
      std::vector<float> back(x.size());
      from_stored(KvTransform::signed_hadamard_128, x.data(), back.data(), n);
      expect_near(back, floats(row["wht_rotated_inverse_of_x"]), tolerance);
    }
  }
}

}  // namespace
}  // namespace parlance
