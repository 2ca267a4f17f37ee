// What a session tells its client: events of the protocol in the client's dialect, in order.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "realtime/protocol.h"

namespace parlance {

// The way to the client. What is sent leaves in order; nothing here waits.
class RealtimeSink {
 public:
  virtual ~RealtimeSink() = default;

  virtual void send(std::string text) = 0;
  virtual void send_binary(std::string bytes) = 0;
  // Behind what was sent; nothing may follow.
  virtual void close(uint16_t code, std::string reason) = 0;
  virtual size_t n_unsent() const = 0;  // bytes
  // Calls once when most of it has left.
  virtual void when_taken(std::function<void()> on_taken) = 0;
  // Whether nothing more is read for now.
  virtual void hold(bool is_held) = 0;
};

class EventWriter {
 public:
  using Members = std::initializer_list<std::pair<std::string_view, Json>>;

  // `on_sent` is told the type of each event that was sent, as GA calls it.
  EventWriter(Dialect dialect, RealtimeSink& sink, std::function<void(std::string_view type)> on_sent)
      : dialect_(dialect), sink_(sink), on_sent_(std::move(on_sent)) {}

  Dialect dialect() const { return dialect_; }
  RealtimeSink& sink() { return sink_; }

  // By the name that GA has for it; what the dialect does not know is not sent.
  void send(std::string_view type, Members members);
  void error(const RealtimeError& error, const std::optional<std::string>& event_id);

 private:
  const Dialect dialect_;
  RealtimeSink& sink_;
  const std::function<void(std::string_view type)> on_sent_;
};

}  // namespace parlance
