#include "verify/harness.h"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/half.h"
#include "quant/codebook.h"
#include "quant/hadamard.h"
#include "quant/kv_transform.h"
#include "quant/q4_polar.h"
#include "quant/qjl1_256.h"
#include "quant/signs.h"
#include "quant/sketch.h"
#include "quant/tbq.h"
#include "quant/tbq3_tcq.h"
#include "verify/packed_rows.h"

namespace parlance::verify {

namespace {

constexpr std::array<std::string_view, kHarnessFormatCount> kNames = {"turbo3", "turbo4", "turbo3_tcq",
                                                                      "qjl",    "polar",  "polar_qjl"};
constexpr float kLeastLength = 1e-10f;

// How many boundaries are not above v.
template <size_t n>
uint8_t boundaries_up_to(const std::array<float, n>& boundaries, float v) {
  uint8_t code = 0;
  for (const float boundary : boundaries) code = static_cast<uint8_t>(code + (boundary <= v));
  return code;
}

float query_length(const float* x) {
  float squares = 0;
  for (int64_t i = 0; i < kHarnessHead; ++i) squares += x[i] * x[i];
  return std::sqrt(squares);
}

template <class Block>
Block block_at(const std::byte* record, size_t index = 0) {
  Block block;
  std::memcpy(&block, record + index * sizeof block, sizeof block);
  return block;
}

template <class Block>
void append(std::vector<std::byte>& record, const Block& block) {
  record.resize(record.size() + sizeof block);
  std::memcpy(record.data() + record.size() - sizeof block, &block, sizeof block);
}

// ---- turbo3: 128 values share one length, which each block of 32 repeats ----

struct [[gnu::packed]] BlockTurbo3 {
  f16_bits norm;
  uint8_t low_bits[8];   // of code j: bits 2 (j % 4) and one up of byte j / 4
  uint8_t high_bits[4];  // of code j: bit j % 8 of byte j / 8
};
static_assert(sizeof(BlockTurbo3) == 14);

constexpr std::array<float, 8> kTurbo3Centroids = {-0.190685f, -0.117832f, -0.065717f, -0.021460f,
                                                   0.021460f,  0.065717f,  0.117832f,  0.190685f};
constexpr std::array<float, 7> kTurbo3Boundaries = {-0.154259f, -0.091775f, -0.043589f, 0,
                                                    0.043589f,  0.091775f,  0.154259f};

std::vector<std::byte> encode_turbo3(const float* x) {
  const float length = query_length(x);
  const float inverse = length > kLeastLength ? 1 / length : 0;
  float unit[kHarnessHead], rotated[kHarnessHead];
  for (int64_t i = 0; i < kHarnessHead; ++i) unit[i] = x[i] * inverse;
  to_stored(KvTransform::signed_hadamard_128, unit, rotated, kHarnessHead);
  std::array<BlockTurbo3, 4> blocks{};
  float squares = 0;
  for (size_t i = 0; i < kHarnessHead; ++i) {
    BlockTurbo3& block = blocks[i / 32];
    const size_t j = i % 32;
    const uint8_t code = boundaries_up_to(kTurbo3Boundaries, rotated[i]);
    block.low_bits[j / 4] |= static_cast<uint8_t>((code & 3) << (2 * (j % 4)));
    block.high_bits[j / 8] |= static_cast<uint8_t>((code >> 2) << (j % 8));
    squares += kTurbo3Centroids[code] * kTurbo3Centroids[code];
  }
  std::vector<std::byte> record;
  for (BlockTurbo3& block : blocks) {
    block.norm = f16_from_f32(length / std::sqrt(squares));
    append(record, block);
  }
  return record;
}

void decode_turbo3(const std::byte* record, float* y) {
  for (size_t i = 0; i < kHarnessHead; ++i) {
    const auto block = block_at<BlockTurbo3>(record, i / 32);
    const size_t j = i % 32;
    const int low = (block.low_bits[j / 4] >> (2 * (j % 4))) & 3;
    const int high = (block.high_bits[j / 8] >> (j % 8)) & 1;
    y[i] = kTurbo3Centroids[static_cast<size_t>(low | high << 2)] * f32_from_f16(block.norm);
  }
}

// ---- turbo4: the bytes of tbq4_0, codes by a table of boundaries ----

constexpr std::array<float, 15> kTurbo4Boundaries = {
    -2.4003210f, -1.8430149f, -1.4366317f, -1.0988269f, -0.7991727f, -0.5221360f, -0.2580828f, 0,
    0.2580828f,  0.5221360f,  0.7991727f,  1.0988269f,  1.4366317f,  1.8430149f,  2.4003210f};

std::vector<std::byte> encode_turbo4(const float* x) {
  std::vector<std::byte> record;
  for (int64_t first = 0; first < kHarnessHead; first += 32) {
    float y[32];
    to_stored(KvTransform::signed_hadamard_32, x + first, y, 32);
    const float d = root_mean_square(y, 32);
    BlockTbq4_0 block{};
    block.d = f16_from_f32(d);
    for (size_t i = 0; i < 32 && d > 0; ++i) {
      const uint8_t code = boundaries_up_to(kTurbo4Boundaries, y[i] * (1 / d));
      block.codes[i % 16] |= static_cast<uint8_t>(code << (4 * (i / 16)));
    }
    append(record, block);
  }
  return record;
}

void decode_turbo4(const std::byte* record, float* y) {
  for (size_t b = 0; b < 4; ++b) decode_stored(block_at<BlockTbq4_0>(record, b), y + 32 * b);
}

// ---- qjl: the bytes of qjl1_256 with another projection ----

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  float uniform() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return static_cast<float>((z >> 11) & 0xffffff) * 0x1p-24f * 2 - 1;
  }

