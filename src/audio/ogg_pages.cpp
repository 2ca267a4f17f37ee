#include "audio/ogg_pages.h"

#include <array>

#include "audio/little_endian.h"

namespace parlance {

namespace {

// The polynomial 0x04c11db7, bits from the highest on, neither inverted before nor after.
constexpr std::array<uint32_t, 256> kCrc = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i << 24;
    for (int bit = 0; bit < 8; ++bit) value = value << 1 ^ (value >> 31 ? 0x04c11db7 : 0);
    table[i] = value;
  }
  return table;
}();

}  // namespace

void OggPages::add(std::span<const std::byte> packet, int64_t position, bool is_last) {
  const size_t begin = bytes_.size();
  append_text(bytes_, "OggS");
  constexpr uint64_t kFirst = 2, kLast = 4;
  append_number(bytes_, 0, 1);  // version
  append_number(bytes_, (n_pages_ == 0 ? kFirst : 0) | (is_last ? kLast : 0), 1);
  append_number(bytes_, static_cast<uint64_t>(position), 8);
  append_number(bytes_, 1, 4);  // the stream
  append_number(bytes_, n_pages_++, 4);
  const size_t crc_at = bytes_.size();
  append_number(bytes_, 0, 4);
  const size_t n_segments = packet.size() / 255 + 1;
  append_number(bytes_, n_segments, 1);
  for (size_t i = 0; i + 1 < n_segments; ++i) append_number(bytes_, 255, 1);
  append_number(bytes_, packet.size() % 255, 1);
  bytes_.insert(bytes_.end(), packet.begin(), packet.end());
  uint32_t crc = 0;
  for (size_t i = begin; i < bytes_.size(); ++i)
    crc = crc << 8 ^ kCrc[crc >> 24 ^ std::to_integer<uint32_t>(bytes_[i])];
  for (size_t i = 0; i < 4; ++i) bytes_[crc_at + i] = static_cast<std::byte>(crc >> (8 * i));
}

}  // namespace parlance
