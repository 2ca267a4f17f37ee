#include "server/connection.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/random_id.h"
#include "server/sockets.h"

namespace parlance {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kWriteBytes = size_t{64} << 10;  // at once

}  // namespace

Connection::Connection(ConnectionsShared& shared, StreamSocket socket, RemoteEnd remote)
    : shared_(shared),
      socket_(std::move(socket)),
      remote_(std::move(remote)),
      watchdog_(*shared.io),
      news_(*shared.io) {
  shared_.census.enter(remote_.address);
}

Connection::~Connection() {
  shared_.census.leave(remote_.address, state_->is_active);
}

void Connection::close() {
  error_code ignored;
  watchdog_.cancel();
  socket_.close(ignored);
  if (web_socket_) web_socket_->cut();
  leave();
  news_.cancel();
}

// The client has gone, or is taken for gone.
void Connection::leave() {
  has_left_ = true;
  if (outgoing_) outgoing_->leave();
}

void Connection::set_active(bool is_active) {
  if (is_active == state_->is_active) return;
  state_->is_active = is_active;
  ConnectionCensus& census = shared_.census;
  ++(is_active ? census.n_active : census.n_idle);
  --(is_active ? census.n_idle : census.n_active);
  state_->idle_since = Clock::now();
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

asio::awaitable<void> Connection::wait_for_news(std::chrono::milliseconds time) {
  error_code ignored;
  news_.expires_after(time);
  co_await news_.async_wait(await_with(ignored));
}

asio::awaitable<bool> Connection::write_all(std::string bytes) {
  for (size_t n_sent = 0; n_sent < bytes.size();) {
    error_code error;
    arm(shared_.options.write_time);
    n_sent += co_await socket_.async_write_some(asio::buffer(bytes.data() + n_sent, bytes.size() - n_sent),
                                                await_with(error));
    if (error) co_return false;
  }
  watchdog_.cancel();
  co_return true;
}

asio::awaitable<bool> Connection::send_whole(const HttpRequest& request, HttpAnswer answer) {
  shared_.service.complete(request, answer);
  std::string bytes = head_text(answer, Framing::length);
  if (request.method != "HEAD") bytes += answer.body;
  const bool was_sent = co_await write_all(std::move(bytes));
  shared_.service.note(request, answer.status, !was_sent);
  co_return was_sent;
}

// Answers what breaks the rules, and ends the connection.
asio::awaitable<void> Connection::refuse(HttpRequest request, int status, std::string why) {
  is_late_ = false;
  if (request.id.empty()) request.id = random_id("req_");
  HttpAnswer answer = shared_.service.refuse(status, why);
  answer.closes = true;
  if (co_await send_whole(request, std::move(answer))) co_await throw_away();
}

// As many as there are, up to a limit.
asio::awaitable<bool> Connection::send_pieces(Outgoing& outgoing, Framing framing) {
  std::string bytes;
  size_t n_body = 0;
  while (!outgoing.pieces.empty() && bytes.size() < kWriteBytes) {
    const std::string& piece = outgoing.pieces.front();
    n_body += piece.size();
    bytes += framing == Framing::chunks ? chunk_text(piece) : piece;
    outgoing.pieces.pop_front();
  }
  if (!co_await write_all(std::move(bytes))) co_return false;
  outgoing.unsent.take(n_body);
  outgoing.tell(false);
  co_return true;
}

// Sends what is made for a request as it comes. True: the connection may go on.
asio::awaitable<bool> Connection::answer(HttpRequest request, bool is_last) {
  const auto outgoing = outgoing_ = std::make_shared<Outgoing>();
  HttpRequest head = request;  // for the log, and for what every answer has
  head.body.clear();
  const auto on_change = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->news_.cancel();
  };
  shared_.service.serve(std::move(request), make_reply(shared_.io, outgoing, on_change));
  is_watching_ = true;
  asio::co_spawn(*shared_.io, watch(), asio::detached);
  // HTTP/1.0 has no chunks.
  Framing framing = head.version == 10 ? Framing::end_of_connection : Framing::chunks;
  bool has_begun = false, was_sent = false, closes = is_last;
  int status = 0;
  while (!has_left_) {
    if (outgoing->head) {
      HttpAnswer answer = *std::exchange(outgoing->head, std::nullopt);
      shared_.service.complete(head, answer);
      answer.closes = closes = closes || answer.closes || shared_.service.is_draining();
      status = answer.status;
      has_begun = true;
      if (outgoing->is_whole) framing = Framing::length;
      std::string bytes = head_text(answer, framing);
      if (head.method != "HEAD") bytes += answer.body;
      if (!co_await write_all(std::move(bytes))) break;
    } else if (!outgoing->pieces.empty()) {
      if (!co_await send_pieces(*outgoing, framing)) break;
    } else if (!outgoing->has_ended) {
      co_await wait_for_news();
    } else {
      const bool has_end = has_begun && !outgoing->is_broken;
      was_sent = has_end && (framing != Framing::chunks || co_await write_all(std::string(kLastChunk)));
      break;
    }
  }
  shared_.service.note(head, status, !was_sent);
  if (!was_sent) leave();
  outgoing_.reset();
  error_code ignored;
  socket_.cancel(ignored);  // the watch
  while (is_watching_) co_await wait_for_news();
  co_return was_sent && !closes;
}

