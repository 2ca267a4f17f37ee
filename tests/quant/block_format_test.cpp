// Every weight format against recorded bytes and values, and its error bounds on random and awkward rows.
#include "quant/block_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "base/half.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

std::vector<DType> encodable_types() {
  std::vector<DType> types;
  for (uint32_t id = 0; id < kDTypeCount; ++id) {
    const std::optional<DType> dtype = dtype_from_id(id);
    if (dtype && block_format(*dtype).encode_row) types.push_back(*dtype);
  }
  return types;
}

std::vector<std::byte> encoded(DType dtype, const std::vector<float>& x) {
  std::vector<std::byte> bytes(row_bytes(dtype, static_cast<int64_t>(x.size())));
  block_format(dtype).encode_row(x.data(), bytes.data(), static_cast<int64_t>(x.size()));
  return bytes;
}

std::vector<float> decoded(DType dtype, std::span<const std::byte> bytes, size_t n) {
  std::vector<float> x(n);
  block_format(dtype).decode_row(bytes.data(), x.data(), static_cast<int64_t>(n));
  return x;
}

TEST(BlockFormat, RecordedBlocksDecodeBitForBit) {
  PARLANCE_REQUIRE_FIXTURES("text/dequant");
  const auto files = test::fixture_files("text/dequant", ".json");
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    const nlohmann::json fixture = test::read_json(file);
    const std::optional<DType> dtype = dtype_from_name(fixture.at("type").get<std::string>());
    ASSERT_TRUE(dtype) << file;
    ASSERT_EQ(static_cast<uint32_t>(*dtype), fixture.at("type_id").get<uint32_t>());
    ASSERT_TRUE(block_format(*dtype).decode_row) << file;
    for (size_t i = 0; i < fixture.at("blocks").size(); ++i) {
      const std::string block = test::from_hex(fixture["blocks"][i]);
      const std::vector<float> expected = floats_of(test::from_hex(fixture.at("floats")[i]));
      ASSERT_EQ(block.size(), row_bytes(*dtype, static_cast<int64_t>(expected.size())));
      const std::vector<float> x = decoded(*dtype, bytes_of(block), expected.size());
      for (size_t j = 0; j < x.size(); ++j) {
        if (std::isnan(expected[j])) {
          EXPECT_TRUE(std::isnan(x[j])) << name_of(*dtype) << " block " << i << " value " << j;
          continue;
        }
        ASSERT_EQ(std::bit_cast<uint32_t>(x[j]), std::bit_cast<uint32_t>(expected[j]))
            << name_of(*dtype) << " block " << i << " value " << j << ": " << x[j] << ", expected "
            << expected[j];
      }
    }
  }
}

TEST(BlockFormat, RecordedRowsEncodeByteForByte) {
  PARLANCE_REQUIRE_FIXTURES("text/quantize");
  const auto files = test::fixture_files("text/quantize", ".json");
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    const nlohmann::json fixture = test::read_json(file);
    for (const auto& [name, rows] : fixture.at("types").items()) {
      const std::optional<DType> dtype = dtype_from_name(name);
      ASSERT_TRUE(dtype) << name;
      ASSERT_TRUE(block_format(*dtype).encode_row) << name;
      for (size_t i = 0; i < rows.size(); ++i) {
        const std::vector<float> x = floats_of(test::from_hex(fixture.at("rows_f32_hex")[i]));
        const std::string expected = test::from_hex(rows[i]);
        const std::vector<std::byte> bytes = encoded(*dtype, x);
        ASSERT_EQ(bytes.size(), expected.size());
        const size_t block_bytes = traits(*dtype).block_bytes;
        for (size_t j = 0; j < bytes.size(); ++j) {
          ASSERT_EQ(std::to_integer<int>(bytes[j]), std::to_integer<int>(bytes_of(expected)[j]))
              << name << " row " << i << " block " << j / block_bytes << " byte " << j % block_bytes;
        }
      }
    }
  }
}

struct ErrorBounds {
  double worst;    // of one value, in units of the largest magnitude of its block
  double typical;  // root mean square on normally distributed values, in units of their deviation
};

// Worst: half a step (a whole one where the end of the range is cut off) and the rounding of the stored step;
// of searched formats, and typical: a tenth to a third above what 4000 rows of normal values gave.
ErrorBounds error_bounds(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {0, 0};
    case DType::f16:
      return {0x1p-11, 3e-4};
    case DType::bf16:
      return {0x1p-8, 2e-3};
    case DType::q8_0:
      return {0.5 / 127 + 0x1p-10, 6e-3};
    case DType::q4_0:
      return {1.0 / 8 + 0x1p-10, 0.095};
    case DType::q5_0:
      return {1.0 / 16 + 0x1p-10, 0.047};
    case DType::q4_1:
      return {1.0 / 15 + 0x1p-9, 0.087};
    case DType::q5_1:
      return {1.0 / 31 + 0x1p-9, 0.042};
    case DType::q2_k:
      return {0.5, 0.33};
    case DType::q3_k:
      return {0.3, 0.17};
    case DType::q4_k:
      return {0.13, 0.079};
    case DType::q5_k:
      return {0.075, 0.04};
    case DType::q6_k:
      return {0.025, 0.02};
    case DType::iq4_nl:
      return {0.16, 0.084};
    case DType::iq4_xs:
      return {0.16, 0.085};
    default:
      ADD_FAILURE() << "no bounds for " << name_of(dtype);
      return {0, 0};
  }
}

