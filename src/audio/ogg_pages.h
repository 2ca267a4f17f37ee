// Pages of an Ogg file with one packet each. Source: RFC 3533.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace parlance {

class OggPages {
 public:
  static constexpr size_t kMostPacket = 254 * 255;  // bytes that fit into a page

  // `position`: samples up to the end of the packet.
  void add(std::span<const std::byte> packet, int64_t position, bool is_last = false);
  std::vector<std::byte> bytes() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
  uint32_t n_pages_ = 0;
};

}  // namespace parlance
