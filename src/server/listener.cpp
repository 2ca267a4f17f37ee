#include "server/listener.h"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <list>
#include <map>
#include <thread>

#include "base/ascii.h"
#include "base/log.h"
#include "base/os/machine.h"
#include "server/http_text.h"
#include "server/random_id.h"

namespace parlance {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kReadBytes = size_t{64} << 10;  // at once
constexpr size_t kReadAhead = size_t{16} << 10;  // of what follows a request that is being answered
constexpr size_t kMostChunkLine = 256;           // of a chunked body, its extensions included
constexpr size_t kMostTrailer = size_t{1} << 10;
constexpr size_t kMostThrownAway = size_t{1} << 20;  // so that a client that is refused sees the answer
constexpr std::chrono::milliseconds kThrowAwayTime{2000};
constexpr std::chrono::milliseconds kAcceptPause{50};

auto await_with(error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

// The path of a target; empty where it names nothing: what is not plain after decoding once.
std::string path_of(std::string_view target) {
  const size_t scheme = target.starts_with('/') ? std::string_view::npos : target.find("://");
  if (scheme != std::string_view::npos) {
    const size_t slash = target.find_first_of("/?#", scheme + 3);
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  target = target.substr(0, target.find_first_of("?#"));
  const std::string small = ascii::lower(target);
  for (const char* refused : {"%00", "%2f", "%5c", "//", "\\"}) {
    if (small.find(refused) != std::string::npos) return {};
  }
  const auto decoded = percent_decoded(target);
  if (!decoded || !decoded->starts_with('/')) return {};
  for (std::string_view rest = *decoded; !rest.empty();) {
    const std::string_view segment = next_of(rest, '/');
    if (segment == "." || segment == "..") return {};
  }
  return *decoded;
}

std::string query_of(std::string_view target) {
  const size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {};
  return std::string(target.substr(mark + 1, target.find('#') - mark - 1));
}

// A head that was checked.
HttpRequest request_of(std::string_view head) {
  HttpRequest request;
  std::string_view line = head.substr(0, head.find("\r\n"));
  head.remove_prefix(line.size() + 2);
  request.method = std::string(next_of(line, ' '));
  request.target = std::string(next_of(line, ' '));
  request.version = line == "HTTP/1.0" ? 10 : 11;
  request.path = path_of(request.target);
  request.query = query_of(request.target);
  while (!head.starts_with("\r\n")) {
    line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(line.size() + 2);
    const size_t colon = line.find(':');
    request.fields.push_back(
        {ascii::lower(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))});
  }
  return request;
}

// The client's own name for it, if that may stand in a head and a log; else one of ours.
std::string id_of(const HttpRequest& request) {
  const std::string_view given = request.field("x-request-id");
  const bool is_plain =
      !given.empty() && given.size() <= 128 && std::all_of(given.begin(), given.end(), [](char c) {
        return ascii::is_letter(c) || ascii::is_digit(c) || c == '.' || c == '_' || c == '-';
      });
  return is_plain ? std::string(given) : random_id("req_");
}

bool wants_close(const HttpRequest& request) {
  std::string value = ascii::lower(request.field("connection"));
  std::string_view rest = value;
  while (!rest.empty()) {
    if (next_of(rest, ',') == "close") return true;
  }
  return request.version == 10;
}

// How the other side knows where a body ends.
enum class Framing { length, chunks, end_of_connection };

std::string head_text(const HttpAnswer& answer, Framing framing) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, reason_of(answer.status));
  for (const HttpField& field : answer.fields) text += fmt::format("{}: {}\r\n", field.name, field.value);
  if (answer.closes) text += "connection: close\r\n";
  if (framing == Framing::length && answer.status != 204) {
    text += fmt::format("content-length: {}\r\n", answer.body.size());
  }
  if (framing == Framing::chunks) text += "transfer-encoding: chunked\r\n";
  return text + "\r\n";
}

std::string chunk_text(std::string_view piece) {
  return fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
}

}  // namespace

