// One socket: requests are read, answered in their order, and the client's leaving is noticed, until one of
// them opens a WebSocket. Everything runs on the listener's thread.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "server/head_text.h"
#include "server/listener.h"
#include "server/outgoing.h"
#include "server/web_socket.h"

namespace parlance {

// What the connections of a listener share, besides its thread.
struct ConnectionsShared {
  ListenerOptions options;
  HttpService& service;
  std::map<boost::asio::ip::address, size_t> n_of_address = {};
  std::atomic<int64_t> n_idle{0}, n_active{0};
  bool is_closing = false;
  // What one of them has just read: none needs memory while it waits.
  std::array<char, size_t{64} << 10> read_bytes = {};
  // Shared with those who make answers, who may be later than the listener.
  std::shared_ptr<boost::asio::io_context> io = std::make_shared<boost::asio::io_context>(1);
};

inline auto await_with(boost::system::error_code& error) {
  return boost::asio::redirect_error(boost::asio::use_awaitable, error);
}

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ConnectionsShared& shared, boost::asio::ip::tcp::socket socket,
             boost::asio::ip::address address);
  ~Connection();

  boost::asio::awaitable<void> run();
  void close();

  bool is_active() const { return is_active_; }  // a request is being read or answered
  std::chrono::steady_clock::time_point idle_since() const { return idle_since_; }
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
  boost::asio::ip::tcp::socket socket_;
  const boost::asio::ip::address address_;
  boost::asio::steady_timer watchdog_;  // ends what waits for the socket for too long
  boost::asio::steady_timer news_;      // is cancelled when an answer has got on
  std::string buffer_;                  // what came and has not been used
  bool is_late_ = false;                // the watchdog has barked
  bool is_watching_ = false, has_left_ = false;
  bool is_active_ = false;
  std::chrono::steady_clock::time_point idle_since_ = std::chrono::steady_clock::now();
  std::shared_ptr<Outgoing> outgoing_;     // of the answer that is being sent
  std::shared_ptr<WebSocket> web_socket_;  // has the socket, once it was opened
};

}  // namespace parlance
