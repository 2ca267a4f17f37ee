// A WebSocket as those see it who talk over it: messages that come, and the way back. Knows no frames.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace parlance {

// Why a socket ends, as it is told to the other side (RFC 6455, section 7.4.1).
enum class SocketCode : uint16_t {
  normal = 1000,
  going_away = 1001,      // the server ends
  protocol_error = 1002,  // frames that cannot be
  no_code = 1005,         // never sent: the other side closed and did not say why
  cut = 1006,             // never sent: the other side is gone, or silent
  bad_text = 1007,        // no UTF-8
  policy = 1008,          // it reads too slowly, for example
  too_large = 1009,       // a message, or in too many fragments
  internal_error = 1011,
};

// The way back. From any thread; what is sent leaves in order. May be kept for longer than the socket is
// there: what is sent then is dropped.
class SocketReply {
 public:
  virtual ~SocketReply() = default;

  virtual void send(std::string text) = 0;  // one text message, valid UTF-8
  virtual void send_binary(std::string bytes) = 0;
  // Behind what was sent; what is sent later, or comes later, is dropped. The reason is cut to 123 bytes.
  virtual void close(uint16_t code, std::string reason) = 0;

  // Bytes of messages that the system has not taken yet.
  virtual size_t n_unsent() const = 0;
  // Is called once, as soon as there are fewer than Reply::kLittleUnsent of them or the socket has ended;
  // must not wait for anything.
  virtual void when_taken(std::function<void()> on_taken) = 0;

  // Whether nothing more is read for now, so that the other side has to wait. That it leaves is then noticed
  // only when something is sent: at the latest with the next ping.
  virtual void hold(bool is_held) = 0;
};

// Who talks over a socket. Called on the listener's thread, one call at a time: nothing here may take long.
class SocketTalker {
 public:
  virtual ~SocketTalker() = default;

  virtual void opened(std::shared_ptr<SocketReply> reply) = 0;  // the first call
  virtual void take_text(std::string message) = 0;              // valid UTF-8
  virtual void take_binary(std::string message) = 0;
  // The server is about to end: what is under way is finished, nothing new begun, then the socket closed.
  virtual void drain() = 0;
  virtual void closed(uint16_t code) = 0;  // the last call, however the socket ended
};

}  // namespace parlance