class Connection;

struct Listener::Impl {
  Impl(const ListenerOptions& options, HttpService& service)
      : options(options), service(service), acceptor(*io) {}

  asio::awaitable<void> accept_all();
  void welcome(tcp::socket socket);
  bool make_room(const asio::ip::address& address);

  const ListenerOptions options;
  HttpService& service;
  std::list<std::weak_ptr<Connection>> connections;
  std::map<asio::ip::address, size_t> n_of_address;
  std::atomic<int64_t> n_idle{0}, n_active{0};
  bool is_closing = false;
  // Shared with those who make answers, who may be later than the listener.
  const std::shared_ptr<asio::io_context> io = std::make_shared<asio::io_context>(1);
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(*io);
  tcp::acceptor acceptor;
  std::thread thread;
};

// One socket. Everything runs on the listener's thread; what answers come from elsewhere is posted there.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Listener::Impl& owner, tcp::socket socket, asio::ip::address address)
      : owner_(owner),
        socket_(std::move(socket)),
        address_(std::move(address)),
        watchdog_(*owner.io),
        news_(*owner.io) {
    ++owner_.n_idle;
  }
  ~Connection() {
    --(is_active_ ? owner_.n_active : owner_.n_idle);
    if (!--owner_.n_of_address[address_]) owner_.n_of_address.erase(address_);
  }

  asio::awaitable<void> run();
  void close() {
    error_code ignored;
    watchdog_.cancel();
    socket_.close(ignored);
    leave();
    news_.cancel();
  }
  bool is_active() const { return is_active_; }
  Clock::time_point idle_since() const { return idle_since_; }

 private:
  class Way;
  struct Outgoing;
  enum class Read { done, closed, refused };

  asio::awaitable<Read> read_head(HttpRequest& request);
  asio::awaitable<Read> read_body(HttpRequest& request, size_t n_most);
  asio::awaitable<size_t> read_some();
  asio::awaitable<bool> write_all(std::string bytes);
  asio::awaitable<bool> answer(HttpRequest request);
  asio::awaitable<void> refuse(HttpRequest request, int status, std::string why);
  asio::awaitable<bool> send_whole(const HttpRequest& request, HttpAnswer answer);
  asio::awaitable<void> throw_away();
  asio::awaitable<void> wait_for_news(std::chrono::milliseconds time = std::chrono::hours(1));
  asio::awaitable<void> watch();
  void arm(std::chrono::milliseconds time);
  void leave();
  void set_active(bool is_active);

  Listener::Impl& owner_;
  tcp::socket socket_;
  const asio::ip::address address_;
  asio::steady_timer watchdog_;  // ends what waits for the socket for too long
  asio::steady_timer news_;      // is cancelled when an answer has got on
  std::string buffer_;           // what came and has not been used
  bool is_late_ = false;         // the watchdog has barked
  bool is_watching_ = false, has_left_ = false;
  bool is_active_ = false;
  Clock::time_point idle_since_ = Clock::now();
  std::shared_ptr<Outgoing> outgoing_;  // of the answer that is being sent
};

// What is shared with those who make an answer.
struct Connection::Outgoing {
  // Of the listener's thread.
  std::deque<std::string> pieces;
  std::optional<HttpAnswer> head;  // until it was sent
  bool is_whole = false;           // the head has all of the body
  bool has_ended = false, is_broken = false;

  CancellationSource source;
  Cancellation ticket = source.ticket();
  std::atomic<size_t> n_unsent{0};
  std::mutex mutex;
  std::function<void()> on_taken;  // waits to be called

  void tell(bool at_any_rate) {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex);
      if (at_any_rate || n_unsent < Reply::kLittleUnsent) call.swap(on_taken);
    }
    if (call) call();
  }
};

