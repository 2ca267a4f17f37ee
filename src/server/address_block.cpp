#include "server/address_block.h"

#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>

#include "base/parse_number.h"

namespace parlance {

namespace {

constexpr int kV4Offset = 96;  // bits in front of an address of version 4

struct ParsedAddress {
  std::array<unsigned char, 16> bytes;
  bool is_v4;
};

std::optional<ParsedAddress> parse_address(std::string_view text) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(text), error);
  if (error) return std::nullopt;
  if (!address.is_v4()) return ParsedAddress{address.to_v6().to_bytes(), false};
  return ParsedAddress{
      boost::asio::ip::make_address_v6(boost::asio::ip::v4_mapped, address.to_v4()).to_bytes(), true};
}

}  // namespace

bool is_address(std::string_view text) {
  return parse_address(text).has_value();
}

Result<AddressBlock> AddressBlock::parse(std::string_view text) {
  if (text == kSocketFileRemote) return AddressBlock({}, kSocketFiles);
  const size_t slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  const int most = address && address->is_v4 ? 128 - kV4Offset : 128;
  std::optional<int> n_bits = most;
  if (slash != std::string_view::npos) n_bits = parse_number<int>(text.substr(slash + 1));
  if (!address || !n_bits || *n_bits < 0 || *n_bits > most) {
    return fail(ErrorCode::invalid_argument,
                "'{}' is no block of addresses; give one such as 10.0.0.0/8, or a single address", text);
  }
  return AddressBlock(address->bytes, *n_bits + (address->is_v4 ? kV4Offset : 0));
}

bool AddressBlock::contains(std::string_view address) const {
  if (n_bits_ == kSocketFiles) return address == kSocketFileRemote;
  const auto given = parse_address(address);
  if (!given) return false;
  for (int bit = 0; bit < n_bits_; bit += 8) {
    const int n_more = n_bits_ - bit;
    const auto mask = static_cast<unsigned char>(n_more >= 8 ? 0xff : 0xff << (8 - n_more));
    const auto i = static_cast<size_t>(bit / 8);
    if (((bytes_[i] ^ given->bytes[i]) & mask) != 0) return false;
  }
  return true;
}

}  // namespace parlance
