#include "server/wyoming_door.h"

#include <array>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <thread>

#include "base/log.h"
#include "base/parse_number.h"
#include "server/address_block.h"
#include "server/call_queue.h"
#include "server/gate.h"
#include "server/sockets.h"
#include "server/unsent.h"

namespace parlance {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using DoorClock = std::chrono::steady_clock;

namespace {

constexpr size_t kLittleUnsent = size_t{64} << 10;
constexpr std::chrono::milliseconds kFarewellTime{1000};

struct DoorShared {
  WyomingDoorOptions options;
  const WyomingServices& services;
  WyomingDoor::OnEvent on_event;
  std::vector<AddressBlock> allowed = {};
  std::atomic<int64_t> n_connections{0}, n_at_work{0};
  bool is_draining = false;
  std::array<char, size_t{64} << 10> read_bytes = {};  // what one of them has just read
  std::shared_ptr<asio::io_context> io = std::make_shared<asio::io_context>(1);
  JobThreads threads = {};  // end before all else does
};

std::string_view known_type(std::string_view type) {
  constexpr std::array kTypes = {"describe",
                                 "ping",
                                 "transcribe",
                                 "audio-start",
                                 "audio-chunk",
                                 "audio-stop",
                                 "synthesize",
                                 "synthesize-start",
                                 "synthesize-chunk",
                                 "synthesize-stop",
                                 "transcript",
                                 "recognize",
                                 "detect"};
  const auto found = std::find(kTypes.begin(), kTypes.end(), type);
  return found == kTypes.end() ? "other" : *found;
}

class DoorConnection final : public std::enable_shared_from_this<DoorConnection> {
 public:
  DoorConnection(DoorShared& shared, tcp::socket socket)
      : shared_(shared), socket_(std::move(socket)), news_(*shared.io), watch_(*shared.io) {
    ++shared_.n_connections;
  }
  ~DoorConnection() { --shared_.n_connections; }

  asio::awaitable<void> run();
  void cut() {
    has_gone_ = true;
    error_code ignored;
    socket_.close(ignored);
    if (session_) session_->cut();
    unsent_->tell(kLittleUnsent, /*at_any_rate=*/true);
    tell();
  }
  // A connection without a request ends; one with a request when that is done.
  void drain() { stop_reading(); }

 private:
  class Sink;

  asio::awaitable<bool> read_some();
  asio::awaitable<void> write_all();
  asio::awaitable<void> throw_away();
  asio::awaitable<void> keep_watch();
  asio::awaitable<void> wait_for_news();
  std::optional<DoorClock::time_point> deadline() const;
  void take_events();
  void enqueue(std::string bytes);
  void count_work();
  void tell() {
    news_.cancel();
    watch_.cancel();
  }
  void stop_reading() {
    has_ended_ = true;
    stop_reading_.emit(asio::cancellation_type::terminal);
    tell();
  }

  DoorShared& shared_;
  tcp::socket socket_;
  asio::steady_timer news_, watch_;
  asio::cancellation_signal stop_reading_;
  WyomingReader reader_;
  std::shared_ptr<WyomingSession> session_;
  const std::shared_ptr<Unsent> unsent_ = std::make_shared<Unsent>();
  std::deque<std::string> queue_;
  DoorClock::time_point last_read_ = DoorClock::now(), event_began_ = DoorClock::now();
  std::optional<DoorClock::time_point> write_began_, ends_at_;
  bool is_writing_ = false, is_watching_ = false, is_at_work_ = false;
  bool is_closing_ = false;  // behind what is in the queue
  bool has_ended_ = false;   // nothing more is read
  bool has_gone_ = false;
};

class DoorConnection::Sink final : public WyomingSink {
 public:
  Sink(std::shared_ptr<asio::io_context> io, const std::shared_ptr<DoorConnection>& connection)
      : io_(std::move(io)), connection_(connection), unsent_(connection->unsent_) {}

