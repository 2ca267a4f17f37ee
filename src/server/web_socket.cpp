#include "server/web_socket.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <deque>

#include "server/call_queue.h"
#include "server/sockets.h"
#include "server/unsent.h"
#include "server/watched_stream.h"
#include "text/unicode.h"

namespace parlance {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kFirstBytes = 512;                  // an idle socket has room for
constexpr size_t kMostBytesMore = size_t{64} << 10;  // while a message comes
constexpr size_t kMostReasonBytes = 123;             // RFC 6455, section 5.5

uint16_t number(SocketCode code) {
  return static_cast<uint16_t>(code);
}

// Valid, and not cut within a character.
std::string short_reason(std::string reason) {
  reason = sanitise_utf8(reason);
  if (reason.size() <= kMostReasonBytes) return reason;
  size_t n = kMostReasonBytes;
  while ((static_cast<unsigned char>(reason[n]) & 0xc0) == 0x80) --n;
  return reason.substr(0, n);
}

struct Leaving {
  enum class Kind : uint8_t { text, binary, close } kind = Kind::text;
  std::string bytes;  // or the reason
  uint16_t code = 0;
};

// Beast checks text as it comes, but not that an empty last fragment ends it within a character.
bool ends_whole(std::string_view text) {
  size_t last = text.size();
  while (last > 0 && text.size() - last < 4) {
    if ((static_cast<unsigned char>(text[--last]) & 0xc0) != 0x80) break;
  }
  return find_invalid_utf8(text.substr(last)) == std::string_view::npos;
}

class BeastSocket final : public WebSocket, public std::enable_shared_from_this<BeastSocket> {
 public:
  BeastSocket(std::shared_ptr<asio::io_context> io, const SocketLimits& limits,
              asio::generic::stream_protocol::socket socket, WebSocketOpening opening)
      : io_(std::move(io)),
        limits_(limits),
        opening_(std::move(opening)),
        stream_(std::move(socket), std::move(opening_.bytes), [this] { check_fragments(); }),
        news_(*io_),
        watch_(*io_) {}

  asio::awaitable<bool> run() override;

  void drain() override {
    is_draining_ = true;
    if (is_open_) opening_.talker->drain();
  }
  void close(SocketCode code, std::string reason) override {
    enqueue({.kind = Leaving::Kind::close, .bytes = std::move(reason), .code = number(code)});
  }
  void cut() override { end(SocketCode::cut); }

  void enqueue(Leaving leaving);
  void hold(bool is_held) {
    is_held_ = is_held;
    tell();
  }
  const std::shared_ptr<Unsent>& unsent() const { return unsent_; }

 private:
  asio::awaitable<bool> shake_hands();
  asio::awaitable<error_code> read_messages();
  asio::awaitable<void> write_all();
  asio::awaitable<void> keep_watch();
  asio::awaitable<void> wait_for_news();
  Clock::time_point look_after();
  void check_fragments();
  void deliver(std::string message);
  void end(SocketCode code);
  uint16_t code_after(error_code error) const;
  void tell() {
    news_.cancel();
    watch_.cancel();
  }

  const std::shared_ptr<asio::io_context> io_;
  const SocketLimits limits_;
  WebSocketOpening opening_;
  websocket::stream<WatchedStream, /*deflateSupported=*/false> stream_;
  asio::steady_timer news_, watch_;

  const std::shared_ptr<Unsent> unsent_ = std::make_shared<Unsent>();
  std::deque<Leaving> queue_;
  std::optional<uint16_t> code_;  // why it ends, once we have said so
  Clock::time_point last_message_ = Clock::now(), last_ping_ = Clock::now(), not_held_since_ = Clock::now();
  std::optional<Clock::time_point> closing_since_;
  bool is_open_ = false, is_closing_ = false, has_ended_ = false;
  bool is_writing_ = false, is_watching_ = false, is_pinging_ = false, is_held_ = false;
  bool is_draining_ = false;
};

class WayBack final : public SocketReply {
 public:
  WayBack(std::shared_ptr<asio::io_context> io, const std::shared_ptr<BeastSocket>& socket)
      : io_(std::move(io)), socket_(socket), unsent_(socket->unsent()) {}

  void send(std::string text) override { post({.kind = Leaving::Kind::text, .bytes = std::move(text)}); }
  void send_binary(std::string bytes) override {
    post({.kind = Leaving::Kind::binary, .bytes = std::move(bytes)});
  }
  void close(uint16_t code, std::string reason) override {
    post({.kind = Leaving::Kind::close, .bytes = std::move(reason), .code = code});
  }
  size_t n_unsent() const override { return unsent_->n_bytes(); }
  void when_taken(std::function<void()> on_taken) override {
    unsent_->when_taken(std::move(on_taken));
    unsent_->tell(Reply::kLittleUnsent, /*at_any_rate=*/socket_.expired());
  }
  void hold(bool is_held) override {
    queue_->post(*io_, [socket = socket_, is_held] {
      if (const auto open = socket.lock()) open->hold(is_held);
    });
  }

