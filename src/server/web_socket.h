// One WebSocket, from the handshake's answer to its end, within limits. Runs on the listener's thread; Beast
// reads and writes the frames.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "server/listener.h"

namespace parlance {

struct WebSocketOpening {
  HttpRequest request;  // that check_handshake() has let through
  HttpAnswer answer;    // 101: its fields
  std::string bytes;    // what came behind the request
  std::shared_ptr<SocketTalker> talker;
};

class WebSocket {
 public:
  virtual ~WebSocket() = default;

  // Until the socket has ended, in whatever way; the talker has been told then. False: it was never open.
  virtual boost::asio::awaitable<bool> run() = 0;

  virtual void drain() = 0;
  // In good order: what was sent so far leaves before.
  virtual void close(SocketCode code, std::string reason) = 0;
  virtual void cut() = 0;  // at once
};

std::shared_ptr<WebSocket> make_web_socket(std::shared_ptr<boost::asio::io_context> io,
                                           const SocketLimits& limits,
                                           boost::asio::generic::stream_protocol::socket socket,
                                           WebSocketOpening opening);

}  // namespace parlance