class Connection::Way final : public Reply {
 public:
  Way(std::weak_ptr<Connection> connection, std::shared_ptr<asio::io_context> io,
      std::shared_ptr<Outgoing> outgoing)
      : connection_(std::move(connection)), io_(std::move(io)), outgoing_(std::move(outgoing)) {}
  ~Way() override {
    post([](Outgoing& out) {
      if (out.has_ended) return;
      out.has_ended = out.is_broken = true;
    });
  }

  void send(HttpAnswer answer) override {
    post([answer = std::move(answer)](Outgoing& out) mutable {
      if (out.has_ended) return;
      out.head = std::move(answer);
      out.is_whole = out.has_ended = true;
    });
  }
  void begin(HttpAnswer head) override {
    outgoing_->n_unsent += head.body.size();
    post([head = std::move(head)](Outgoing& out) mutable {
      if (out.has_ended) return;
      if (!head.body.empty()) out.pieces.push_back(std::exchange(head.body, {}));
      out.head = std::move(head);
    });
  }
  void write(std::string piece) override {
    if (piece.empty()) return;
    outgoing_->n_unsent += piece.size();
    post([piece = std::move(piece)](Outgoing& out) mutable {
      if (!out.has_ended) out.pieces.push_back(std::move(piece));
    });
  }
  void end() override {
    post([](Outgoing& out) { out.has_ended = true; });
  }
  void break_off() override {
    post([](Outgoing& out) { out.has_ended = out.is_broken = true; });
  }

  Cancellation ticket() const override { return outgoing_->ticket; }
  size_t n_unsent() const override { return outgoing_->n_unsent; }
  void when_taken(std::function<void()> on_taken) override {
    {
      const std::lock_guard lock(outgoing_->mutex);
      outgoing_->on_taken = std::move(on_taken);
    }
    outgoing_->tell(outgoing_->ticket.cancelled());
  }

 private:
  template <class Change>
  void post(Change change) {
    asio::post(*io_, [connection = connection_, outgoing = outgoing_, change = std::move(change)]() mutable {
      change(*outgoing);
      if (const auto alive = connection.lock()) alive->news_.cancel();
    });
  }

  const std::weak_ptr<Connection> connection_;
  const std::shared_ptr<asio::io_context> io_;
  const std::shared_ptr<Outgoing> outgoing_;
};

void Connection::set_active(bool is_active) {
  if (is_active == is_active_) return;
  is_active_ = is_active;
  ++(is_active ? owner_.n_active : owner_.n_idle);
  --(is_active ? owner_.n_idle : owner_.n_active);
  idle_since_ = Clock::now();
}

void Connection::arm(std::chrono::milliseconds time) {
  watchdog_.expires_after(time);
  watchdog_.async_wait([weak = weak_from_this()](error_code error) {
    const auto self = weak.lock();
    if (error || !self || self->watchdog_.expiry() > Clock::now()) return;
    self->is_late_ = true;
    self->socket_.cancel(error);
  });
}

// The client has gone, or is taken for gone.
void Connection::leave() {
  has_left_ = true;
  if (!outgoing_) return;
  outgoing_->source.cancel();
  outgoing_->tell(true);
}

asio::awaitable<size_t> Connection::read_some() {
  error_code error;
  const size_t before = buffer_.size();
  buffer_.resize(before + kReadBytes);
  const size_t n =
      co_await socket_.async_read_some(asio::buffer(buffer_.data() + before, kReadBytes), await_with(error));
  buffer_.resize(before + (error ? 0 : n));
  co_return error ? 0 : n;
}