  void send(std::string bytes) override {
    const size_t n = bytes.size();
    unsent_->add(n);
    queue_->post(*io_, [weak = connection_, unsent = unsent_, bytes = std::move(bytes), n]() mutable {
      if (const auto open = weak.lock(); open && !open->has_gone_) return open->enqueue(std::move(bytes));
      unsent->take(n);
      unsent->tell(kLittleUnsent, /*at_any_rate=*/true);
    });
  }
  void close() override {
    queue_->post(*io_, [weak = connection_] {
      const auto open = weak.lock();
      if (!open) return;
      open->is_closing_ = true;
      open->stop_reading();
    });
  }
  size_t n_unsent() const override { return unsent_->n_bytes(); }
  void when_taken(std::function<void()> on_taken) override {
    unsent_->when_taken(std::move(on_taken));
    // In the connection's turn, so that its end is not missed.
    queue_->post(*io_, [weak = connection_, unsent = unsent_] {
      const auto open = weak.lock();
      unsent->tell(kLittleUnsent, /*at_any_rate=*/!open || open->has_gone_);
    });
  }
  void post(std::function<void()> call) override {
    queue_->post(*io_, [weak = connection_, call = std::move(call)] {
      call();
      if (const auto open = weak.lock()) {
        open->count_work();
        open->tell();
      }
    });
  }

 private:
  const std::shared_ptr<asio::io_context> io_;
  const std::shared_ptr<CallQueue> queue_ = std::make_shared<CallQueue>();
  const std::weak_ptr<DoorConnection> connection_;
  const std::shared_ptr<Unsent> unsent_;
};

void DoorConnection::count_work() {
  const bool is_at_work = session_ && session_->is_at_work() && !has_gone_;
  if (is_at_work == is_at_work_) return;
  is_at_work_ = is_at_work;
  shared_.n_at_work += is_at_work ? 1 : -1;
  if (!is_at_work) last_read_ = DoorClock::now();  // from now on it is idle
}

asio::awaitable<void> DoorConnection::wait_for_news() {
  error_code ignored;
  news_.expires_after(std::chrono::hours(1));
  co_await news_.async_wait(await_with(ignored));
}

void DoorConnection::enqueue(std::string bytes) {
  queue_.push_back(std::move(bytes));
  if (is_writing_) return;
  is_writing_ = true;
  asio::co_spawn(
      *shared_.io, [self = shared_from_this()] { return self->write_all(); }, asio::detached);
}

asio::awaitable<void> DoorConnection::write_all() {
  while (!queue_.empty() && !has_gone_) {
    const std::string bytes = std::move(queue_.front());
    queue_.pop_front();
    for (size_t n_sent = 0; n_sent < bytes.size() && !has_gone_;) {
      error_code error;
      write_began_ = DoorClock::now();
      watch_.cancel();
      n_sent += co_await socket_.async_write_some(asio::buffer(bytes.data() + n_sent, bytes.size() - n_sent),
                                                  await_with(error));
      write_began_.reset();
      if (error) cut();
    }
    unsent_->take(bytes.size());
    unsent_->tell(kLittleUnsent, has_gone_);
  }
  for (const std::string& bytes : std::exchange(queue_, {})) unsent_->take(bytes.size());
  is_writing_ = false;
  tell();
}

// When this connection is cut if nothing happens; none: as long as its request takes.
std::optional<DoorClock::time_point> DoorConnection::deadline() const {
  const WyomingDoorOptions& options = shared_.options;
  if (ends_at_) return ends_at_;
  if (write_began_) return *write_began_ + options.write_time;
  if (has_ended_) return last_read_ + options.end_time;
  if (!session_->wants_more()) return std::nullopt;
  if (reader_.is_within_event()) return event_began_ + options.event_time;
  if (session_->is_within_input()) return last_read_ + options.input_time;
  if (session_->is_at_work()) return std::nullopt;
  return last_read_ + options.idle_time;
}

asio::awaitable<void> DoorConnection::keep_watch() {
  while (!has_gone_) {
    const auto due = deadline();
    if (due && *due <= DoorClock::now()) {
      cut();
      break;
    }
    error_code ignored;
    watch_.expires_at(due.value_or(DoorClock::now() + std::chrono::hours(1)));
    co_await watch_.async_wait(await_with(ignored));
  }
  is_watching_ = false;
  news_.cancel();
}

// False: the client sends nothing more.
asio::awaitable<bool> DoorConnection::read_some() {
  error_code error;
  co_await socket_.async_wait(tcp::socket::wait_read,
                              asio::bind_cancellation_slot(stop_reading_.slot(), await_with(error)));
  if (error) co_return false;
  auto& bytes = shared_.read_bytes;
  const size_t n = socket_.read_some(asio::buffer(bytes), error);
  if (error == asio::error::would_block) co_return true;
  if (error == asio::error::eof) co_return false;
  if (error) {
    cut();
    co_return false;
  }
  last_read_ = DoorClock::now();
  if (!reader_.is_within_event()) event_began_ = last_read_;
  reader_.push({bytes.data(), n});
  co_return true;
}

void DoorConnection::take_events() {
  while (!session_->is_over()) {
    auto event = reader_.next();
    if (!event) return session_->fail(event.error(), reader_.has_head());
    if (!*event) return;
    event_began_ = DoorClock::now();
    if (shared_.on_event) shared_.on_event(known_type((*event)->type));
    session_->take(**std::move(event));
  }
}

// What the client is still sending is taken for a moment, since it would not see what it was told otherwise.
asio::awaitable<void> DoorConnection::throw_away() {
  error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  ends_at_ = DoorClock::now() + kFarewellTime;
  watch_.cancel();
  for (size_t n_read = 0; !error && n_read < kMostThrownAway;) {
    co_await socket_.async_wait(tcp::socket::wait_read, await_with(error));
    if (error) break;
    n_read += socket_.read_some(asio::buffer(shared_.read_bytes), error);
    if (error == asio::error::would_block) error = {};
  }
}

asio::awaitable<void> DoorConnection::run() {
  const auto self = shared_from_this();
  session_ = std::make_shared<WyomingSession>(std::make_shared<Sink>(shared_.io, self), shared_.services,
                                              shared_.threads);
  session_->when_room([io = shared_.io, weak = weak_from_this()] {
    asio::post(*io, [weak] {
      if (const auto open = weak.lock()) open->tell();
    });
  });
  if (shared_.is_draining) drain();
  is_watching_ = true;
  asio::co_spawn(
      *shared_.io, [self] { return self->keep_watch(); }, asio::detached);
  while (!has_gone_ && !has_ended_ && !session_->is_over()) {
    if (!session_->wants_more()) {
      co_await wait_for_news();
      continue;
    }
    if (!co_await read_some()) break;
    take_events();
    count_work();
    watch_.cancel();
  }
  last_read_ = DoorClock::now();
  has_ended_ = true;
  if (!has_gone_ && !session_->is_over()) session_->end_input();
  count_work();
  watch_.cancel();
  while (!has_gone_ && (!is_closing_ || is_writing_ || !queue_.empty())) co_await wait_for_news();
  co_await throw_away();
  cut();
  count_work();
  while (is_writing_ || is_watching_) co_await wait_for_news();
}

}  // namespace

struct WyomingDoor::Impl {
  Impl(const WyomingDoorOptions& options, const WyomingServices& services, OnEvent on_event)
      : shared{.options = options, .services = services, .on_event = std::move(on_event)},
        acceptor(*shared.io) {}