TEST(BlockFormat, ErrorsOfRandomRowsAreBounded) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const DType dtype : encodable_types()) {
    const ErrorBounds bounds = error_bounds(dtype);
    const double smallest_half = dtype == DType::f16 ? 0x1p-25 : 0;  // its subnormals are evenly spaced
    double sum_squares = 0;
    int n = 0;
    for (int round = 0; round < 50; ++round) {
      const float scale = std::ldexp(1.0f, round % 10);  // smaller ones have steps that are subnormal halves
      std::vector<float> x(512);
      for (float& value : x) value = scale * normal(random);
      const std::vector<float> y = decoded(dtype, encoded(dtype, x), x.size());
      const size_t block = traits(dtype).block_elements;
      for (size_t start = 0; start < x.size(); start += block) {
        float largest = 0;
        for (size_t i = start; i < start + block; ++i) largest = std::max(largest, std::fabs(x[i]));
        for (size_t i = start; i < start + block; ++i) {
          const double error = std::fabs(y[i] - x[i]);
          ASSERT_LE(error, bounds.worst * largest + smallest_half)
              << name_of(dtype) << " value " << x[i] << " became " << y[i];
          sum_squares += error / scale * error / scale;
          ++n;
        }
      }
    }
    EXPECT_LE(std::sqrt(sum_squares / n), bounds.typical) << name_of(dtype);
  }
}

TEST(BlockFormat, ZerosStayZero) {
  for (const DType dtype : encodable_types()) {
    for (const float y : decoded(dtype, encoded(dtype, std::vector<float>(256, 0.0f)), 256)) {
      ASSERT_EQ(y, 0.0f) << name_of(dtype);
    }
  }
}

// Of equal values the first one sets a minimum and a maximum; 0 and -0 are equal.
TEST(BlockFormat, TheFirstOfEqualExtremesCounts) {
  for (const DType dtype : {DType::q4_1, DType::q5_1}) {
    std::vector<float> x(32, -0.0f);
    x[0] = 0.0f;
    const std::vector<std::byte> bytes = encoded(dtype, x);
    EXPECT_EQ(bytes, std::vector<std::byte>(bytes.size())) << name_of(dtype);
  }
}

TEST(BlockFormat, TinyValuesStayTiny) {
  for (const DType dtype : encodable_types()) {
    for (const float tiny : {std::numeric_limits<float>::denorm_min(), 1e-40f, 1e-30f}) {
      std::vector<float> x(256);
      for (size_t i = 0; i < x.size(); ++i) x[i] = i % 3 == 0 ? tiny : -tiny;
      for (const float y : decoded(dtype, encoded(dtype, x), x.size())) {
        ASSERT_LE(std::fabs(y), 1e-29f) << name_of(dtype) << " of " << tiny;
      }
    }
  }
}

// What no format can hold must not be a fault of the program either; sanitizers watch this test.
TEST(BlockFormat, HugeAndInvalidValuesAreEncodedWithoutFault) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float invalid = std::numeric_limits<float>::quiet_NaN();
  const float largest = std::numeric_limits<float>::max();
  for (const DType dtype : encodable_types()) {
    for (const float odd : {infinity, -infinity, invalid, largest, -largest}) {
      for (const int n_odd : {1, 7, 256}) {
        std::vector<float> x(256);
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 100;
        for (int i = 0; i < n_odd; ++i) x[static_cast<size_t>(i * 37 % 256)] = odd;
        EXPECT_EQ(decoded(dtype, encoded(dtype, x), x.size()).size(), x.size());
      }
    }
  }
}

TEST(BlockFormat, EveryBitPatternDecodesWithoutFault) {
  std::mt19937 random(11);
  for (const DType dtype : encodable_types()) {
    for (int round = 0; round < 50; ++round) {
      std::vector<std::byte> bytes(row_bytes(dtype, 256));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      EXPECT_EQ(decoded(dtype, bytes, 256).size(), 256u);
    }
  }
}

TEST(BlockFormat, BytesNeedNoAlignment) {
  std::mt19937 random(13);
  std::normal_distribution<float> normal;
  std::vector<float> x(256);
  for (float& value : x) value = normal(random);
  for (const DType dtype : encodable_types()) {
    const std::vector<std::byte> aligned = encoded(dtype, x);
    std::vector<std::byte> shifted(aligned.size() + 1);
    block_format(dtype).encode_row(x.data(), shifted.data() + 1, 256);
    ASSERT_EQ(std::memcmp(shifted.data() + 1, aligned.data(), aligned.size()), 0) << name_of(dtype);
    std::vector<float> y(256);
    block_format(dtype).decode_row(shifted.data() + 1, y.data(), 256);
    ASSERT_EQ(y, decoded(dtype, aligned, 256)) << name_of(dtype);
  }
}

TEST(BlockFormat, EncodingWhatWasDecodedKeepsIt) {
  std::mt19937 random(17);
  std::normal_distribution<float> normal;
  std::vector<float> x(256);
  for (float& value : x) value = normal(random);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q5_0}) {
    const std::vector<std::byte> once = encoded(dtype, x);
    EXPECT_EQ(encoded(dtype, decoded(dtype, once, 256)), once) << name_of(dtype);
  }
}

TEST(BlockFormat, TypesWithoutReaderSayNull) {
  for (const DType dtype : {DType::iq1_s, DType::mxfp4, DType::q8_k, DType::i32}) {
    EXPECT_EQ(block_format(dtype).decode_row, nullptr);
    EXPECT_EQ(block_format(dtype).encode_row, nullptr);
  }
}

}  // namespace
}  // namespace parlance