asio::awaitable<Connection::Read> Connection::read_head(HttpRequest& request) {
  bool has_begun = !buffer_.empty();
  arm(has_begun ? owner_.options.head_time : owner_.options.idle_time);
  for (;;) {
    while (buffer_.starts_with("\r\n")) buffer_.erase(0, 2);  // what old clients send behind a body
    const auto end = end_of_head(buffer_);
    const std::string_view head = std::string_view(buffer_).substr(0, end.value_or(buffer_.size()));
    const auto refused =
        end ? check_head(head, owner_.options.head) : check_beginning(head, owner_.options.head);
    if (refused) {
      co_await refuse(std::move(request), refused->status, refused->why);
      co_return Read::refused;
    }
    if (end) {
      request = request_of(head);
      buffer_.erase(0, *end);
      co_return Read::done;
    }
    if (!has_begun && !buffer_.empty()) {
      has_begun = true;
      arm(owner_.options.head_time);
    }
    if (co_await read_some() == 0) break;
  }
  if (is_late_ && has_begun) {
    co_await refuse(std::move(request), 408, "the head of the request did not come in time");
    co_return Read::refused;
  }
  co_return Read::closed;
}

asio::awaitable<Connection::Read> Connection::read_body(HttpRequest& request, size_t n_most) {
  const std::string_view length = request.field("content-length");
  const bool is_chunked = request.has_field("transfer-encoding");
  const size_t n_known = length.empty() ? 0 : std::stoull(std::string(length));
  if (!is_chunked && n_known == 0) co_return Read::done;
  const std::string too_large = fmt::format("the body has more than {} bytes; send less", n_most);
  if (n_known > n_most) {
    co_await refuse(std::move(request), 413, too_large);
    co_return Read::refused;
  }
  if (ascii::are_equal(request.field("expect"), "100-continue") && buffer_.empty()) {
    if (!co_await write_all("HTTP/1.1 100 Continue\r\n\r\n")) co_return Read::closed;
  }
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(n_most);
  auto on_chunk = [](uint64_t, boost::beast::string_view extensions, error_code& error) {
    if (extensions.size() > kMostChunkLine) error = http::error::bad_chunk_extension;
  };
  parser.on_chunk_header(on_chunk);
  error_code error;
  // The head was checked and is known; the parser is told what it needs of it.
  const std::string head = is_chunked ? "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                                      : fmt::format("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", n_known);
  parser.put(asio::buffer(head), error);
  if (error == http::error::need_more) error = {};
  const auto deadline = Clock::now() + owner_.options.body_time;
  size_t n_used = 0, n_since = 0;
  arm(owner_.options.body_progress_time);
  while (!parser.is_done() && !error) {
    size_t n = buffer_.empty() ? 0 : parser.put(asio::buffer(buffer_), error);
    buffer_.erase(0, n);
    n_used += n;
    if (error == http::error::need_more) error = {};
    if (error || parser.is_done()) break;
    if (n > 0 && !buffer_.empty()) continue;
    if (is_chunked && buffer_.size() > std::max(kMostChunkLine, kMostTrailer)) {
      error = http::error::bad_chunk;
      break;
    }
    n = co_await read_some();
    if (n == 0 && !is_late_) co_return Read::closed;
    if (is_late_ || Clock::now() > deadline) {
      co_await refuse(std::move(request), 408, "the body of the request did not come in time");
      co_return Read::refused;
    }
    if ((n_since += n) >= kReadBytes) {
      n_since = 0;
      arm(owner_.options.body_progress_time);
    }
  }
  if (error == http::error::body_limit || n_used > 2 * n_most + kReadBytes) {
    co_await refuse(std::move(request), 413, too_large);
    co_return Read::refused;
  }
  if (error) {
    co_await refuse(std::move(request), 400, "the chunks of the body cannot be read");
    co_return Read::refused;
  }
  request.body = std::move(parser.get().body());
  co_return Read::done;
}

asio::awaitable<bool> Connection::write_all(std::string bytes) {
  for (size_t n_sent = 0; n_sent < bytes.size();) {
    error_code error;
    arm(owner_.options.write_time);
    n_sent += co_await socket_.async_write_some(asio::buffer(bytes.data() + n_sent, bytes.size() - n_sent),
                                                await_with(error));
    if (error) co_return false;
  }
  watchdog_.cancel();
  co_return true;
}

