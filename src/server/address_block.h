// Blocks of addresses, as proxies and networks are named by: "10.0.0.0/8", "fd00::/8", "127.0.0.1".
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace parlance {

class AddressBlock {
 public:
  // Errors: neither an address nor one with the number of bits that count.
  static Result<AddressBlock> parse(std::string_view text);

  // False for what is no address. One of version 4 is the same in the clothes of version 6 (::ffff:10.0.0.1).
  bool contains(std::string_view address) const;

 private:
  using Bytes = std::array<unsigned char, 16>;

  AddressBlock(const Bytes& bytes, int n_bits) : bytes_(bytes), n_bits_(n_bits) {}

  Bytes bytes_;
  int n_bits_;
};

bool is_address(std::string_view text);

}  // namespace parlance
