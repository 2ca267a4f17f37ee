// Texts into buffers that programs give.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace parlance::capi {

// As snprintf() does it: cut to what there is room for, always terminated; yields the whole text's length.
inline int32_t copy_terminated(std::string_view text, char* buf, size_t buf_size) {
  if (buf && buf_size > 0) {
    const size_t n = std::min(text.size(), buf_size - 1);
    std::memcpy(buf, text.data(), n);
    buf[n] = '\0';
  }
  return static_cast<int32_t>(std::min<size_t>(text.size(), INT32_MAX));
}

// All of it, not terminated, or nothing and the negative of its length where there is less room.
inline int32_t copy_whole(std::string_view text, char* buf, int32_t room) {
  if (text.size() > INT32_MAX) return INT32_MIN;
  const auto n = static_cast<int32_t>(text.size());
  if (n > room || (n > 0 && !buf)) return -n;
  if (n > 0) std::memcpy(buf, text.data(), text.size());
  return n;
}

}  // namespace parlance::capi
