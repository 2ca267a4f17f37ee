// In how many fragments a message of a WebSocket comes. The library that puts messages together does not say,
// and would take empty ones for ever; this watches the bytes that it is given.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace parlance {

class FragmentCounter {
 public:
  // The next bytes of the connection, behind the handshake.
  void take(std::string_view bytes) {
    while (!bytes.empty()) {
      if (n_payload_ > 0) {
        const size_t n = static_cast<size_t>(std::min<uint64_t>(n_payload_, bytes.size()));
        bytes.remove_prefix(n);
        n_payload_ -= n;
        continue;
      }
      head_[n_head_++] = static_cast<uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      if (n_head_ >= 2 && n_head_ == head_bytes()) begin_frame();
    }
  }

  // Of the message that is coming or came last, at most; it stays with the largest that there was.
  size_t n_most() const { return n_most_; }
  // Whether the other side has closed.
  bool has_close() const { return has_close_; }

 private:
  size_t length_bytes() const {
    const int length = head_[1] & 0x7f;
    return length == 127 ? 8 : length == 126 ? 2 : 0;
  }
  size_t head_bytes() const { return 2 + length_bytes() + ((head_[1] & 0x80) ? 4 : 0); }

  void begin_frame() {
    n_payload_ = length_bytes() == 0 ? head_[1] & 0x7f : 0;
    for (size_t i = 0; i < length_bytes(); ++i) n_payload_ = n_payload_ << 8 | head_[2 + i];
    n_head_ = 0;
    const int opcode = head_[0] & 0x0f;
    has_close_ = has_close_ || opcode == 8;
    if (opcode >= 8) return;  // pings and the like may come in between
    n_ = opcode == 0 ? n_ + 1 : 1;
    n_most_ = std::max(n_most_, n_);
  }

  std::array<uint8_t, 14> head_ = {};  // of the frame that is beginning
  size_t n_head_ = 0;
  uint64_t n_payload_ = 0;  // bytes of the frame that are still to come
  size_t n_ = 0, n_most_ = 0;
  bool has_close_ = false;
};

}  // namespace parlance
