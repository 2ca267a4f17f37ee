#include "server/listener.h"

#include <algorithm>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstring>
#include <filesystem>
#include <list>
#include <thread>

#include "base/log.h"
#include "base/os/machine.h"
#include "server/address_block.h"
#include "server/connection.h"
#include "server/sockets.h"

namespace parlance {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using tcp = asio::ip::tcp;
using StreamProtocol = asio::generic::stream_protocol;
using Acceptor = asio::basic_socket_acceptor<StreamProtocol>;

namespace {

constexpr int kBacklog = 512;
constexpr std::chrono::milliseconds kBeat{500};

std::optional<tcp::endpoint> internet_endpoint(const StreamProtocol::endpoint& endpoint) {
  const int family = endpoint.protocol().family();
  tcp::endpoint result;
  if ((family != AF_INET && family != AF_INET6) || endpoint.size() > result.capacity()) return std::nullopt;
  std::memcpy(result.data(), endpoint.data(), endpoint.size());
  return result;
}

RemoteEnd remote_end(const StreamProtocol::endpoint& endpoint) {
  const auto internet = internet_endpoint(endpoint);
  if (!internet) return {.address = std::string(kSocketFileRemote), .is_loopback = true};
  return {.address = internet->address().to_string(), .is_loopback = internet->address().is_loopback()};
}

// One of the listener's threads, and what it does for its connections.
struct Loop {
  Loop(const ListenerOptions& options, HttpService& service, ConnectionCensus& census)
      : shared{.options = options, .service = service, .census = census} {}

  asio::awaitable<void> beat() {
    while (!shared.census.is_closing) {
      error_code ignored;
      last_beat = Clock::now();
      next_beat.expires_after(kBeat);
      co_await next_beat.async_wait(await_with(ignored));
    }
  }
  // It ends when its connections have.
  void end() {
    asio::post(*shared.io, [this] { next_beat.cancel(); });
    work.reset();
  }
  void start() {
    asio::co_spawn(
        *shared.io, [this] { return beat(); }, asio::detached);
    thread = std::thread([io = shared.io] { io->run(); });
  }

  ConnectionsShared shared;
  std::atomic<Clock::time_point> last_beat{Clock::now()};
  asio::steady_timer next_beat{*shared.io};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(*shared.io);
  std::thread thread;
};

// The file of a socket whose server has ended without taking it away.
void remove_left_behind(const fs::path& path, const StreamProtocol::endpoint& endpoint) {
  error_code error;
  std::error_code ignored;
  if (!fs::is_socket(path, ignored)) return;
  asio::io_context io;
  StreamProtocol::socket probe(io, endpoint.protocol());
  probe.connect(endpoint, error);
  if (error == asio::error::connection_refused) fs::remove(path, ignored);
}

struct Address {
  StreamProtocol::endpoint endpoint;
  fs::path file;  // of a socket in a folder; empty: it is none
};

Result<Address> address_of(const ListenerOptions& options) {
  if (is_socket_file(options.host)) {
    const fs::path path = options.host.substr(kSocketFile.size());
    constexpr size_t kMostPathBytes = 107;  // that the system takes
    if (path.empty() || path.native().size() > kMostPathBytes) {
      return fail(ErrorCode::invalid_argument, "--host: a socket's path has 1 to {} bytes, got '{}'",
                  kMostPathBytes, path.native());
    }
    return Address{asio::local::stream_protocol::endpoint(path.native()), path};
  }
  error_code error;
  const std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (error) {
    return fail(ErrorCode::invalid_argument,
                "--host: '{}' is no address; give one such as 127.0.0.1 or ::1, or unix:/path", options.host);
  }
  return Address{tcp::endpoint(address, options.port), {}};
}

}  // namespace

struct Listener::Impl {
  Impl(const ListenerOptions& given, HttpService& service) : options(given) {
    for (int i = 0; i < options.n_threads; ++i) loops.emplace_back(options, service, census);
    acceptor.emplace(*first().shared.io);
  }

  Result<void> listen();
  asio::awaitable<void> accept_all();
  void welcome(Loop& loop, StreamSocket socket, const StreamProtocol::endpoint& from);
  bool make_room(const RemoteEnd& remote);
  template <class Do>
  void with_connections(Do what);
  Loop& first() { return loops.front(); }

  const ListenerOptions options;
  ConnectionCensus census;
  std::list<Loop> loops;
  fs::path socket_file;

