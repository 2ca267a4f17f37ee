// Blocks of addresses, as proxies and networks are named by: "10.0.0.0/8", "fd00::/8", "127.0.0.1"; "unix"
// are those who come through a socket in a folder.
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

  static constexpr int kSocketFiles = -1;  // in place of bits

  Bytes bytes_;
  int n_bits_;
};

bool is_address(std::string_view text);

// A socket in a folder as an address to listen on, "unix:/path": whoever may write its file reaches it.
inline constexpr std::string_view kSocketFile = "unix:";
inline bool is_socket_file(std::string_view address) {
  return address.starts_with(kSocketFile);
}
// What those who come through it are called instead of an address.
inline constexpr std::string_view kSocketFileRemote = "unix";

}  // namespace parlance