// Hands the socket over, until it has ended.
asio::awaitable<void> Connection::talk(HttpRequest request, HttpService::Admission admission) {
  watchdog_.cancel();
  HttpAnswer answer{.status = 101, .fields = {}, .body = {}};
  shared_.service.complete(request, answer);
  if (!admission.protocol.empty()) answer.fields.push_back({"sec-websocket-protocol", admission.protocol});
  web_socket_ = make_web_socket(shared_.io, shared_.options.sockets, std::move(socket_),
                                {.request = request,
                                 .answer = std::move(answer),
                                 .bytes = std::exchange(buffer_, {}),
                                 .talker = std::move(admission.talker)});
  const bool was_open = co_await web_socket_->run();
  shared_.service.note(request, 101, !was_open);
}

// A request whose head has been read. True: the connection may go on.
asio::awaitable<bool> Connection::serve(HttpRequest request, bool is_last) {
  HttpService::Admission admission = shared_.service.admit(request);
  if (admission.talker) {
    co_await talk(std::move(request), std::move(admission));
    co_return false;
  }
  if (!admission.refusal) {
    if (co_await read_body(request, admission.n_body_bytes) != Read::done) co_return false;
    watchdog_.cancel();
    co_return co_await answer(std::move(request), is_last);
  }
  HttpAnswer answer = *std::move(admission.refusal);
  if (answer.delay.count() > 0) co_await wait_for_news(answer.delay);
  const bool closes = is_last || answer.closes || has_body(request) || shared_.service.is_draining();
  answer.closes = closes;
  const bool was_sent = co_await send_whole(request, std::move(answer));
  if (was_sent && closes) co_await throw_away();
  co_return was_sent && !closes;
}

asio::awaitable<void> Connection::run() {
  const auto self = shared_from_this();
  for (int n = 1; n <= shared_.options.n_requests_of_connection && !shared_.census.is_closing; ++n) {
    HttpRequest request;
    is_late_ = false;
    if (co_await read_head(request) != Read::done) break;
    set_active(true);
    request.remote_address = remote_.address;
    request.is_loopback = remote_.is_loopback;
    request.began = Clock::now();
    request.id = id_of(request);
    request.notes = std::make_shared<RequestNotes>();
    const bool is_last = wants_close(request) || n == shared_.options.n_requests_of_connection;
    if (!co_await serve(std::move(request), is_last)) break;
    set_active(false);
  }
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  close();
}

}  // namespace parlance
