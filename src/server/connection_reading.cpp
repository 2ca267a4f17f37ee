// What comes from the client: heads and bodies of requests, within their limits, and its leaving.
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/ascii.h"
#include "server/connection.h"
#include "server/sockets.h"

namespace parlance {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

namespace {

constexpr size_t kProgressBytes = size_t{64} << 10;  // of a body, before its time of progress begins anew
constexpr size_t kReadAhead = size_t{16} << 10;      // of what follows a request that is being answered
constexpr size_t kMostChunkLine = 256;               // of a chunked body, its extensions included
constexpr size_t kMostTrailer = size_t{1} << 10;
constexpr std::chrono::milliseconds kThrowAwayTime{2000};

// 0 where the head does not say. It was checked to be a number of at most 18 digits.
size_t length_of(const HttpRequest& request) {
  const std::string_view length = request.field("content-length");
  return length.empty() ? 0 : std::stoull(std::string(length));
}

// Puts a body together from what comes of it, by the length or the coding that its head has.
class BodyParser {
 public:
  BodyParser(const HttpRequest& request, size_t n_most)
      : is_chunked_(request.has_field("transfer-encoding")), n_most_(n_most) {
    parser_.eager(true);
    parser_.body_limit(n_most);
    parser_.on_chunk_header(on_chunk_);
    // The head was checked and is known; the parser is told what it needs of it.
    const std::string head =
        is_chunked_ ? "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                    : fmt::format("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n", length_of(request));
    put(head);
  }

  // Takes what belongs to the body, as far as that can be said.
  void take(std::string& bytes) {
    for (size_t n = 1; n > 0 && !bytes.empty() && !is_done() && !error_;) {
      n = put(bytes);
      bytes.erase(0, n);
      n_used_ += n;
    }
    // What the parser leaves is the beginning of a chunk's line, or of what follows the last one.
    const bool is_too_long = is_chunked_ && bytes.size() > std::max(kMostChunkLine, kMostTrailer);
    if (!is_done() && !error_ && is_too_long) error_ = http::error::bad_chunk;
    // Chunks of a byte each have more around them than in them.
    if (!error_ && n_used_ > 2 * n_most_ + kProgressBytes) error_ = http::error::body_limit;
  }

  bool is_done() const { return parser_.is_done(); }
  bool is_too_large() const { return error_ == http::error::body_limit; }
  bool is_wrong() const { return error_.failed(); }
  std::string body() { return std::move(parser_.get().body()); }

 private:
  size_t put(std::string_view bytes) {
    const size_t n = parser_.put(asio::buffer(bytes), error_);
    if (error_ == http::error::need_more) error_ = {};
    return n;
  }

  const bool is_chunked_;
  const size_t n_most_;
  // Outlives the parser, which keeps a reference.
  std::function<void(uint64_t, boost::beast::string_view, error_code&)> on_chunk_ =
      [](uint64_t, boost::beast::string_view extensions, error_code& error) {
        if (extensions.size() > kMostChunkLine) error = http::error::bad_chunk_extension;
      };
  http::request_parser<http::string_body> parser_;
  error_code error_;
  size_t n_used_ = 0;
};

}  // namespace

// Appends what has come to the buffer; 0: nothing more will, or not in time.
asio::awaitable<size_t> Connection::read_some(size_t n_most) {
  auto& bytes = shared_.read_bytes;
  for (;;) {
    error_code error;
    co_await socket_.async_wait(asio::socket_base::wait_read, await_with(error));
    if (error) co_return 0;
    const size_t n = socket_.read_some(asio::buffer(bytes.data(), std::min(n_most, bytes.size())), error);
    if (error == asio::error::would_block) continue;
    buffer_.append(bytes.data(), error ? 0 : n);
    co_return error ? 0 : n;
  }
}

asio::awaitable<Connection::Read> Connection::read_head(HttpRequest& request) {
  const ListenerOptions& options = shared_.options;
  bool has_begun = !buffer_.empty();
  arm(has_begun ? options.head_time : options.idle_time);
  for (;;) {
    while (buffer_.starts_with("\r\n")) buffer_.erase(0, 2);  // what old clients send behind a body
    const auto end = end_of_head(buffer_);
    const std::string_view head = std::string_view(buffer_).substr(0, end.value_or(buffer_.size()));
    const auto refused = end ? check_head(head, options.head) : check_beginning(head, options.head);
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
      arm(options.head_time);
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
  if (!has_body(request)) co_return Read::done;
  const std::string too_large = fmt::format("the body has more than {} bytes; send less", n_most);
  if (length_of(request) > n_most) {
    co_await refuse(std::move(request), 413, too_large);
    co_return Read::refused;
  }
  if (ascii::are_equal(request.field("expect"), "100-continue") && buffer_.empty()) {
    if (!co_await write_all("HTTP/1.1 100 Continue\r\n\r\n")) co_return Read::closed;
  }
  BodyParser parser(request, n_most);
  const auto deadline = Clock::now() + shared_.options.body_time;
  arm(shared_.options.body_progress_time);
  for (size_t n_since = 0;;) {
    parser.take(buffer_);
    if (parser.is_done() || parser.is_wrong()) break;
    const size_t n = co_await read_some();
    if (n == 0 && !is_late_) co_return Read::closed;
    if (is_late_ || Clock::now() > deadline) {
      co_await refuse(std::move(request), 408, "the body of the request did not come in time");
      co_return Read::refused;
    }
    if ((n_since += n) >= kProgressBytes) {
      n_since = 0;
      arm(shared_.options.body_progress_time);
    }
  }
  if (parser.is_wrong()) {
    const int status = parser.is_too_large() ? 413 : 400;
    std::string why = status == 413 ? too_large : "the chunks of the body cannot be read";
    co_await refuse(std::move(request), status, std::move(why));
    co_return Read::refused;
  }
  request.body = parser.body();
  co_return Read::done;
}

// What the client is still sending is taken for a moment, since it would not see the answer otherwise.
asio::awaitable<void> Connection::throw_away() {
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  arm(kThrowAwayTime);
  for (size_t n_read = 0; n_read < kMostThrownAway;) {
    buffer_.clear();
    const size_t n = co_await read_some();
    if (n == 0) break;
    n_read += n;
  }
}

// Reads while an answer is being made: what comes belongs to the next request, and an end says that the
// client has left.
asio::awaitable<void> Connection::watch() {
  const auto self = shared_from_this();
  while (buffer_.size() < kReadAhead && outgoing_ && !has_left_) {
    const bool is_end = co_await read_some(kReadAhead - buffer_.size()) == 0;
    if (is_end && outgoing_) leave();
    if (is_end) break;
  }
  is_watching_ = false;
  news_.cancel();
}

}  // namespace parlance