 private:
  uint64_t state_;
};

// Two normal numbers by the polar method.
template <class Uniform>
std::pair<float, float> gaussian_pair(Uniform uniform) {
  float u, v, square;
  do {
    u = uniform();
    v = uniform();
    square = u * u + v * v;
  } while (square >= 1 || square == 0);
  const float radius = std::sqrt(-2 * std::log(square) / square);
  return {u * radius, v * radius};
}

// [128][256], of the self-test and qjl.json.
const std::vector<float>& harness_projection() {
  static const std::vector<float> projection = [] {
    constexpr uint64_t kSeed = 0xcafebabe12345678;
    SplitMix64 random(kSeed);
    std::vector<float> entries;
    while (entries.size() < kSketchInputs * kSketchOutputs) {
      const auto [a, b] = gaussian_pair([&] { return random.uniform(); });
      entries.insert(entries.end(), {a, b});
    }
    return entries;
  }();
  return projection;
}

std::array<float, kSketchOutputs> harness_sketch(const float* x) {
  const std::vector<float>& pi = harness_projection();
  std::array<float, kSketchOutputs> sketch{};
  for (size_t i = 0; i < kSketchInputs; ++i) {
    for (size_t j = 0; j < sketch.size(); ++j) sketch[j] += x[i] * pi[i * kSketchOutputs + j];
  }
  return sketch;
}

std::vector<std::byte> encode_qjl(const float* x) {
  const auto sketch = harness_sketch(x);
  BlockQjl1_256 block{};
  for (size_t j = 0; j < sketch.size(); ++j) {
    if (sketch[j] > 0) block.signs[j / 8] |= static_cast<uint8_t>(1u << (j % 8));
  }
  block.norm = bf16_from_f32(query_length(x));
  std::vector<std::byte> record;
  append(record, block);
  return record;
}

void decode_qjl(const std::byte* record, float* y) {
  const std::vector<float>& pi = harness_projection();
  float stored[kSketchOutputs];
  decode_stored(block_at<BlockQjl1_256>(record), stored);
  for (size_t i = 0; i < kSketchInputs; ++i) {
    float sum = 0;
    for (size_t j = 0; j < kSketchOutputs; ++j) sum += stored[j] * pi[i * kSketchOutputs + j];
    y[i] = kSketchFactor * sum;
  }
}

// In f32 throughout, as the harness has it: the last digit of its figure is that of this order.
float score_qjl(const float* q, const std::byte* record) {
  const auto sketch = harness_sketch(q);
  const auto block = block_at<BlockQjl1_256>(record);
  float sum = 0;
  for (size_t j = 0; j < sketch.size(); ++j) {
    sum += (block.signs[j / 8] >> (j % 8)) & 1 ? sketch[j] : -sketch[j];
  }
  return kSketchFactor * f32_from_bf16(block.norm) * sum;
}

// ---- polar: q4_polar with ties upwards, and the residual only where it is asked for ----