asio::awaitable<bool> Connection::send_whole(const HttpRequest& request, HttpAnswer answer) {
  owner_.service.complete(request, answer);
  std::string bytes = head_text(answer, Framing::length);
  if (request.method != "HEAD") bytes += answer.body;
  const bool was_sent = co_await write_all(std::move(bytes));
  owner_.service.note(request, answer.status, !was_sent);
  co_return was_sent;
}

// Answers and closes; what the client is still sending is taken for a moment, since it would not see the
// answer otherwise.
asio::awaitable<void> Connection::refuse(HttpRequest request, int status, std::string why) {
  is_late_ = false;
  if (request.id.empty()) request.id = random_id("req_");
  HttpAnswer answer = owner_.service.refuse(status, why);
  answer.closes = true;
  if (co_await send_whole(request, std::move(answer))) co_await throw_away();
}

asio::awaitable<void> Connection::throw_away() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  arm(kThrowAwayTime);
  for (size_t n_read = 0; n_read < kMostThrownAway;) {
    buffer_.clear();
    const size_t n = co_await read_some();
    if (n == 0) break;
    n_read += n;
  }
}

asio::awaitable<void> Connection::wait_for_news(std::chrono::milliseconds time) {
  error_code ignored;
  news_.expires_after(time);
  co_await news_.async_wait(await_with(ignored));
}

// Reads while an answer is being made: what comes belongs to the next request, and an end says that the
// client has left.
asio::awaitable<void> Connection::watch() {
  const auto self = shared_from_this();
  while (buffer_.size() < kReadAhead && outgoing_ && !has_left_) {
    error_code error;
    const size_t before = buffer_.size();
    std::array<char, 4096> bytes;
    const size_t n = co_await socket_.async_read_some(asio::buffer(bytes), await_with(error));
    if (error == asio::error::operation_aborted) break;
    if (error) {
      leave();
      break;
    }
    buffer_.resize(before);
    buffer_.append(bytes.data(), n);
  }
  is_watching_ = false;
  news_.cancel();
}

asio::awaitable<bool> Connection::answer(HttpRequest request) {
  const auto outgoing = outgoing_ = std::make_shared<Outgoing>();
  HttpRequest head = request;  // for the log, and for what every answer has
  head.body.clear();
  owner_.service.serve(std::move(request), std::make_shared<Way>(weak_from_this(), owner_.io, outgoing));
  is_watching_ = true;
  asio::co_spawn(*owner_.io, watch(), asio::detached);
  bool has_begun = false, was_sent = false, closes = wants_close(head) || owner_.is_closing;
  int status = 0;
  // HTTP/1.0 has no chunks.
  const Framing framing = head.version == 10 ? Framing::end_of_connection : Framing::chunks;
  while (!has_left_) {
    if (outgoing->head) {
      HttpAnswer answer = *std::exchange(outgoing->head, std::nullopt);
      if (answer.delay.count() > 0) co_await wait_for_news(answer.delay);
      owner_.service.complete(head, answer);
      answer.closes = closes = closes || answer.closes || owner_.service.is_draining();
      status = answer.status;
      has_begun = true;
      std::string bytes = head_text(answer, outgoing->is_whole ? Framing::length : framing);
      if (head.method != "HEAD") bytes += answer.body;
      if (!co_await write_all(std::move(bytes))) break;
    } else if (!outgoing->pieces.empty()) {
      std::string bytes;
      size_t n_body = 0;
      while (!outgoing->pieces.empty() && bytes.size() < kReadBytes) {
        const std::string& piece = outgoing->pieces.front();
        n_body += piece.size();
        bytes += framing == Framing::chunks ? chunk_text(piece) : piece;
        outgoing->pieces.pop_front();
      }
      if (!co_await write_all(std::move(bytes))) break;
      outgoing->n_unsent -= n_body;
      outgoing->tell(false);
    } else if (!outgoing->has_ended) {
      co_await wait_for_news();
    } else {
      const bool has_end = has_begun && !outgoing->is_broken;
      const bool wants_mark = !outgoing->is_whole && framing == Framing::chunks;
      was_sent = has_end && (!wants_mark || co_await write_all("0\r\n\r\n"));
      break;
    }
  }
  owner_.service.note(head, status, !was_sent);
  if (!was_sent) leave();
  outgoing_.reset();
  error_code ignored;
  socket_.cancel(ignored);  // the watch
  while (is_watching_) co_await wait_for_news();
  co_return was_sent && !closes;
}

asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  for (int n = 0; n < owner_.options.n_requests_of_connection; ++n) {
    HttpRequest request;
    is_late_ = false;
    if (co_await read_head(request) != Read::done) break;
    set_active(true);
    request.remote_address = address_.to_string();
    request.is_loopback = address_.is_loopback();
    request.began = Clock::now();
    request.id = id_of(request);
    HttpService::Admission admission = owner_.service.admit(request);
    if (admission.refusal) {
      const bool has_body = request.has_field("transfer-encoding") ||
                            (request.has_field("content-length") && request.field("content-length") != "0");
      HttpAnswer answer = *std::move(admission.refusal);
      if (answer.delay.count() > 0) co_await wait_for_news(answer.delay);
      answer.closes = answer.closes || has_body || wants_close(request);
      const bool closes = answer.closes;
      if (!co_await send_whole(request, std::move(answer))) break;
      if (closes) {
        co_await throw_away();
        break;
      }
    } else {
      if (co_await read_body(request, admission.n_body_bytes) != Read::done) break;
      watchdog_.cancel();
      if (!co_await answer(std::move(request))) break;
    }
    set_active(false);
    if (owner_.is_closing || owner_.service.is_draining()) break;
  }
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  close();
}

// Whether one more may come from there; who has been idle for longest makes room.
bool Listener::Impl::make_room(const asio::ip::address& address) {
  const auto known = n_of_address.find(address);
  const size_t n_here = known == n_of_address.end() ? 0 : known->second;
  if (!address.is_loopback() && n_here >= options.n_connections_of_address) return false;
  std::erase_if(connections, [](const auto& weak) { return weak.expired(); });
  if (connections.size() < options.n_connections) return true;
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
  socket.set_option(tcp::no_delay(true), error);
  socket.set_option(asio::socket_base::keep_alive(true), error);
  if (!make_room(remote.address())) {
    HttpAnswer answer = service.refuse(503, "there are too many connections; try again in a second");
    answer.closes = true;
    service.complete({}, answer);
    socket.non_blocking(true, error);
    const std::string bytes = head_text(answer, Framing::length) + answer.body;
    socket.write_some(asio::buffer(bytes), error);
    socket.shutdown(tcp::socket::shutdown_send, error);
    return;
  }
  ++n_of_address[remote.address()];
  const auto connection = std::make_shared<Connection>(*this, std::move(socket), remote.address());
  connections.push_back(connection);
  asio::co_spawn(*io, connection->run(), asio::detached);
}

asio::awaitable<void> Listener::Impl::accept_all() {
  asio::steady_timer pause(*io);
  while (!is_closing) {
    error_code error;
    tcp::socket socket(*io);
    co_await acceptor.async_accept(socket, await_with(error));
    if (!error) {
      welcome(std::move(socket));
    } else if (!is_closing) {  // no descriptor is left, most likely
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
  asio::co_spawn(*impl->io, impl->accept_all(), asio::detached);
  impl->thread = std::thread([io = impl->io] { io->run(); });
  return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

Listener::~Listener() {
  asio::post(*impl_->io, [this] {
    impl_->is_closing = true;
    error_code ignored;
    impl_->acceptor.close(ignored);
    for (const auto& weak : impl_->connections) {
      if (const auto one = weak.lock()) one->close();
    }
    impl_->work.reset();  // the loop ends when the connections have
  });
  impl_->thread.join();
}

uint16_t Listener::port() const {
  error_code ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

ConnectionCounts Listener::counts() const {
  return {.n_idle = impl_->n_idle, .n_active = impl_->n_active};
}

}  // namespace parlance