 private:
  void post(Leaving leaving) {
    const size_t n = leaving.kind == Leaving::Kind::close ? 0 : leaving.bytes.size();
    unsent_->add(n);
    queue_->post(*io_, [socket = socket_, unsent = unsent_, leaving = std::move(leaving), n]() mutable {
      if (const auto open = socket.lock()) return open->enqueue(std::move(leaving));
      unsent->take(n);
      unsent->tell(Reply::kLittleUnsent, /*at_any_rate=*/true);
    });
  }

  const std::shared_ptr<asio::io_context> io_;
  const std::shared_ptr<CallQueue> queue_ = std::make_shared<CallQueue>();
  const std::weak_ptr<BeastSocket> socket_;
  const std::shared_ptr<Unsent> unsent_;
};

// What is behind a close is dropped.
void BeastSocket::enqueue(Leaving leaving) {
  const bool is_close = leaving.kind == Leaving::Kind::close;
  if (is_closing_ || has_ended_) {
    if (!is_close) unsent_->take(leaving.bytes.size());
    return unsent_->tell(Reply::kLittleUnsent, has_ended_);
  }
  is_closing_ = is_close;
  if (is_close) {
    code_ = leaving.code;
    closing_since_ = Clock::now();
  }
  queue_.push_back(std::move(leaving));
  tell();
  if (is_writing_) return;
  is_writing_ = true;
  asio::co_spawn(
      *io_, [self = shared_from_this()] { return self->write_all(); }, asio::detached);
}

asio::awaitable<void> BeastSocket::write_all() {
  error_code error;
  while (!queue_.empty() && !error && !has_ended_) {
    const Leaving leaving = std::move(queue_.front());
    queue_.pop_front();
    if (leaving.kind == Leaving::Kind::close) {
      closing_since_ = Clock::now();
      tell();
      const websocket::close_reason why(static_cast<websocket::close_code>(leaving.code),
                                        short_reason(leaving.bytes));
      co_await stream_.async_close(why, await_with(error));
      break;
    }
    stream_.text(leaving.kind == Leaving::Kind::text);
    co_await stream_.async_write(asio::buffer(leaving.bytes), await_with(error));
    unsent_->take(leaving.bytes.size());
    unsent_->tell(Reply::kLittleUnsent, false);
  }
  is_writing_ = false;
  tell();
}

asio::awaitable<void> BeastSocket::wait_for_news() {
  error_code ignored;
  news_.expires_after(std::chrono::hours(1));
  co_await news_.async_wait(await_with(ignored));
}

// In no good order: the other side is gone, or does not take what it is sent.
void BeastSocket::end(SocketCode code) {
  if (!code_) code_ = number(code);
  has_ended_ = true;
  stream_.next_layer().close();
  tell();
}

void BeastSocket::check_fragments() {
  if (stream_.next_layer().n_most_fragments() <= limits_.n_fragments || is_closing_) return;
  close(SocketCode::too_large, fmt::format("a message may have {} fragments", limits_.n_fragments));
}

// Does what is due, and yields when something will be.
Clock::time_point BeastSocket::look_after() {
  const auto now = Clock::now();
  const auto stuck_at = stream_.next_layer().stalled_since().value_or(now) + limits_.write_time;
  if (stuck_at <= now) {
    end(SocketCode::policy);
    return now;
  }
  if (closing_since_) {
    const auto closed_at = *closing_since_ + limits_.close_time;
    // What is sent before the close takes its time.
    if (closed_at <= now && queue_.empty()) end(SocketCode::cut);
    return std::min(stuck_at, closed_at <= now ? now + limits_.close_time : closed_at);
  }
  if (is_held_) not_held_since_ = now;
  const auto silent_at = std::max(stream_.next_layer().last_read(), not_held_since_) + limits_.silence_time;
  const auto idle_at = last_message_ + limits_.idle_time;
  if (silent_at <= now) {
    end(SocketCode::cut);
    return now;
  }
  if (idle_at <= now) {
    close(SocketCode::normal, "idle");
    return now + limits_.close_time;
  }
  if (is_open_ && !is_pinging_ && last_ping_ + limits_.ping_time <= now) {
    last_ping_ = now;
    is_pinging_ = true;
    stream_.async_ping({}, [self = shared_from_this()](error_code) { self->is_pinging_ = false; });
  }
  const auto ping_at = std::max(last_ping_ + limits_.ping_time, now + std::chrono::milliseconds(1));
  return std::min({stuck_at, silent_at, idle_at, is_pinging_ ? stuck_at : ping_at});
}

asio::awaitable<void> BeastSocket::keep_watch() {
  while (!has_ended_) {
    const auto next = look_after();
    if (has_ended_) break;
    error_code ignored;
    watch_.expires_at(next);
    co_await watch_.async_wait(await_with(ignored));
  }
  is_watching_ = false;
  news_.cancel();
}

void BeastSocket::deliver(std::string message) {
  last_message_ = Clock::now();
  if (stream_.got_text()) {
    if (!ends_whole(message)) return close(SocketCode::bad_text, "text is UTF-8");
    return opening_.talker->take_text(std::move(message));
  }
  opening_.talker->take_binary(std::move(message));
}

// Until the other side has closed or gone, or we have begun to close: what comes then is Beast's to drop.
asio::awaitable<error_code> BeastSocket::read_messages() {
  error_code error;
  std::string message;
  size_t n = 0;
  while (!error && !is_closing_ && !has_ended_) {
    if (is_held_) {
      co_await wait_for_news();
      continue;
    }
    message.resize(n + std::clamp(n, kFirstBytes, kMostBytesMore));
    n += co_await stream_.async_read_some(asio::buffer(message.data() + n, message.size() - n),
                                          await_with(error));
    if (error || !stream_.is_message_done() || is_closing_) continue;
    message.resize(std::exchange(n, 0));
    deliver(std::exchange(message, {}));
  }
  co_return error;
}

// Beast works the key out; what it needs of the request was checked.
asio::awaitable<bool> BeastSocket::shake_hands() {
  const HttpRequest& request = opening_.request;
  http::request<http::empty_body> asked(http::verb::get, request.target, 11);
  for (const char* name : {"host", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version"}) {
    asked.set(name, std::string(request.field(name)));
  }
  stream_.set_option(websocket::stream_base::decorator([this](websocket::response_type& answer) {
    for (const HttpField& field : opening_.answer.fields) answer.insert(field.name, field.value);
  }));
  stream_.read_message_max(limits_.n_message_bytes);
  stream_.auto_fragment(false);
  error_code error;
  co_await stream_.async_accept(asked, await_with(error));
  co_return !error;
}

uint16_t BeastSocket::code_after(error_code error) const {
  if (code_) return *code_;
  if (error == websocket::error::closed) {
    const uint16_t given = stream_.reason().code;
    return given == websocket::close_code::none ? number(SocketCode::no_code) : given;
  }
  if (error == websocket::error::message_too_big) return number(SocketCode::too_large);
  if (error == websocket::error::bad_frame_payload) return number(SocketCode::bad_text);
  if (error == websocket::condition::protocol_violation) return number(SocketCode::protocol_error);
  return number(SocketCode::cut);
}

asio::awaitable<bool> BeastSocket::run() {
  const auto self = shared_from_this();
  is_watching_ = true;
  asio::co_spawn(
      *io_, [self] { return self->keep_watch(); }, asio::detached);
  const bool is_open = co_await shake_hands() && !has_ended_;
  if (is_open) {
    is_open_ = true;
    last_message_ = Clock::now();
    opening_.talker->opened(std::make_shared<WayBack>(io_, self));
    if (is_draining_) opening_.talker->drain();
    const error_code error = co_await read_messages();
    if (error) code_ = code_after(error);
    while (is_writing_ && !error) co_await wait_for_news();
    is_open_ = false;
  }
  has_ended_ = true;
  stream_.next_layer().close();
  tell();
  while (is_writing_ || is_watching_) co_await wait_for_news();
  for (const Leaving& leaving : std::exchange(queue_, {})) {
    if (leaving.kind != Leaving::Kind::close) unsent_->take(leaving.bytes.size());
  }
  unsent_->tell(Reply::kLittleUnsent, /*at_any_rate=*/true);
  if (is_open) opening_.talker->closed(code_.value_or(number(SocketCode::cut)));
  opening_.talker.reset();
  co_return is_open;
}

}  // namespace

std::shared_ptr<WebSocket> make_web_socket(std::shared_ptr<asio::io_context> io, const SocketLimits& limits,
                                           asio::generic::stream_protocol::socket socket,
                                           WebSocketOpening opening) {
  return std::make_shared<BeastSocket>(std::move(io), limits, std::move(socket), std::move(opening));
}

}  // namespace parlance