  // Of the first loop.
  struct Known {
    std::weak_ptr<Connection> connection;
    std::shared_ptr<const ConnectionState> state;
    Loop* loop;
  };
  std::list<Known> connections;  // those that are asked to end are no longer among them
  std::optional<Acceptor> acceptor;
};

// Whether one more may come from there; who has been idle for longest makes room.
bool Listener::Impl::make_room(const RemoteEnd& remote) {
  if (!remote.is_loopback && census.n_from(remote.address) >= options.n_connections_of_address) return false;
  std::erase_if(connections, [](const Known& one) { return one.connection.expired(); });
  if (connections.size() < options.n_connections) return true;
  auto oldest = connections.end();
  for (auto one = connections.begin(); one != connections.end(); ++one) {
    if (one->state->is_active) continue;
    if (oldest == connections.end() || one->state->idle_since.load() < oldest->state->idle_since.load())
      oldest = one;
  }
  if (oldest == connections.end()) return false;
  asio::post(*oldest->loop->shared.io, [weak = oldest->connection] {
    if (const auto one = weak.lock()) one->close();
  });
  connections.erase(oldest);
  return true;
}

void Listener::Impl::welcome(Loop& loop, StreamSocket socket, const StreamProtocol::endpoint& from) {
  error_code error;
  const RemoteEnd remote = remote_end(from);
  socket.non_blocking(true, error);
  if (remote.address != kSocketFileRemote) {
    socket.set_option(tcp::no_delay(true), error);
    socket.set_option(asio::socket_base::keep_alive(true), error);
  }
  HttpService& service = loop.shared.service;
  if (!make_room(remote)) {
    HttpAnswer answer = service.refuse(503, "there are too many connections; try again in a second");
    answer.closes = true;
    service.complete({}, answer);
    const std::string bytes = head_text(answer, Framing::length) + answer.body;
    socket.write_some(asio::buffer(bytes), error);
    socket.shutdown(StreamSocket::shutdown_send, error);
    return;
  }
  const auto connection = std::make_shared<Connection>(loop.shared, std::move(socket), remote);
  connections.push_back({connection, connection->state(), &loop});
  asio::co_spawn(
      *loop.shared.io, [connection] { return connection->run(); }, asio::detached);
}

asio::awaitable<void> Listener::Impl::accept_all() {
  asio::steady_timer pause(*first().shared.io);
  for (auto next = loops.begin();;) {
    error_code error;
    StreamProtocol::endpoint from;
    StreamSocket socket(*next->shared.io);
    co_await acceptor->async_accept(socket, from, await_with(error));
    if (census.is_closing) break;  // its thread may have ended
    if (!error) {
      welcome(*next, std::move(socket), from);
      if (++next == loops.end()) next = loops.begin();
    } else {  // no descriptor is left, most likely
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(await_with(error));
    }
  }
}

Result<void> Listener::Impl::listen() {
  PARLANCE_TRY(const Address address, address_of(options));
  if (!address.file.empty()) remove_left_behind(address.file, address.endpoint);
  error_code error;
  acceptor->open(address.endpoint.protocol(), error);
  if (!error && address.file.empty()) acceptor->set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor->bind(address.endpoint, error);
  if (!error && !address.file.empty()) {  // before anybody can connect
    std::error_code why;
    socket_file = address.file;
    fs::permissions(
        socket_file,
        fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::group_write, why);
    error = why;
  }
  if (!error) acceptor->listen(kBacklog, error);
  if (!error) return {};
  if (!address.file.empty()) {
    return fail(ErrorCode::io, "cannot listen on {}: {}; choose another path with --host", options.host,
                error.message());
  }
  return fail(ErrorCode::io, "cannot listen on {} port {}: {}; choose another with --port", options.host,
              options.port, error.message());
}

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Listener>> Listener::open(const ListenerOptions& options, HttpService& service) {
  auto impl = std::make_unique<Impl>(options, service);
  PARLANCE_CHECK(impl->listen());
  if (const size_t n_files = raise_open_files(); n_files > 0 && n_files < 3 * options.n_connections) {
    log_warning("this process may open {} files, and {} connections may need {}; raise the limit (ulimit -n)",
                n_files, options.n_connections, 3 * options.n_connections);
  }
  asio::co_spawn(
      *impl->first().shared.io, [impl = impl.get()] { return impl->accept_all(); }, asio::detached);
  for (Loop& loop : impl->loops) loop.start();
  return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

Listener::~Listener() {
  asio::post(*impl_->first().shared.io, [impl = impl_.get()] {
    impl->census.is_closing = true;
    error_code ignored;
    impl->acceptor->close(ignored);
    impl->with_connections([](Connection& one) { one.close(); });
    for (Loop& loop : impl->loops) loop.end();
  });
  for (Loop& loop : impl_->loops) loop.thread.join();
  std::error_code ignored;
  if (!impl_->socket_file.empty()) fs::remove(impl_->socket_file, ignored);
}

// Of the first loop; each on its own thread.
template <class Do>
void Listener::Impl::with_connections(Do what) {
  for (const Known& known : connections) {
    asio::post(*known.loop->shared.io, [weak = known.connection, what] {
      if (const auto one = weak.lock()) what(*one);
    });
  }
}

void Listener::drain_sockets() {
  asio::post(*impl_->first().shared.io, [impl = impl_.get()] {
    impl->with_connections([](Connection& one) {
      if (one.web_socket()) one.web_socket()->drain();
    });
  });
}

void Listener::close_sockets(SocketCode code, const std::string& reason) {
  asio::post(*impl_->first().shared.io, [impl = impl_.get(), code, reason] {
    impl->with_connections([code, reason](Connection& one) {
      if (one.web_socket()) one.web_socket()->close(code, reason);
    });
  });
}

uint16_t Listener::port() const {
  error_code ignored;
  const auto internet = internet_endpoint(impl_->acceptor->local_endpoint(ignored));
  return internet ? internet->port() : 0;
}

ConnectionCounts Listener::counts() const {
  return {.n_idle = impl_->census.n_idle, .n_active = impl_->census.n_active};
}

std::chrono::milliseconds Listener::longest_silence() const {
  Clock::time_point first = Clock::now();
  const Clock::time_point now = first;
  for (const Loop& loop : impl_->loops) first = std::min(first, loop.last_beat.load());
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - first);
}

}  // namespace parlance
