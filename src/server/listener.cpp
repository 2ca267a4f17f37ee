#include "server/listener.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <list>
#include <thread>

#include "base/log.h"
#include "base/os/machine.h"
#include "server/connection.h"

namespace parlance {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace {

constexpr std::chrono::milliseconds kAcceptPause{50};

}  // namespace

struct Listener::Impl {
  Impl(const ListenerOptions& options, HttpService& service)
      : shared{.options = options, .service = service}, acceptor(*shared.io) {}

  asio::awaitable<void> accept_all();
  void welcome(tcp::socket socket);
  bool make_room(const asio::ip::address& address);
  template <class Do>
  void with_sockets(Do what);

  ConnectionsShared shared;
  std::list<std::weak_ptr<Connection>> connections;
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(*shared.io);
  tcp::acceptor acceptor;
  std::thread thread;
};

// Whether one more may come from there; who has been idle for longest makes room.
bool Listener::Impl::make_room(const asio::ip::address& address) {
  const auto known = shared.n_of_address.find(address);
  const size_t n_here = known == shared.n_of_address.end() ? 0 : known->second;
  if (!address.is_loopback() && n_here >= shared.options.n_connections_of_address) return false;
  std::erase_if(connections, [](const auto& weak) { return weak.expired(); });
  if (connections.size() < shared.options.n_connections) return true;
  std::shared_ptr<Connection> oldest;
  for (const auto& weak : connections) {
    const auto one = weak.lock();
    if (one && !one->is_active() && (!oldest || one->idle_since() < oldest->idle_since())) oldest = one;
  }
  if (oldest) oldest->close();
  return oldest != nullptr;
}

void Listener::Impl::welcome(tcp::socket socket) {
  error_code error;
  const tcp::endpoint remote = socket.remote_endpoint(error);
  if (error) return;
  socket.non_blocking(true, error);
  socket.set_option(tcp::no_delay(true), error);
  socket.set_option(asio::socket_base::keep_alive(true), error);
  if (!make_room(remote.address())) {
    HttpAnswer answer = shared.service.refuse(503, "there are too many connections; try again in a second");
    answer.closes = true;
    shared.service.complete({}, answer);
    const std::string bytes = head_text(answer, Framing::length) + answer.body;
    socket.write_some(asio::buffer(bytes), error);
    socket.shutdown(tcp::socket::shutdown_send, error);
    return;
  }
  const auto connection = std::make_shared<Connection>(shared, std::move(socket), remote.address());
  connections.push_back(connection);
  asio::co_spawn(*shared.io, connection->run(), asio::detached);
}

asio::awaitable<void> Listener::Impl::accept_all() {
  asio::steady_timer pause(*shared.io);
  while (!shared.is_closing) {
    error_code error;
    tcp::socket socket(*shared.io);
    co_await acceptor.async_accept(socket, await_with(error));
    if (!error) {
      welcome(std::move(socket));
    } else if (!shared.is_closing) {  // no descriptor is left, most likely
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(await_with(error));
    }
  }
}

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Listener>> Listener::open(const ListenerOptions& options, HttpService& service) {
  auto impl = std::make_unique<Impl>(options, service);
  error_code error;
  const std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (error) {
    return fail(ErrorCode::invalid_argument, "--host: '{}' is no address; give one such as 127.0.0.1 or ::1",
                options.host);
  }
  const tcp::endpoint endpoint(address, options.port);
  impl->acceptor.open(endpoint.protocol(), error);
  if (!error) impl->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) impl->acceptor.bind(endpoint, error);
  if (!error) impl->acceptor.listen(512, error);
  if (error) {
    return fail(ErrorCode::io, "cannot listen on {} port {}: {}; choose another with --port", host,
                options.port, error.message());
  }
  if (const size_t n_files = raise_open_files(); n_files > 0 && n_files < 3 * options.n_connections) {
    log_warning("this process may open {} files, and {} connections may need {}; raise the limit (ulimit -n)",
                n_files, options.n_connections, 3 * options.n_connections);
  }
  asio::co_spawn(*impl->shared.io, impl->accept_all(), asio::detached);
  impl->thread = std::thread([io = impl->shared.io] { io->run(); });
  return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

Listener::~Listener() {
  asio::post(*impl_->shared.io, [this] {
    impl_->shared.is_closing = true;
    error_code ignored;
    impl_->acceptor.close(ignored);
    for (const auto& weak : impl_->connections) {
      if (const auto one = weak.lock()) one->close();
    }
    impl_->work.reset();  // the loop ends when the connections have
  });
  impl_->thread.join();
}

// On the listener's thread.
template <class Do>
void Listener::Impl::with_sockets(Do what) {
  asio::post(*shared.io, [this, what = std::move(what)] {
    for (const auto& weak : connections) {
      const auto one = weak.lock();
      if (one && one->web_socket()) what(*one->web_socket());
    }
  });
}

void Listener::drain_sockets() {
  impl_->with_sockets([](WebSocket& socket) { socket.drain(); });
}

void Listener::close_sockets(SocketCode code, const std::string& reason) {
  impl_->with_sockets([code, reason](WebSocket& socket) { socket.close(code, reason); });
}

uint16_t Listener::port() const {
  error_code ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

ConnectionCounts Listener::counts() const {
  return {.n_idle = impl_->shared.n_idle, .n_active = impl_->shared.n_active};
}

}  // namespace parlance
