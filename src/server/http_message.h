// Requests and answers of HTTP as plain data, and how an answer leaves.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "server/event_log.h"

namespace parlance {

struct HttpField {
  std::string name;  // in lower case
  std::string value;
};

struct HttpRequest {
  std::string method;
  std::string target;  // as it came
  std::string path;    // decoded, without the query; empty: one that nothing can be found under
  std::string query;   // as it came, without the question mark
  int version = 11;    // 10 or 11
  std::vector<HttpField> fields;
  std::string body;
  std::string remote_address;
  bool is_loopback = false;
  bool is_secure = false;  // it came over TLS, to a proxy that is trusted
  std::string id;          // of the request, in its answer and in the log
  std::chrono::steady_clock::time_point began = {};
  std::shared_ptr<RequestNotes> notes = {};  // of those who answer it; null: nobody asks

  // The first field of that name; empty where there is none.
  std::string_view field(std::string_view name) const;
  bool has_field(std::string_view name) const;
  // A parameter of the query, decoded.
  std::optional<std::string> parameter(std::string_view name) const;
};

struct HttpAnswer {
  int status = 200;
  std::vector<HttpField> fields;
  std::string body;
  bool closes = false;  // the connection, behind it
  // How long it is held back: who guesses keys is to guess slowly.
  std::chrono::milliseconds delay{0};
};

std::string_view reason_of(int status);

// %41 -> A; none where the digits are missing.
std::optional<std::string> percent_decoded(std::string_view text);

// The way back to whoever sent a request: either send(), or begin(), write() as often as there is something,
// and end() or break_off(). All may be called from any thread; what is written leaves in order. Without any
// of them the connection ends.
class Reply {
 public:
  virtual ~Reply() = default;

  virtual void send(HttpAnswer answer) = 0;

  // The head of an answer whose length is not known, and the first piece of its body.
  virtual void begin(HttpAnswer head) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
  // Ends the connection so that the other side sees that there should have been more.
  virtual void break_off() = 0;

  // Of the work for it: ends when the client has left.
  virtual Cancellation ticket() const = 0;
  // When that was noticed; none: it is there still.
  virtual std::optional<std::chrono::steady_clock::time_point> left_at() const = 0;
  // Is called once, from the thread that notices it, or at once where the client has left; must not wait for
  // anything.
  virtual void when_left(std::function<void()> on_left) = 0;
  // Bytes of the body that the other side has not taken yet.
  virtual size_t n_unsent() const = 0;
  // Is called once, as soon as there are fewer than kLittleUnsent of them or the client has left; must not
  // wait for anything.
  virtual void when_taken(std::function<void()> on_taken) = 0;

  static constexpr size_t kMuchUnsent = size_t{256} << 10;  // who makes more is to wait
  static constexpr size_t kLittleUnsent = size_t{64} << 10;
};

}  // namespace parlance
