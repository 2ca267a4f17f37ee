// Events of the Wyoming protocol as bytes: a line of JSON with a type and two lengths, then so many bytes of
// JSON, then so many of sound.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/json.h"

namespace parlance {

struct WyomingEvent {
  std::string type;
  Json data = Json::object();  // always an object
  std::string payload = {};

  // A member of the data that is a text; empty: there is none.
  std::string text(std::string_view member) const;
};

std::string wyoming_bytes(const WyomingEvent& event);

// Events out of bytes that come in any pieces.
class WyomingReader {
 public:
  static constexpr size_t kMostHeadBytes = size_t{64} << 10;  // of the line
  static constexpr size_t kMostDataBytes = size_t{1} << 20;
  static constexpr size_t kMostPayloadBytes = size_t{1} << 20;
  static constexpr int kMostDepth = 16;  // of JSON

  void push(std::string_view bytes) { buffer_.append(bytes); }

  // The next whole event; none: more bytes are needed. Errors: what cannot be an event, after which nothing
  // can be read.
  Result<std::optional<WyomingEvent>> next();

  bool is_within_event() const { return head_ || !buffer_.empty(); }
  // Whether the event that could not be read had a head, so that its sender speaks this protocol.
  bool has_head() const { return head_.has_value(); }

 private:
  struct Head {
    WyomingEvent event;
    size_t n_data = 0, n_payload = 0;
  };
  Result<void> read_head(std::string_view line);
  Result<WyomingEvent> read_rest();

  std::string buffer_;
  size_t n_searched_ = 0;     // bytes of it that end no line
  std::optional<Head> head_;  // of the event that is coming
};

}  // namespace parlance