std::vector<std::byte> encode_polar(const float* x, bool has_residual) {
  double squares = 0;
  for (int64_t i = 0; i < kHarnessHead; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const auto length = static_cast<float>(std::sqrt(squares));
  const float inverse = length > kLeastLength ? 1 / length : 0;
  float v[kHarnessHead];
  for (int64_t i = 0; i < kHarnessHead; ++i) v[i] = x[i] * inverse;
  hadamard(v, kHarnessHead);
  auto boundaries = kPolarBoundaries;
  boundaries[7] = 0;
  BlockQ4Polar block{};
  block.l2 = f16_from_f32(length);
  float side = 0;
  for (size_t i = 0; i < kHarnessHead; ++i) {
    const uint8_t code = boundaries_up_to(boundaries, v[i]);
    block.codes[i / 2] |= static_cast<uint8_t>(code << (4 * (i % 2)));
    side += (v[i] - kPolarCentroids[code]) * kPolarResidual[i];
  }
  if (has_residual && side > 0) block.residual[0] = 1;
  std::vector<std::byte> record;
  append(record, block);
  return record;
}

// The harness adds the residual to the level, and multiplies with the length last.
void decode_polar(const std::byte* record, bool has_residual, float* y) {
  auto block = block_at<BlockQ4Polar>(record);
  const float length = f32_from_f16(block.l2);
  block.l2 = f16_from_f32(1);
  float levels[kHarnessHead];
  decode_stored(block, levels);
  const float step = block.residual[0] & 1 ? kPolarResidualStep : -kPolarResidualStep;
  for (size_t i = 0; i < kHarnessHead && has_residual; ++i) levels[i] += step * kPolarResidual[i];
  from_stored(KvTransform::hadamard_128, levels, y, kHarnessHead);
  for (int64_t i = 0; i < kHarnessHead; ++i) y[i] *= length;
}

}  // namespace

std::string_view name_of(HarnessFormat format) {
  return kNames[static_cast<size_t>(format)];
}

std::optional<HarnessFormat> harness_format_from_name(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<HarnessFormat>(i);
  }
  return std::nullopt;
}

size_t record_bytes(HarnessFormat format) {
  switch (format) {
    case HarnessFormat::turbo3:
      return 4 * sizeof(BlockTurbo3);
    case HarnessFormat::turbo4:
      return 4 * sizeof(BlockTbq4_0);
    case HarnessFormat::turbo3_tcq:
      return sizeof(BlockTbq3Tcq);
    case HarnessFormat::qjl:
      return sizeof(BlockQjl1_256);
    case HarnessFormat::polar:
    case HarnessFormat::polar_qjl:
      break;
  }
  return sizeof(BlockQ4Polar);
}

std::vector<std::byte> encode(HarnessFormat format, const float* x) {
  switch (format) {
    case HarnessFormat::turbo3:
      return encode_turbo3(x);
    case HarnessFormat::turbo4:
      return encode_turbo4(x);
    case HarnessFormat::turbo3_tcq: {
      BlockTbq3Tcq block;
      parlance::encode(x, block);
      std::vector<std::byte> record;
      append(record, block);
      return record;
    }
    case HarnessFormat::qjl:
      return encode_qjl(x);
    case HarnessFormat::polar:
    case HarnessFormat::polar_qjl:
      break;
  }
  return encode_polar(x, format == HarnessFormat::polar_qjl);
}

std::vector<float> decode(HarnessFormat format, const std::byte* record) {
  std::vector<float> y(kHarnessHead);
  switch (format) {
    case HarnessFormat::turbo3:
      decode_turbo3(record, y.data());
      break;
    case HarnessFormat::turbo4:
      decode_turbo4(record, y.data());
      break;
    case HarnessFormat::turbo3_tcq:
      decode_stored(block_at<BlockTbq3Tcq>(record), y.data());
      break;
    case HarnessFormat::qjl:
      decode_qjl(record, y.data());
      break;
    case HarnessFormat::polar:
    case HarnessFormat::polar_qjl:
      decode_polar(record, format == HarnessFormat::polar_qjl, y.data());
      break;
  }
  return y;
}

float score(HarnessFormat format, const float* q, const std::byte* record) {
  if (format == HarnessFormat::qjl) return score_qjl(q, record);
  const std::vector<float> y = decode(format, record);
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(q[i]) * static_cast<double>(y[i]);
  return static_cast<float>(sum);
}

float HarnessRandom::uniform() {
  state_ = state_ * 6364136223846793005 + 1442695040888963407;
  return static_cast<float>((state_ >> 11) & 0xffffff) * 0x1p-24f * 2 - 1;
}

float HarnessRandom::gaussian() {
  if (kept_) return *std::exchange(kept_, std::nullopt);
  const auto [a, b] = gaussian_pair([this] { return uniform(); });
  kept_ = b;
  return a;
}

}  // namespace parlance::verify
