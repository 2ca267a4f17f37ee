// The bytes under a WebSocket: what came behind the handshake's request comes first, fragments are counted,
// and it is known when something last came and for how long nothing has gone.
#pragma once

#include <boost/asio/compose.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "server/fragment_counter.h"

namespace parlance {

// A stream as Asio and Beast understand it. Must outlive what is read and written.
class WatchedStream {
 public:
  using Clock = std::chrono::steady_clock;
  using executor_type = boost::asio::generic::stream_protocol::socket::executor_type;

  // `on_read` is called when bytes have come, before they are handed on.
  WatchedStream(boost::asio::generic::stream_protocol::socket socket, std::string first,
                std::function<void()> on_read)
      : socket_(std::move(socket)), first_(std::move(first)), on_read_(std::move(on_read)) {}

  executor_type get_executor() { return socket_.get_executor(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_compose<Token, void(boost::system::error_code, size_t)>(
        [this, buffers, is_begun = false](auto& self, boost::system::error_code error = {},
                                          size_t n = 0) mutable {
          if (!std::exchange(is_begun, true)) {
            if (first_.empty()) return socket_.async_read_some(buffers, std::move(self));
            n = boost::asio::buffer_copy(buffers, boost::asio::buffer(first_));
            first_.erase(0, n);
            return boost::asio::post(socket_.get_executor(), [self = std::move(self), n]() mutable {
              self(boost::system::error_code(), n);
            });
          }
          if (!error) see(buffers, n);
          self.complete(error, n);
        },
        token, socket_);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_compose<Token, void(boost::system::error_code, size_t)>(
        [this, buffers, is_begun = false](auto& self, boost::system::error_code error = {},
                                          size_t n = 0) mutable {
          if (!std::exchange(is_begun, true)) {
            write_began_ = Clock::now();
            return socket_.async_write_some(buffers, std::move(self));
          }
          write_began_.reset();
          self.complete(error, n);
        },
        token, socket_);
  }

  size_t n_most_fragments() const { return fragments_.n_most(); }
  Clock::time_point last_read() const { return last_read_; }
  // Since when the system has taken nothing of what is being written; none: nothing is.
  std::optional<Clock::time_point> stalled_since() const { return write_began_; }

  void close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  // What Beast asks of a stream when a socket ends: where both sides have closed, all that was sent was read;
  // else what the other side still sends is thrown away until it has seen why.
  template <class Handler>
  friend void async_teardown(boost::beast::role_type role, WatchedStream& stream, Handler&& handler) {
    if (!stream.fragments_.has_close()) {
      boost::beast::websocket::async_teardown(role, stream.socket_, std::forward<Handler>(handler));
      return;
    }
    boost::asio::post(stream.socket_.get_executor(), [handler = std::forward<Handler>(handler)]() mutable {
      handler(boost::system::error_code());
    });
  }
  friend void beast_close_socket(WatchedStream& stream) { stream.close(); }

 private:
  template <class Buffers>
  void see(const Buffers& buffers, size_t n) {
    last_read_ = Clock::now();
    for (auto i = boost::asio::buffer_sequence_begin(buffers);
         n > 0 && i != boost::asio::buffer_sequence_end(buffers); ++i) {
      const boost::asio::mutable_buffer part(*i);
      const size_t n_here = std::min(n, part.size());
      fragments_.take({static_cast<const char*>(part.data()), n_here});
      n -= n_here;
    }
    on_read_();
  }

  boost::asio::generic::stream_protocol::socket socket_;
  std::string first_;
  const std::function<void()> on_read_;
  FragmentCounter fragments_;
  Clock::time_point last_read_ = Clock::now();
  std::optional<Clock::time_point> write_began_;
};

}  // namespace parlance
