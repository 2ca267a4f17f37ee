// One socket: requests are read, answered in their order, and the client's leaving is noticed, until one of
// them opens a WebSocket. Everything runs on one of the listener's threads.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "server/head_text.h"
#include "server/listener.h"
#include "server/outgoing.h"
#include "server/sockets.h"
#include "server/web_socket.h"

namespace parlance {

// How many connections a listener has; of all its threads.
class ConnectionCensus {
 public:
  void enter(const std::string& address) {
    ++n_idle;
    const std::lock_guard lock(mutex_);
    ++n_of_address_[address];
  }
  void leave(const std::string& address, bool is_active) {
    --(is_active ? n_active : n_idle);
    const std::lock_guard lock(mutex_);
    const auto known = n_of_address_.find(address);
    if (--known->second == 0) n_of_address_.erase(known);
  }
  size_t n_from(const std::string& address) const {
    const std::lock_guard lock(mutex_);
    const auto known = n_of_address_.find(address);
    return known == n_of_address_.end() ? 0 : known->second;
  }

  std::atomic<int64_t> n_idle{0}, n_active{0};
  std::atomic<bool> is_closing{false};

 private:
  mutable std::mutex mutex_;
  std::map<std::string, size_t> n_of_address_;
};

// What the connections of one thread share.
struct ConnectionsShared {
  const ListenerOptions& options;
  HttpService& service;
  ConnectionCensus& census;
  // What one of them has just read: none needs memory while it waits.
  std::array<char, size_t{64} << 10> read_bytes = {};
  // Shared with those who make answers, who may be later than the listener.
  std::shared_ptr<boost::asio::io_context> io = std::make_shared<boost::asio::io_context>(1);
};

using StreamSocket = boost::asio::generic::stream_protocol::socket;

// Whom a connection is from.
struct RemoteEnd {
  std::string address;       // "127.0.0.1"; "unix" of a socket in a folder
  bool is_loopback = false;  // it is of this machine
};

// What others see of a connection, from any thread.
struct ConnectionState {
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> is_active{false};  // a request is being read or answered
  std::atomic<Clock::time_point> idle_since{Clock::now()};
};
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionsShared& shared, StreamSocket socket, RemoteEnd remote);
  ~Connection();

  boost::asio::awaitable<void> run();
  void close();

  const std::shared_ptr<const ConnectionState> state() const { return state_; }
  WebSocket* web_socket() const { return web_socket_.get(); }  // null: it is none

 private:
  enum class Read { done, closed, refused };

  boost::asio::awaitable<size_t> read_some(size_t n_most = std::string::npos);
  boost::asio::awaitable<Read> read_head(HttpRequest& request);
  boost::asio::awaitable<Read> read_body(HttpRequest& request, size_t n_most);
  boost::asio::awaitable<void> throw_away();
  boost::asio::awaitable<void> watch();

  boost::asio::awaitable<bool> serve(HttpRequest request, bool is_last);
  boost::asio::awaitable<bool> answer(HttpRequest request, bool is_last);
  boost::asio::awaitable<void> talk(HttpRequest request, HttpService::Admission admission);
  boost::asio::awaitable<void> refuse(HttpRequest request, int status, std::string why);
  boost::asio::awaitable<bool> send_whole(const HttpRequest& request, HttpAnswer answer);
  boost::asio::awaitable<bool> send_pieces(Outgoing& outgoing, Framing framing);
  boost::asio::awaitable<bool> write_all(std::string bytes);
  boost::asio::awaitable<void> wait_for_news(std::chrono::milliseconds time = std::chrono::hours(1));
  void arm(std::chrono::milliseconds time);
  void leave();
  void set_active(bool is_active);

  ConnectionsShared& shared_;
  StreamSocket socket_;
  const RemoteEnd remote_;
  boost::asio::steady_timer watchdog_;  // ends what waits for the socket for too long
  boost::asio::steady_timer news_;      // is cancelled when an answer has got on
  std::string buffer_;                  // what came and has not been used
  bool is_late_ = false;                // the watchdog has barked
  bool is_watching_ = false, has_left_ = false;
  const std::shared_ptr<ConnectionState> state_ = std::make_shared<ConnectionState>();
  std::shared_ptr<Outgoing> outgoing_;     // of the answer that is being sent
  std::shared_ptr<WebSocket> web_socket_;  // has the socket, once it was opened
};

}  // namespace parlance
