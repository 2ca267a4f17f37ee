// Bytes of files, the lowest of a number first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace parlance {

inline void append_text(std::vector<std::byte>& bytes, std::string_view text) {
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
}

inline void append_number(std::vector<std::byte>& bytes, uint64_t value, int n_bytes) {
  for (int i = 0; i < n_bytes; ++i) bytes.push_back(static_cast<std::byte>(value >> 8 * i));
}

}  // namespace parlance
