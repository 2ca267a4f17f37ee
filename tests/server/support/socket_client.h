// A client of WebSockets that sends any bytes, written from RFC 6455, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/support/client.h"

namespace parlance::test {

enum Opcode : uint8_t { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

struct FrameOptions {
  bool is_final = true;
  bool is_masked = true;
  int reserved = 0;                      // bits
  std::optional<int> length_bytes = {};  // 1, 2 or 8: not the shortest form
};

inline std::string frame(int opcode, std::string_view payload, FrameOptions options = {}) {
  std::string bytes(1, static_cast<char>((options.is_final ? 0x80 : 0) | options.reserved << 4 | opcode));
  const int mask_bit = options.is_masked ? 0x80 : 0;
  const size_t n = payload.size();
  const int n_length = options.length_bytes.value_or(n < 126 ? 1 : n < 65536 ? 2 : 8);
  bytes += static_cast<char>(mask_bit | (n_length == 1 ? static_cast<int>(n) : n_length == 2 ? 126 : 127));
  for (int i = n_length == 1 ? 0 : n_length; i-- > 0;) bytes += static_cast<char>(n >> 8 * i & 0xff);
  if (!options.is_masked) return bytes + std::string(payload);
  constexpr char kMask[] = {0x37, '\xfa', 0x21, 0x3d};
  bytes.append(kMask, 4);
  for (size_t i = 0; i < n; ++i) bytes += static_cast<char>(payload[i] ^ kMask[i % 4]);
  return bytes;
}

inline std::string close_frame(int code, std::string_view reason = {}) {
  std::string payload = {static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  return frame(kClose, payload.append(reason));
}

struct Frame {
  int opcode = -1;  // -1: none came
  std::string payload;
  bool is_final = true;

  // Of a close; 0: it has none.
  int code() const {
    if (payload.size() < 2) return 0;
    return static_cast<uint8_t>(payload[0]) << 8 | static_cast<uint8_t>(payload[1]);
  }
};

inline const std::map<std::string, std::string>& handshake_fields() {
  static const std::map<std::string, std::string> fields = {
      {"upgrade", "websocket"},
      {"connection", "keep-alive, Upgrade"},
      {"sec-websocket-version", "13"},
      {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}};
  return fields;
}

class SocketClient {
 public:
  // Asks for a socket; `behind` is sent with the request.
  SocketClient(uint16_t port, const std::string& path, std::map<std::string, std::string> fields = {},
               const std::string& behind = {})
      : client_(port) {
    fields.insert(handshake_fields().begin(), handshake_fields().end());
    client_.send(request_text("GET", path, port, fields) + behind);
  }

  ClientAnswer answer() { return client_.answer(); }
  // Status 101 has no body, and frames follow.
  ClientAnswer opening() { return client_.answer(/*has_body=*/false); }

  Client& bytes() { return client_; }
  void send(std::string_view bytes) { client_.send(bytes); }

  Frame next(int ms = 20000) {
    const std::string head = client_.take(2, ms);
    if (head.size() < 2) return {};
    size_t n = static_cast<uint8_t>(head[1]) & 0x7f;  // what servers send is not masked
    if (static_cast<uint8_t>(head[1]) & 0x80) return {};
    if (n >= 126) {
      const std::string length = client_.take(n == 126 ? 2 : 8, ms);
      n = 0;
      for (const char byte : length) n = n << 8 | static_cast<uint8_t>(byte);
    }
    Frame got{.opcode = head[0] & 0x0f,
              .payload = client_.take(n, ms),
              .is_final = (static_cast<uint8_t>(head[0]) & 0x80) != 0};
    return got.payload.size() == n ? got : Frame{};
  }
  // The next one that is no ping and no pong.
  Frame next_message(int ms = 20000) {
    for (;;) {
      Frame got = next(ms);
      if (got.opcode != kPing && got.opcode != kPong) return got;
    }
  }

 private:
  Client client_;
};

}  // namespace parlance::test