  asio::awaitable<void> accept_all();
  void welcome(tcp::socket socket);
  template <class Do>
  void with_all(Do what) {
    for (const auto& weak : connections) {
      if (const auto one = weak.lock()) what(*one);
    }
  }

  DoorShared shared;
  std::list<std::weak_ptr<DoorConnection>> connections;
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(*shared.io);
  tcp::acceptor acceptor;
  bool is_closing = false;
  std::thread thread;
};

void WyomingDoor::Impl::welcome(tcp::socket socket) {
  error_code error;
  const auto remote = socket.remote_endpoint(error);
  if (error) return;
  const std::string address = remote.address().to_string();
  const bool is_allowed = remote.address().is_loopback() ||
                          std::any_of(shared.allowed.begin(), shared.allowed.end(),
                                      [&](const AddressBlock& block) { return block.contains(address); });
  std::erase_if(connections, [](const auto& weak) { return weak.expired(); });
  if (!is_allowed || connections.size() >= shared.options.n_connections) return;
  socket.non_blocking(true, error);
  socket.set_option(tcp::no_delay(true), error);
  const auto connection = std::make_shared<DoorConnection>(shared, std::move(socket));
  connections.push_back(connection);
  asio::co_spawn(
      *shared.io, [connection] { return connection->run(); }, asio::detached);
}

asio::awaitable<void> WyomingDoor::Impl::accept_all() {
  asio::steady_timer pause(*shared.io);
  for (;;) {
    error_code error;
    tcp::socket socket(*shared.io);
    co_await acceptor.async_accept(socket, await_with(error));
    if (is_closing) break;
    if (!error) {
      welcome(std::move(socket));
    } else {  // no descriptor is left, most likely
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(await_with(error));
    }
  }
}

namespace {

Result<std::vector<AddressBlock>> blocks_of(const std::vector<std::string>& texts) {
  std::vector<AddressBlock> blocks;
  for (const std::string& text : texts) {
    auto block = AddressBlock::parse(text);
    if (!block) return fail(ErrorCode::invalid_argument, "--wyoming-allow: {}", block.error().message);
    blocks.push_back(*block);
  }
  return blocks;
}

}  // namespace

Result<WyomingDoorOptions> wyoming_door_options(const std::string& text, std::vector<std::string> allowed) {
  WyomingDoorOptions options;
  const size_t colon = text.rfind(':');
  const auto port =
      colon == std::string::npos ? std::nullopt : parse_number<uint16_t>(text.substr(colon + 1));
  options.host = text.substr(0, std::min(colon, text.size()));
  if (options.host.size() > 2 && options.host.front() == '[' && options.host.back() == ']') {
    options.host = options.host.substr(1, options.host.size() - 2);
  }
  if (options.host == "localhost") options.host = "127.0.0.1";
  error_code error;
  asio::ip::make_address(options.host, error);
  if (error || !port) {
    return fail(ErrorCode::invalid_argument,
                "--wyoming: '{}' is not HOST:PORT; give one such as 127.0.0.1:10300", text);
  }
  options.port = *port;
  options.allowed = std::move(allowed);
  if (!is_loopback_address(options.host) && options.allowed.empty()) {
    return fail(ErrorCode::invalid_argument,
                "--wyoming: the protocol has no keys, and other machines reach {}; say which may ask with "
                "--wyoming-allow, such as 192.168.0.0/16",
                options.host);
  }
  PARLANCE_CHECK(blocks_of(options.allowed));
  return options;
}

WyomingDoor::WyomingDoor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<WyomingDoor>> WyomingDoor::open(const WyomingDoorOptions& options,
                                                       const WyomingServices& services, OnEvent on_event) {
  auto impl = std::make_unique<Impl>(options, services, std::move(on_event));
  PARLANCE_TRY(impl->shared.allowed, blocks_of(options.allowed));
  error_code error;
  const tcp::endpoint endpoint(asio::ip::make_address(options.host, error), options.port);
  if (!error) impl->acceptor.open(endpoint.protocol(), error);
  if (!error) impl->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) impl->acceptor.bind(endpoint, error);
  if (!error) impl->acceptor.listen(64, error);
  if (error) {
    return fail(ErrorCode::io, "--wyoming: cannot listen on {} port {}: {}; choose another", options.host,
                options.port, error.message());
  }
  asio::co_spawn(*impl->shared.io, impl->accept_all(), asio::detached);
  impl->thread = std::thread([io = impl->shared.io] { io->run(); });
  return std::unique_ptr<WyomingDoor>(new WyomingDoor(std::move(impl)));
}

WyomingDoor::~WyomingDoor() {
  asio::post(*impl_->shared.io, [this] {
    impl_->is_closing = true;
    error_code ignored;
    impl_->acceptor.close(ignored);
    impl_->with_all([](DoorConnection& one) { one.cut(); });
    impl_->work.reset();  // the loop ends when the connections have
  });
  impl_->thread.join();
  // What was cut tells its connection that it has ended.
  impl_->shared.threads.wait();
  impl_->shared.io->restart();
  impl_->shared.io->poll();
}

uint16_t WyomingDoor::port() const {
  error_code ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

int64_t WyomingDoor::n_connections() const {
  return impl_->shared.n_connections;
}

int64_t WyomingDoor::n_at_work() const {
  return impl_->shared.n_at_work;
}

void WyomingDoor::drain() {
  asio::post(*impl_->shared.io, [this] {
    impl_->shared.is_draining = true;
    impl_->with_all([](DoorConnection& one) { one.drain(); });
  });
}

}  // namespace parlance
