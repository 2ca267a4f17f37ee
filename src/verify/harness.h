// What elizaOS's verify harness calls turbo3, turbo4, turbo3_tcq, qjl and polar: relatives of the cache
// formats that differ in scale, codes or projection, and in what a query is multiplied with. Readers and
// writers for its fixtures and its self-test; no cache uses them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace parlance::verify {

inline constexpr int64_t kHarnessHead = 128;  // elements of every vector

enum class HarnessFormat : uint8_t { turbo3, turbo4, turbo3_tcq, qjl, polar, polar_qjl };
inline constexpr int kHarnessFormatCount = 6;

std::string_view name_of(HarnessFormat format);  // "turbo3_tcq"
std::optional<HarnessFormat> harness_format_from_name(std::string_view name);
size_t record_bytes(HarnessFormat format);  // of one vector

// Of one vector x [128].
std::vector<std::byte> encode(HarnessFormat format, const float* x);

// What a query is multiplied with as it is, [128]: rotated values for the three turbos, an estimate of x for
// the others.
std::vector<float> decode(HarnessFormat format, const std::byte* record);

// The harness's score of an encoded vector: the plain q times decode(); of qjl from the sketch of q.
float score(HarnessFormat format, const float* q, const std::byte* record);

// Its random numbers: a linear congruential generator, and normal ones by the polar method of Marsaglia in
// f32.
class HarnessRandom {
 public:
  float uniform();  // in [-1, 1)
  float gaussian();

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15;
  std::optional<float> kept_;
};

}  // namespace parlance::verify
