// ITU-T G.711, the sound of telephones: one byte a sample at 8 kHz, by the mu-law or the A-law.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parlance {

enum class G711Law : uint8_t { mu, a };

inline constexpr int kG711RateHz = 8000;

// Of one sample in 16 bits, as the Recommendation's tables have them: 14 bits of it count for the mu-law, 13
// for the A-law.
int16_t decode_g711(G711Law law, uint8_t code);
uint8_t encode_g711(G711Law law, int16_t sample);

// Appends the samples, in [-1, 1).
void append_g711_samples(G711Law law, std::span<const std::byte> codes, std::vector<float>& samples);
// Appends the codes of samples, which are rounded to 16 bits first, as append_s16() does.
void append_g711(G711Law law, std::span<const float> samples, std::vector<std::byte>& codes);

}  // namespace parlance
