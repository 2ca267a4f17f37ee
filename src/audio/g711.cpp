#include "audio/g711.h"

#include <algorithm>
#include <bit>

#include "audio/wav_writer.h"

namespace parlance {

namespace {

// A code is a sign, an exponent of three bits and a mantissa of four. The mu-law adds a bias before, so that
// its segments begin at powers of two; it inverts all bits, the A-law every other one.
constexpr int kMuBias = 33, kMuMost = 8158;
constexpr int kAInverted = 0x55, kMuInverted = 0xff, kSign = 0x80;

int decode_mu(int code) {
  code ^= kMuInverted;
  const int exponent = code >> 4 & 7, mantissa = code & 15;
  const int magnitude = ((2 * mantissa + kMuBias) << exponent) - kMuBias;  // of 14 bits
  return 4 * ((code & kSign) != 0 ? -magnitude : magnitude);
}

int encode_mu(int sample) {
  const int value = sample >> 2;  // of 14 bits, rounded down
  const int magnitude = std::min(value < 0 ? -value : value, kMuMost) + kMuBias;
  const int exponent = static_cast<int>(std::bit_width(static_cast<unsigned>(magnitude))) - 6;
  const int mantissa = magnitude >> (exponent + 1) & 15;
  return ((value < 0 ? kSign : 0) | exponent << 4 | mantissa) ^ kMuInverted;
}

int decode_a(int code) {
  code ^= kAInverted;
  const int exponent = code >> 4 & 7, mantissa = code & 15;
  // The first two segments have the same steps. Samples are the middles of steps.
  const int magnitude = exponent == 0 ? 2 * mantissa + 1 : (2 * mantissa + 33) << (exponent - 1);
  return 8 * ((code & kSign) != 0 ? magnitude : -magnitude);
}

int encode_a(int sample) {
  const int value = sample >> 3;  // of 13 bits, rounded down
  const int magnitude = value < 0 ? -value - 1 : value;
  const int exponent = std::max(static_cast<int>(std::bit_width(static_cast<unsigned>(magnitude))) - 5, 0);
  const int mantissa = magnitude >> std::max(exponent, 1) & 15;
  return ((value < 0 ? 0 : kSign) | exponent << 4 | mantissa) ^ kAInverted;
}

}  // namespace

int16_t decode_g711(G711Law law, uint8_t code) {
  return static_cast<int16_t>(law == G711Law::mu ? decode_mu(code) : decode_a(code));
}

uint8_t encode_g711(G711Law law, int16_t sample) {
  return static_cast<uint8_t>(law == G711Law::mu ? encode_mu(sample) : encode_a(sample));
}

void append_g711_samples(G711Law law, std::span<const std::byte> codes, std::vector<float>& samples) {
  samples.reserve(samples.size() + codes.size());
  for (const std::byte code : codes) {
    samples.push_back(static_cast<float>(decode_g711(law, static_cast<uint8_t>(code))) / 32768);
  }
}

void append_g711(G711Law law, std::span<const float> samples, std::vector<std::byte>& codes) {
  codes.reserve(codes.size() + samples.size());
  for (const float sample : samples) {
    codes.push_back(static_cast<std::byte>(encode_g711(law, rounded_s16(sample))));
  }
}

}  // namespace parlance
